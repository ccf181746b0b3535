#!/bin/sh
# Behaviour: in CuTe DSL, `//` of two Int32 rounds down as Python does, but `%` has the sign of the dividend as C does, so that
# (a // b) * b + a % b is not a: -7 // 4 is -2 and -7 % 4 is -3. Where both operands are constants the DSL computes Python's 1 for the same
# expression: an index that is wrapped by `%` changes when its value becomes known at run time only.
# Seen with: nvidia-cutlass-dsl 4.8.1, sm_90a, on 2026-11-30. Exit status 0: as described; 1: it has changed.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q nvidia-cutlass-dsl==4.8.1
mkdir "$folder/dump"
cat >"$folder/k.py" <<'P'
import glob
import os
import re
import sys

dump = sys.argv[1]
os.environ.update(CUTE_DSL_DUMP_DIR=dump, CUTE_DSL_KEEP="ptx", CUTE_DSL_ARCH="sm_90a")
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_compact_tensor


@cute.kernel
def loaded_kernel(x: cute.Tensor, y: cute.Tensor):
    y[0] = x[0] // x[1]
    y[1] = x[0] % x[1]


@cute.jit
def loaded(x: cute.Tensor, y: cute.Tensor):
    loaded_kernel(x, y).launch(grid=(1, 1, 1), block=(1, 1, 1))


@cute.kernel
def constant_kernel(x: cute.Tensor, y: cute.Tensor):
    a, b = cutlass.Int32(-7), cutlass.Int32(4)
    y[0] = a // b
    y[1] = a % b


@cute.jit
def constant(x: cute.Tensor, y: cute.Tensor):
    constant_kernel(x, y).launch(grid=(1, 1, 1), block=(1, 1, 1))


def ptx(function):
    cute.compile(function, *(make_fake_compact_tensor(cutlass.Int32, (2,)) for _ in range(2)))
    with open(glob.glob(dump + "/cutlass_" + function.__name__ + "_*.ptx")[0]) as file:
        return file.read()


constants = re.findall(r"st\.global\.b32\s+\[\S+\], (-?\d+);", ptx(constant))
code = ptx(loaded)
stored = re.findall(r"st\.global\.b32\s+\[\S+\], (%r\d+);", code)
makers = [re.findall(r"^\s+(\S+)\s+%s, " % value, code, re.M)[-1] for value in stored]
corrections = len(re.findall(r"\bselp\.", code))
print("CuTe DSL", cutlass.__version__, "-7 // 4 and -7 % 4 of constants:", *constants)
print("of loaded numbers, // ends with", makers[0], "and % with", makers[1] + ";", corrections, "correction of the sign")
raise SystemExit(0 if constants == ["-2", "1"] and makers[1] == "rem.s32" and makers[0] != "div.s32" and corrections == 1 else 1)
P
"$folder/venv/bin/python" "$folder/k.py" "$folder/dump"
