#!/bin/sh
# Behaviour: dpnp (NumPy's interface on SYCL) adds, counts and divides in float16 when it takes the mean of a float16 array. The mean of 300 values of 1000 is
# infinity, and that of 70,000 ones is NaN, because their sum and their number are both infinite. The
# standard deviations are infinite and NaN as well. NumPy's mean of the same arrays, which adds in float32, is 1000 and 1. No message is printed. So
# an activation's mean on a SYCL device is NaN where the reference of the same line in NumPy is right.
# Seen with: dpnp 0.20.0, dpctl 0.22.1, Intel's OpenCL for CPUs 2026.2.0, on 2026-12-01. Exit status 0: as described; 1: it has changed.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --no-cache-dir 'dpnp==0.20.0' 'dpctl==0.22.1' 'intel-opencl-rt==2026.2.0' 'numpy==2.4.6'
cat >"$dir/half.py" <<'PY'
import warnings
import dpnp
import numpy

warnings.simplefilter("ignore")
seen = []
for count, value in ((2000, 1), (300, 1000), (70000, 1)):
    ours, theirs = dpnp.full(count, value, dtype="f2"), numpy.full(count, value, "f2")
    seen.append((float(dpnp.mean(ours)), float(numpy.mean(theirs)), float(dpnp.std(ours))))
    print(f"{count} values of {value}: mean {seen[-1][0]}, NumPy's {seen[-1][1]}, standard deviation {seen[-1][2]}")
wanted = [(1, 1, 0), (numpy.inf, 1000, numpy.inf), (numpy.nan, 1, numpy.nan)]
raise SystemExit(not numpy.array_equal(seen, wanted, equal_nan=True))
PY
OCL_ICD_FILENAMES="$(find "$dir/venv" -name libintelocl.so | head -n 1)" "$dir/venv/bin/python" "$dir/half.py"
