#!/bin/sh
# Behaviour: Triton converts a float to int8 by `cvt.rzi.s16.f32` and keeps the 16 bits: `x.to(tl.int8)` of 200.0 stores the byte 0xc8 (-56), but compared, converted to
# int32 or back to float32 in the same kernel it is 200, and 40000.0 is 32767 there and -1 in memory. So a kernel that quantises and dequantises in one pass (to
# measure the error of int8) sees no limit at 127. uint8 is the same: 300.0 is 300, and 44 in memory. The values are out of the type's
# range, which Triton's documentation of casts does not mention. PTX has `cvt.rzi.s8.f32`, which would saturate; the interpreter wraps to -56.
# On an H200 (Triton 3.6.0, 2026-12-01) all of these values came out so.
# The script compiles the kernel and follows the registers. It needs no GPU.
# Seen with: Triton 3.6.0 and 3.9.0, sm_80, sm_90 and sm_120, on 2026-12-01. Exit status 0: as described; 1: it has changed.
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
def narrow(x, stored, whole, real, BLOCK: tl.constexpr, TYPE: tl.constexpr):
    i = tl.arange(0, BLOCK)
    q = tl.load(x + i).to(TYPE)
    tl.store(stored + i, q)
    tl.store(whole + i, q.to(tl.int32))
    tl.store(real + i, q.to(tl.float32))


def uses(text, sign):
    """The register that the conversion writes is stored as a byte, and widened from 16 bits, with nothing that cuts it off between."""
    made = re.findall(r"cvt\.rzi\.%s16\.f32\s+(%%rs\d+)," % sign, text)
    if len(made) != 1 or re.findall(r"^\s+\S+\s+%s," % made[0], text, re.M) != re.findall(r"^\s+cvt\.rzi\S+\s+%s," % made[0], text, re.M):
        return "otherwise"
    byte = re.search(r"st\.global\.b8\s+\[[^]]*\],\s+\{?\s*%s\b" % made[0], text)
    whole = re.search(r"cvt\.[su]32\.%s16\s+%%r\d+, %s;" % (sign, made[0]), text)
    real = re.search(r"cvt\.rn\.f32\.%s16\s+%%r\d+, %s;" % (sign, made[0]), text)
    return "16 bits" if byte and whole and real else "otherwise"


for kind, name, sign in ((tl.int8, "i8", "s"), (tl.uint8, "u8", "u")):
    for arch in (80, 90, 120):
        signature = {"x": "*fp32", "stored": "*" + name, "whole": "*i32", "real": "*fp32", "BLOCK": "constexpr", "TYPE": "constexpr"}
        source = ASTSource(fn=narrow, signature=signature, constexprs={"BLOCK": 128, "TYPE": kind})
        text = triton.compile(source, target=GPUTarget("cuda", arch, 32), options={"num_warps": 4}).asm["ptx"]
        print(f"Triton {triton.__version__} sm_{arch} {kind}: {uses(text, sign)}")
P
for version in 3.6.0 3.9.0; do
    python3 -m venv "$folder/$version"
    "$folder/$version/bin/pip" install -q triton==$version
    TRITON_CACHE_DIR="$folder/cache" "$folder/$version/bin/python" "$folder/k.py" 2>/dev/null | tee -a "$folder/said"
done
[ "$(grep -c '16 bits$' "$folder/said")" = 12 ]
