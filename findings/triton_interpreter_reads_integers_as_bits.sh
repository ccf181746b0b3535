#!/bin/sh
# Behaviour: Triton's interpreter (TRITON_INTERPRET=1) takes a whole number for the bits of a bfloat16: `n.to(tl.bfloat16)` of 1, 100, 16256 and -2 is 0, 7e-39,
# 1.0 and NaN, and no error or warning is given; the compiled conversion rounds the number. To float16 the interpreter converts. Of float32 values above 65504
# `x.to(tl.float16, fp_downcast_rounding="rtz")` makes infinity (65536) or NaN (1e9), where the compiled `cvt.rz.f16.f32` gives 65504.
# A kernel that builds positions or masks from tl.arange in bfloat16 is all zeros in the interpreter.
# Seen with: Triton 3.9.0, numpy 2.4.6, on 2026-12-01. Exit status 0: as described; 1: it has changed.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q triton==3.9.0 numpy==2.4.6
cat >"$folder/cast.py" <<'P'
import os
import re
import numpy as np
import triton
import triton.language as tl


def whole(x, y, BLOCK: tl.constexpr, TYPE: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i).to(TYPE).to(tl.float32))


def towards_zero(x, y, BLOCK: tl.constexpr, TYPE: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i).to(TYPE, fp_downcast_rounding="rtz").to(tl.float32))


class Host:
    """As much of a tensor as the interpreter asks for."""

    def __init__(self, values, kind):
        self.values, self.dtype = np.array(values, kind), kind

    def data_ptr(self):
        return self.values.ctypes.data

    def cpu(self):
        return self

    untyped_storage = cpu

    def new_empty(self, *_, **__):
        return Host([0], self.dtype)

    def set_(self, other, *_):
        self.values = other.values

    def storage_offset(self):
        return 0

    def size(self):
        return self.values.shape

    def stride(self):
        return (1,)

    def copy_(self, other):
        pass


for name, function, values, kind, to in (("whole", whole, [1, 100, 16256, -2], "int32", tl.bfloat16), ("whole", whole, [1, 100, 16256, -2], "int32", tl.float16),
                                         ("rtz", towards_zero, [1.5, 65504, 65536, 1e9], "float32", tl.float16)):
    if os.environ.get("TRITON_INTERPRET") == "1":
        target = Host([0] * 4, "float32")
        triton.jit(function)[(1,)](Host(values, kind), target, 4, to)
        print("interpreted", name, to, *target.values.tolist())
    else:
        from triton.backends.compiler import GPUTarget
        from triton.compiler import ASTSource
        signature = {"x": "*i32" if kind == "int32" else "*fp32", "y": "*fp32", "BLOCK": "constexpr", "TYPE": "constexpr"}
        source = ASTSource(fn=triton.jit(function), signature=signature, constexprs={"BLOCK": 1024, "TYPE": to})
        ptx = triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ptx"]
        print("compiled", name, to, *sorted(set(re.findall(r"cvt\.r[nz]\.b?f16\S*", ptx))))
P
cd "$folder"
TRITON_CACHE_DIR="$folder/cache" TRITON_INTERPRET=1 venv/bin/python cast.py 2>/dev/null >said
TRITON_CACHE_DIR="$folder/cache" venv/bin/python cast.py 2>/dev/null >>said
cat said
grep -qx 'interpreted whole bf16 0.0 6.61[0-9]*e-39 1.0 nan' said
grep -qx 'interpreted whole fp16 1.0 100.0 16256.0 -2.0' said
grep -qx 'interpreted rtz fp16 1.5 65504.0 inf nan' said
grep -q '^compiled whole bf16 cvt.rn.bf16' said
grep -qx 'compiled rtz fp16 cvt.rz.f16.*' said
