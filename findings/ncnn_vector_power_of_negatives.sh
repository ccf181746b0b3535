#!/bin/sh
# Behaviour: on the CPU, ncnn computes an element otherwise if it stands alone than in a vector of 4 or more, by the number of channels or of elements.
# - pow of a negative number and of 0 is 2.4e38 in a vector, for whole exponents too: (-2)^2 is 4 alone and 2.4e38 of four, 0^2 is 0 and 2.4e38. 5^0 is 1 in both.
#   A network that squares by Pow (the variance of a normalisation) has infinities where its values are negative.
# - A division by 0 is infinite alone and NaN of four (the quotient is a product with a reciprocal that is refined), 1 / 1e38 of a row of 8 is 1e-38 in 4 channels
#   and 0 in one.
# fp16 and bf16 are off, one thread. Ordinary operands (2 and 0.5, 3 and 4) agree.
# Seen with: ncnn 1.0.20261020 (wheel, x86-64 with AVX512), on 2026-12-01. Exit status 0: as described; 1: it has changed.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --no-cache-dir 'ncnn==1.0.20261020' 'numpy==2.4.6'
cat >"$dir/vector.py" <<'PY'
import math
import sys
import ncnn
import numpy

folder = sys.argv[1]
POW, DIVIDE = 6, 3                               # ncnn's numbers of a BinaryOp


def run(layer, parameter, *inputs):
    """One layer of float32, of inputs of channels x rows x columns."""
    net = ncnn.Net()
    net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = net.opt.use_fp16_packed = net.opt.use_bf16_storage = net.opt.use_vulkan_compute = False
    net.opt.num_threads = 1
    names = [f"i{i}" for i in range(len(inputs))]
    lines = ["7767517", f"{len(names) + 1} {len(names) + 1}"] + [f"Input {n} 0 1 {n}" for n in names] + [f"{layer} l {len(names)} 1 {' '.join(names)} out {parameter}"]
    with open(folder + "/net.param", "w") as f:
        f.write("\n".join(lines) + "\n")
    open(folder + "/net.bin", "wb").close()
    assert net.load_param(folder + "/net.param") == 0
    net.load_model(folder + "/net.bin")
    extractor = net.create_extractor()
    arrays = [numpy.ascontiguousarray(x, numpy.float32) for x in inputs]
    for name, x in zip(names, arrays):
        extractor.input(name, ncnn.Mat(x).clone())
    return numpy.array(extractor.extract("out")[1]).copy()


def alone_and_of_four(layer, parameter, *values):
    return [float(run(layer, parameter, *(numpy.full((channels, 1, 1), v) for v in values)).ravel()[0]) for channels in (1, 4)]


print("ncnn", ncnn.__version__)
huge = lambda v: 2.4e38 < v < 2.41e38
as_seen = True
for a, b, right in ((-2, 2, 4), (-1, 2, 1), (-8, 1, -8), (0, 2, 0), (2, 0.5, math.sqrt(2)), (3, 4, 81), (5, 0, 1)):
    alone, four = alone_and_of_four("BinaryOp", f"0={POW}", a, b)
    print(f"{a} to the power {b}: {alone:.6g} alone, {four:.6g} of four")
    as_seen = as_seen and math.isclose(alone, right, rel_tol=1e-5) and (huge(four) if a <= 0 else math.isclose(four, right, rel_tol=1e-5))
quotient = alone_and_of_four("BinaryOp", f"0={DIVIDE}", 1, 0)
small = [float(run("BinaryOp", f"0={DIVIDE}", numpy.ones((channels, 1, 8)), numpy.full((channels, 1, 8), 1e38)).ravel()[0]) for channels in (1, 4)]
print("1 / 0:", *quotient, "- 1 / 1e38 of 8 columns, one channel and four:", *small)
as_seen = as_seen and quotient[0] == math.inf and math.isnan(quotient[1]) and small[0] == 0 and 0.9e-38 < small[1] < 1.1e-38
raise SystemExit(0 if as_seen else 1)
PY
"$dir/venv/bin/python" "$dir/vector.py" "$dir"
