#!/bin/sh
# Behaviour: on Warp's CPU device array_sum, array_inner and array_scan of float32 are one running sum in float32. The sum of 20,000,000 ones is 16777216, because
# 16777216 + 1 is 16777216 again; the inclusive scan has the same value at its last 3,222,785 places. The mean of as many 0.1 is 0.1049. NumPy, which
# sums in pairs, has 20000000 and 0.1, and so has Warp's own sum in float64. So a reference on the CPU that a kernel is compared with may be the wrong one of the two, and from
# 16,777,217 elements on a count of a mask's ones is wrong without a message.
# Seen with: warp-lang 1.19.0 (CPU device), on 2026-12-01. Exit status 0: as described; 1: it has changed.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --no-cache-dir 'warp-lang==1.19.0' 'numpy==2.4.6'
cat >"$dir/sums.py" <<'PY'
import sys
import numpy
import warp

warp.config.quiet = True
warp.config.kernel_cache_dir = sys.argv[1]
warp.init()
count = 20_000_000


def array(value):
    return warp.full(count, value, dtype=warp.float32, device="cpu")


ones, tenths, scanned = array(1.0), array(0.1), array(0.0)
warp.utils.array_scan(ones, scanned, inclusive=True)
last = scanned.numpy()
seen = {
    "array_sum": float(warp.utils.array_sum(ones)),
    "array_inner": float(warp.utils.array_inner(ones, ones)),
    "array_scan, last": float(last[-1]),
    "places of the scan with its last value": int((last == last[-1]).sum()),
    "mean of 0.1": round(float(warp.utils.array_sum(tenths)) / count, 4),
    "NumPy's sum": float(ones.numpy().sum()),
    "array_sum of float64": float(warp.utils.array_sum(warp.full(count, 1.0, dtype=warp.float64, device="cpu"))),
}
for name, value in seen.items():
    print(f"{name}: {value:.10g}")
wanted = [2.0**24, 2.0**24, 2.0**24, count - 2**24 + 1, 0.1049, count, count]
raise SystemExit(list(seen.values()) != wanted)
PY
"$dir/venv/bin/python" "$dir/sums.py" "$dir/cache"
