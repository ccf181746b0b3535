#!/bin/sh
# Behaviour: Triton 3.9.0 with its default FP fusion: in sum(x * x) with one element a thread, the product and the first step of the butterfly become one fma. A lane then adds its own
# product unrounded to its partner's rounded one, and the partner the other way round, so that the lanes of a warp no longer hold one sum: all of them store their own value to one
# address of shared memory, and which one stays is not defined. Without fusion (the default from 3.10 on, as Triton warns) every lane stores the same value.
# Seen with: Triton 3.9.0, sm_90, on 2026-11-28. Exit status 0: as described; 1: it has changed.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q triton==3.9.0 numpy==2.4.6
cat >"$folder/k.py" <<'P'
import re
import numpy as np
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def norm(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(y, tl.sum(v * v))


def ptx(fusion):
    source = ASTSource(fn=norm, signature={"x": "*fp32", "y": "*fp32", "n": "i32", "BLOCK": "constexpr"}, constexprs={"BLOCK": 128})
    return triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 4, "enable_fp_fusion": fusion}).asm["ptx"]


def fused(text):
    """fma of the value with itself and what the partner sent, then a store to shared memory by all lanes."""
    return re.search(r"shfl\.sync\.bfly\.b32\s+(%r\d+), (%r\d+), 16.*?fma\.rn\.f32\s+%r\d+, (%r\d+), \3, \1;", text, re.S) is not None


def stores_all(text):
    return re.search(r"^\s*st\.shared\.b32", text, re.M) is not None


def warp_sums(seed):
    x = np.random.default_rng(seed).standard_normal(32).astype(np.float32)
    partner = x[np.arange(32) ^ 16]
    sums = (x.astype(np.float64) * x + (partner * partner).astype(np.float64)).astype(np.float32)  # fma(x, x, round(partner * partner))
    for step in (8, 4, 2, 1):
        sums = sums + sums[np.arange(32) ^ step]
    return len(set(sums.tolist()))


split = sum(warp_sums(seed) > 1 for seed in range(1000)) / 1000
with_fusion, without = ptx(True), ptx(False)
print("Triton", triton.__version__, "- fma with the partner's product:", fused(with_fusion), "- without fusion:", fused(without))
print("all lanes store to shared memory:", stores_all(with_fusion), f"- warps of 32 random numbers whose lanes differ: {split:.0%}")
raise SystemExit(0 if fused(with_fusion) and not fused(without) and stores_all(with_fusion) and split > 0.1 else 1)
P
"$folder/venv/bin/python" "$folder/k.py"
