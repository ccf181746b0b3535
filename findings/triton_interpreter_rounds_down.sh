#!/bin/sh
# Behaviour: Triton's interpreter (TRITON_INTERPRET=1) converts float32 to narrower formats otherwise than compiled code does. To bfloat16
# it cuts bits off: 1 + 3/256 becomes 1.0078125, where the compiled `cvt.rn.bf16.f32` rounds to 1.015625. To e4m3 it rounds ties up, 1.0625
# to 1.125, and does not saturate: 1000 becomes 256, where the compiled `cvt.rn.satfinite.e4m3x2.f32` gives 1.0 and 448. A kernel that
# computes in float32, as the documentation advises for bfloat16, and stores bfloat16 has other results in the interpreter.
# Seen with: Triton 3.9.0, numpy 2.4.6 (no torch), on 2026-11-30. Exit status 0: as described; 1: it has changed.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q triton==3.9.0 numpy==2.4.6
cat >"$folder/narrow.py" <<'P'
import os
import re
import numpy as np
import triton
import triton.language as tl


def narrow(x, y, BLOCK: tl.constexpr, TYPE: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i).to(TYPE).to(tl.float32))


class Host:  # as much of a tensor as the interpreter asks for
    def __init__(self, values):
        self.values = np.array(values, np.float32)
        self.dtype = "float32"

    def data_ptr(self):
        return self.values.ctypes.data

    def untyped_storage(self):
        return self

    def cpu(self):
        return self

    def new_empty(self, *_, **__):
        return Host([0])

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


values = [1 + 3 / 256, 1.0625, 448, 1000]
for name, kind in (("bfloat16", tl.bfloat16), ("e4m3", tl.float8e4nv)):
    if os.environ.get("TRITON_INTERPRET") == "1":
        source, target = Host(values), Host([0] * 4)
        triton.jit(narrow)[(1,)](source, target, 4, kind)
        print("interpreted", name, *target.values.tolist())
    else:
        from triton.backends.compiler import GPUTarget
        from triton.compiler import ASTSource
        signature = {"x": "*fp32", "y": "*fp32", "BLOCK": "constexpr", "TYPE": "constexpr"}
        text = ASTSource(fn=triton.jit(narrow), signature=signature, constexprs={"BLOCK": 1024, "TYPE": kind})
        ptx = triton.compile(text, target=GPUTarget("cuda", 90, 32)).asm["ptx"]
        print("compiled", name, *sorted(set(re.findall(r"cvt\.r[nz]\S*", ptx))))
P
cd "$folder"
TRITON_CACHE_DIR="$folder/cache" TRITON_INTERPRET=1 venv/bin/python narrow.py 2>/dev/null >said
TRITON_CACHE_DIR="$folder/cache" venv/bin/python narrow.py 2>/dev/null >>said
cat said
grep -qx "interpreted bfloat16 1.0078125 1.0625 448.0 1000.0" said
grep -qx "interpreted e4m3 1.0 1.125 448.0 256.0" said
grep -qx "compiled bfloat16 cvt.rn.bf16.f32" said
grep -q "compiled e4m3 .*cvt.rn.satfinite.e4m3x2.f32" said
