#!/bin/sh
# Behaviour: a Python float for a kernel's parameter `a: tl.bfloat16` is cut off, not rounded: Triton's launcher passes the upper half of the float32.
# 0.999 arrives as 0.99609375 (nearest: 1), 255.9 as 255 (256), 1/3 as 0.33203125 (0.333984375): up to a whole step of bfloat16, and always
# towards 0. For `a: tl.float16` the launcher rounds to nearest, and `.to(tl.bfloat16)` in the kernel rounds to nearest, so that a scale or
# an epsilon has another value if it is converted before the launch than behind it. Whole numbers wrap without a word: 2^32 + 5 for `n: tl.int32`
# arrives as 5, 300 for an int8 as 44 (without an annotation Triton takes 64 bits by itself).
# The script compiles the launcher's C file, as Triton does at the first launch, and calls its conversion. It needs a C compiler.
# Seen with: Triton 3.9.0, on 2026-11-30. Exit status 0: as described; 1: it has changed.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q triton==3.9.0
cat >"$folder/scalars.py" <<'P'
import ctypes
import os
import struct
import subprocess
import sys
import sysconfig

import triton.backends.nvidia

source = os.path.dirname(triton.backends.nvidia.__file__)
library = os.path.join(sys.argv[1], "driver.so")
subprocess.run(["cc", "-w", "-shared", "-fPIC", "-O1", "-o", library, f"{source}/driver.c", "-I", f"{source}/include", "-I",
                sysconfig.get_path("include")], check=True)
driver = ctypes.PyDLL(library, mode=os.RTLD_LAZY)  # libcuda is not called by these functions


def passed(function, value):
    """The 16 bits that the launcher puts among the kernel's arguments."""
    function.argtypes, function.restype = [ctypes.c_void_p, ctypes.py_object], ctypes.c_bool
    bits = ctypes.c_uint16(0)
    assert function(ctypes.byref(bits), value)
    return bytes(bits)


as_said = True
for value, cut, nearest in ((0.999, 0.99609375, 1.0), (255.9, 255.0, 256.0), (1 / 3, 0.33203125, 0.333984375), (-0.999, -0.99609375, -1.0), (0.5, 0.5, 0.5)):
    got = struct.unpack("<f", bytes(2) + passed(driver.extractBF16, value))[0]
    half = struct.unpack("<e", passed(driver.extractFP16, value))[0]
    print(f"{value:.6g}: bfloat16 {got} (nearest {nearest}), float16 {half}")
    as_said = as_said and got == cut and half == struct.unpack("<e", struct.pack("<e", value))[0]
for function, value, wrapped in ((driver.extractI32, 2**32 + 5, 5), (driver.extractI8, 300, 44), (driver.extractU32, 2**33 + 7, 7)):
    function.argtypes, function.restype = [ctypes.c_void_p, ctypes.py_object], ctypes.c_bool
    word = ctypes.c_uint64(0)
    as_said = function(ctypes.byref(word), value) and word.value == wrapped and as_said
    print(f"{value} by {function.__name__}: {word.value}")
sys.exit(0 if as_said else 1)
P
"$folder/venv/bin/python" "$folder/scalars.py" "$folder"
