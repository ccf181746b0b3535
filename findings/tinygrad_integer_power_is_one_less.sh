#!/bin/sh
# Behaviour: tinygrad raises a tensor of integers to a tensor of integers by exp2 and log2 of float32 and cuts the result off: 5 to the power 1 is 4, 10 to the power 2
# is 99, 3 to the power 5 is 242, and a third of the powers 1 to 5 of the numbers 1 to 21 is wrong. With a Python number as the exponent they are right.
# Formulas of floats leave the range where their result does not: atan of 1e20 is 0 and of infinity NaN, asinh of -3000 is -8.32 (-8.70) and of -70000 -infinity,
# softplus of infinity is NaN. `>=` and `<=` are the negations of `<` and `>`, so that 1 >= NaN is true.
# tinygrad rewrites these formulas before a device's code is made, so its kernels for GPUs are made of the same ones.
# It needs clang, which tinygrad calls on the CPU.
# Seen with: tinygrad 0.14.0 (CPU, clang 14.0.6), on 2026-12-01. Exit status 0: as described; 1: it has changed; 2: no clang.
set -eu
command -v clang >/dev/null || { echo "no clang here"; exit 2; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --no-cache-dir 'tinygrad==0.14.0' 'numpy==2.4.6'
cat >"$dir/power.py" <<'PY'
import math
import numpy
from tinygrad import Tensor

# one element or an odd number of them: whole vectors of integer powers do not compile (a float4 for an int4)
one = {pair: int((Tensor([pair[0]]) ** Tensor([pair[1]])).numpy()[0]) for pair in ((5, 1), (5, 2), (10, 2), (3, 5))}
print("integer powers:", *(f"{a} ** {b} is {v}" for (a, b), v in one.items()))
bases, exponents = (v.ravel().astype(numpy.int32) for v in numpy.meshgrid(numpy.arange(1, 22), numpy.arange(1, 6)))
powers = (Tensor(bases) ** Tensor(exponents)).numpy()
wrong = int((powers != bases ** exponents).sum())
numbers = (Tensor([5, 3, 10]) ** 2).numpy().tolist()
print(wrong, "of", powers.size, "powers are wrong - 5, 3, 10 to the number 2:", *numbers)
value = lambda name, x: float(getattr(Tensor(numpy.array([x], numpy.float32)), name)().numpy()[0])
floats = [("atan", 1e20, 0), ("atan", math.inf, math.nan), ("asinh", -70000, -math.inf), ("softplus", math.inf, math.nan)]
seen = [value(name, x) for name, x, _ in floats]
asinh = value("asinh", -3000)
print(*(f"{name} of {x:g} is {v:g}," for (name, x, _), v in zip(floats, seen)), f"asinh of -3000 is {asinh:g} ({math.asinh(-3000):g})")
a, b = Tensor([1.0, math.nan, math.nan]), Tensor([math.nan, 1.0, math.nan])
compared = {">=": (a >= b).numpy().tolist(), "<=": (a <= b).numpy().tolist(), ">": (a > b).numpy().tolist(), "<": (a < b).numpy().tolist()}
print("1 and NaN, NaN and 1, NaN and NaN:", compared)
as_seen = list(one.values()) == [4, 24, 99, 242] and 20 < wrong < 50 and numbers == [25, 9, 100] and \
    all(v == s or (v != v and s != s) for (_, _, v), s in zip(floats, seen)) and abs(asinh + 8.318) < 0.01 and \
    compared == {">=": [True] * 3, "<=": [True] * 3, ">": [False] * 3, "<": [False] * 3}
raise SystemExit(0 if as_seen else 1)
PY
XDG_CACHE_HOME="$dir/cache" DEV=CPU "$dir/venv/bin/python" -W ignore "$dir/power.py"
