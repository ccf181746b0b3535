#!/bin/sh
# Behaviour: on the CPU, PyTorch computes an element otherwise if it stands alone than beside others (this needs 6 GB of disk for its packages).
# - torch.div of bfloat16 with rounding_mode="trunc": 1 / 0.1001 is 9 with one divisor and 10 with two equal ones. The vector code rounds the quotient to bfloat16
#   and cuts it off afterwards: with random dividends up to 100 and divisors from 0.5 to 1, 19 % of the results are 1 too large.
# - gelu of infinity is infinity in a tensor of one element and NaN in a tensor of two.
# - torch.remainder and fmod of float32 are NaN in whole vectors of 16 where the quotient exceeds what the vector code can hold (1e38 and 0.1), and right
#   in the elements behind the last whole vector: 31 equal pairs give 16 NaN and 15 numbers.
# torch 2.11 for CUDA on an H200 has one value of each for 1, 2 and 64 elements (10, infinity, 0.0265), and its CPU code differs in the same places.
# A reference that is computed by one call and by a loop over rows or elements has two values.
# Seen with: torch 2.15.0 (CPU code for AVX2 and AVX512), on 2026-12-01. Exit status 0: as described; 1: it has changed.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --no-cache-dir 'torch==2.15.0' 'numpy==2.4.6'
cat >"$dir/paths.py" <<'PY'
import math
import torch


def trunc(x, y):
    return torch.div(x, y, rounding_mode="trunc")


def same(function, count, dtype, *values):
    """The results of so many equal elements."""
    return function(*(torch.full((count,), value, dtype=dtype) for value in values)).double().tolist()


print("torch", torch.__version__, torch.backends.cpu.get_cpu_capability())
one, two = same(trunc, 1, torch.bfloat16, 1, 0.1)[0], same(trunc, 2, torch.bfloat16, 1, 0.1)[0]
torch.manual_seed(0)
x, y = (100 * torch.rand(100000)).bfloat16(), (0.5 + torch.rand(100000) / 2).bfloat16()
wrong = (trunc(x, y).double() == (x.double() / y.double()).trunc() + 1).double().mean().item()
print(f"trunc of bfloat16 1 / 0.1001: {one} alone, {two} of two; of 100000 random pairs {wrong:.1%} are 1 too large")
alone, pair = same(torch.nn.functional.gelu, 1, torch.float32, math.inf), same(torch.nn.functional.gelu, 2, torch.float32, math.inf)
print("gelu of infinity:", *alone, "alone,", *pair, "of two")
as_seen = (one, two) == (9, 10) and wrong > 0.05 and alone == [math.inf] and all(map(math.isnan, pair))
for function in (torch.remainder, torch.fmod):
    many = same(function, 31, torch.float32, 1e38, 0.1)
    right = math.fmod(torch.tensor(1e38).item(), torch.tensor(0.1).item())
    print(function.__name__, "of 31 equal pairs:", sum(map(math.isnan, many)), "NaN, then", many[-1], "- right:", right)
    as_seen = as_seen and [math.isnan(v) for v in many] == [True] * 16 + [False] * 15 and many[-1] == right
raise SystemExit(0 if as_seen else 1)
PY
"$dir/venv/bin/python" "$dir/paths.py"
