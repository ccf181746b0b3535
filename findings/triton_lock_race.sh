#!/bin/sh
# Behaviour: Triton 3.6.0 puts no barrier between a load that all warps of a program make and an atomic exchange by its first thread on the same address. In the lock of Triton's tutorial
# 05 (`if tl.load(flag) == 0: tl.atomic_xchg(flag, 1) else: add what is there`) the first warp may set the flag before another warp has read it: that warp takes the other branch, and adds
# what nobody has written. Triton 3.9.0 puts a bar.sync before the exchange. Results on an H200 are right in practice; bench's emu reports the race of 3.6.0's PTX.
# Seen with: Triton 3.6.0 and 3.9.0, sm_90, on 2026-11-29. Exit status 0: as described; 1: it has changed.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/k.py" <<'P'
import re
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def count(flag, y, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = i + 1
    if tl.load(flag) == 0:
        tl.atomic_xchg(flag, 1)
    else:
        v += tl.load(y + i)
    tl.store(y + i, v)


source = ASTSource(fn=count, signature={"flag": "*i32", "y": "*i32", "BLOCK": "constexpr"}, constexprs={"BLOCK": 128})
ptx = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 4}).asm["ptx"]
body = ptx[ptx.index("ld.global"):ptx.index(".exch")]
print(triton.__version__, "bar.sync before the exchange:", "bar.sync" in body)
P
for version in 3.6.0 3.9.0; do
    python3 -m venv "$folder/$version"
    "$folder/$version/bin/pip" install -q triton==$version
    "$folder/$version/bin/python" "$folder/k.py" | tee -a "$folder/said"
done
grep -q '^3.6.0 .* False$' "$folder/said" && grep -q '^3.9.0 .* True$' "$folder/said"
