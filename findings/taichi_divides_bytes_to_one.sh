#!/bin/sh
# Behaviour: in Taichi the whole quotient of two 8-bit integers is 1 and the remainder 0, whatever they are: u8 120 // 3 is 1 (40) and 100 % 7 is 0 (2), i8 too,
# of ndarrays and of fields. Products, differences, `/` and the quotients of 16, 32 and 64 bits are right, and `//` is right if one operand is cast to i32 first.
# NaN != NaN is false, and == of it is false as well: both compare "ordered".
# Images and quantised weights are 8-bit integers.
# Seen with: taichi 1.7.4 (arch=cpu, with and without fast_math), on 2026-12-01. Exit status 0: as described; 1: it has changed.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --no-cache-dir 'taichi==1.7.4' 'numpy==2.4.6'
cat >"$dir/divide.py" <<'PY'
import numpy
import taichi as ti

array = ti.types.ndarray()


@ti.kernel
def quotient(a: array, b: array, out: array):
    for i in range(4):
        out[i] = a[i] // b[i]


@ti.kernel
def remainder(a: array, b: array, out: array):
    for i in range(4):
        out[i] = a[i] % b[i]


@ti.kernel
def widened(a: array, b: array, out: array):
    for i in range(4):
        out[i] = ti.cast(a[i], ti.i32) // b[i]


@ti.kernel
def difference(a: array, b: array, out: array):
    for i in range(4):
        out[i] = a[i] - b[i]


@ti.kernel
def unequal(a: array, b: array, out: array):
    for i in range(4):
        out[i] = 2 * ti.cast(a[i] != b[i], ti.i32) + ti.cast(a[i] == b[i], ti.i32)


x, y = numpy.array([120, 100, 9, 2]), numpy.array([3, 7, 9, 1])
nan = numpy.array([numpy.nan, 1, 1, numpy.nan], numpy.float32), numpy.array([numpy.nan, 2, 1, 1], numpy.float32)
as_seen = True
for fast in (True, False):
    ti.init(arch=ti.cpu, log_level=ti.ERROR, fast_math=fast, offline_cache=False)
    for kind in ("uint8", "int8", "uint16", "int16", "int32", "int64"):
        got = {}
        for kernel in (quotient, remainder, widened, difference):
            out = numpy.zeros(4, numpy.int32)
            kernel(x.astype(kind), y.astype(kind), out)
            got[kernel.__name__] = out.tolist()
        right = {"quotient": (x // y).tolist(), "remainder": (x % y).tolist(), "widened": (x // y).tolist(), "difference": (x - y).tolist()}
        print(f"fast_math={fast}", kind, *x, "and", *y, got)
        seen = {**right, "quotient": [1] * 4, "remainder": [0] * 4} if kind.endswith("t8") else right
        as_seen = as_seen and got == seen
    out = numpy.zeros(4, numpy.int32)
    unequal(*nan, out)
    print("NaN and NaN, 1 and 2, 1 and 1, NaN and 1: 2 where != is true, 1 where ==:", *out)
    as_seen = as_seen and out.tolist() == [0, 2, 1, 0]
raise SystemExit(0 if as_seen else 1)
PY
"$dir/venv/bin/python" "$dir/divide.py"
