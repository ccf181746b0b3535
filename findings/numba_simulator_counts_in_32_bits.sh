#!/bin/sh
# Behaviour: numba-cuda's simulator (NUMBA_ENABLE_CUDASIM=1, the way to test a kernel without a GPU) has other results than the PTX that the same kernel becomes.
# - Bit operations: popc(-1) is 1 (32 in PTX, 64 of an int64), clz of an int64 1 is 31 (63), brev of a uint64 1 is 2^31 (2^63), ffs of 2^40 is 8 (41).
# - fma of float32 rounds the product before it adds, cbrt(-8) is NaN (-2).
# - Numbers have NumPy's types and not Numba's: uint8 200 + 100 is 44 (300, a sum of 64 bits), uint32 1 - 2 is 4294967295 (-1), int32 100000 * 100000 wraps,
#   and float32 0.7 * 0.1 is a product of float32 (of float64).
# The compiled side is the PTX for sm_90, whose instructions need no GPU to be read: the script names the instruction and its width.
# Seen with: numba-cuda 0.30.4, numba 0.68.1, numpy 2.4.6, on 2026-12-01. Exit status 0: as described; 1: it has changed.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --no-cache-dir 'numba-cuda==0.30.4' 'numba==0.68.1' 'numpy==2.4.6' 'nvidia-cuda-nvcc==13.5.37' 'nvidia-nvvm==13.5.37' 'nvidia-cuda-runtime==13.2.86'
cat >"$dir/both.py" <<'PY'
import os
import re
import numpy
from numba import cuda, typeof


def bits(a, b, out): out[0] = cuda.popc(a[0])
def leading(a, b, out): out[0] = cuda.clz(a[0])
def first(a, b, out): out[0] = cuda.ffs(a[0])
def reverse(a, b, out): out[0] = cuda.brev(a[0])
def fused(a, b, out): out[0] = cuda.fma(a[0], b[0], a[0])
def root(a, b, out): out[0] = cuda.cbrt(a[0])
def add(a, b, out): out[0] = a[0] + b[0]
def subtract(a, b, out): out[0] = a[0] - b[0]
def multiply(a, b, out): out[0] = a[0] * b[0]
def tenth(a, b, out): out[0] = a[0] * 0.1


# kernel, type, operands, type of the result, PTX's instruction, its result, the simulator's
small = 2.0 ** -12
cases = [(bits, "i4", -1, 0, "i8", r"popc\.b32", 32, 1), (bits, "i8", -1, 0, "i8", r"popc\.b64", 64, 1),
         (leading, "i8", 1, 0, "i8", r"clz\.b64", 63, 31), (reverse, "u8", 1, 0, "u8", r"brev\.b64", 2 ** 63, 2 ** 31), (first, "i8", 2 ** 40, 0, "i8", r"clz\.b64", 41, 8),
         (fused, "f4", 1 + small, -1 - small, "f8", r"fma\.rn\.f32", -small - small ** 2, -small), (root, "f4", -8, 0, "f8", r"fma\.rn\.f32", -2, "nan"),
         (add, "u1", 200, 100, "i8", r"add\.s64", 300, 44), (subtract, "u4", 1, 2, "i8", r"sub\.s64", -1, 2 ** 32 - 1),
         (multiply, "i4", 100000, 100000, "i8", r"mul\.(lo\.s64|wide\.s32)", 10 ** 10, 10 ** 10 % 2 ** 32),
         (tenth, "f4", 0.7, 0, "f8", r"mul(\.rn)?\.f64", float(numpy.float32(0.7)) * 0.1, float(numpy.float32(0.7) * numpy.float32(0.1)))]
as_seen = True
for kernel, kind, a, b, out_kind, instruction, right, seen in cases:
    x, y, out = numpy.array([a], kind), numpy.array([b], kind), numpy.zeros(1, out_kind)
    with numpy.errstate(all="ignore"):
        if os.environ.get("NUMBA_ENABLE_CUDASIM") == "1":
            cuda.jit(kernel)[1, 1](x, y, out)
            value = out[0].item()
            as_seen = as_seen and (str(value) == seen if isinstance(seen, str) else value == seen)
            print(f"{kernel.__name__} of {kind} {a}, {b}: the simulator has {value!r}, the instruction {right!r}")
        else:
            ptx, _ = cuda.compile_ptx(kernel, tuple(map(typeof, (x, y, out))), cc=(9, 0))
            found = re.search(rf"^\s*({instruction})\s", ptx, re.M)
            as_seen = as_seen and found is not None
            print(f"{kernel.__name__} of {kind}: PTX has {found and found.group(1)}")
raise SystemExit(0 if as_seen else 1)
PY
NUMBA_ENABLE_CUDASIM=0 "$dir/venv/bin/python" -W ignore "$dir/both.py"
NUMBA_ENABLE_CUDASIM=1 "$dir/venv/bin/python" -W ignore "$dir/both.py"
