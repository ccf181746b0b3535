#!/usr/bin/env python3
"""Kernels that Triton compiles, as rows of bench: PTX, cubin and sidecars (docs/FOREIGN.md). Needs Triton, no GPU.

usage: triton_rows.py FOLDER [CC]       then: bench run SCENARIO.yaml --variants my=FOLDER

SCENARIO names my/conv, my/conv_cubin (conv2d 64->64 3x3, f16, NHWC), my/shuffle, my/shuffle_cubin (depth_to_space 128->32, CRD) and, of ops that are
files, my/softmax, my/softmax_cubin and my/rmsnorm, my/rmsnorm_cubin (f16, rows of at most 4096 elements).
"""
import os
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def pixel_shuffle(x, y, pixels, W, C: tl.constexpr, R: tl.constexpr, BLOCK: tl.constexpr):
    """NHWC, CRD: an element of the output a lane."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    K: tl.constexpr = C // (R * R)
    k = i % K
    ox = i // K % (W * R)
    oy = i // K // (W * R)
    inside = i < pixels * C
    source = ((oy // R) * W + ox // R) * C + k * R * R + (oy % R) * R + ox % R
    tl.store(y + i, tl.load(x + source, mask=inside), mask=inside)


@triton.jit
def conv3x3(x, w, bias, y, H, W, P, slope, C: tl.constexpr, K: tl.constexpr, BM: tl.constexpr):
    """NHWC, filter RSCK, pad 1: BM pixels by all K channels, as nine products of BM x C by C x K."""
    p = tl.program_id(0) * BM + tl.arange(0, BM)
    py = p // W % H
    px = p % W
    c = tl.arange(0, C)
    k = tl.arange(0, K)
    total = tl.zeros((BM, K), tl.float32)
    for tap in tl.static_range(9):
        dy = tap // 3 - 1
        dx = tap % 3 - 1
        inside = (p < P) & (py + dy >= 0) & (py + dy < H) & (px + dx >= 0) & (px + dx < W)
        a = tl.load(x + (p + dy * W + dx)[:, None] * C + c[None, :], mask=inside[:, None], other=0.0)
        b = tl.load(w + tap * C * K + c[:, None] * K + k[None, :])
        total = tl.dot(a, b, total)
    total += tl.load(bias + k)[None, :]
    total = tl.where(total < 0, total * slope, total)
    tl.store(y + p[:, None] * K + k[None, :], total.to(tl.float16), mask=(p < P)[:, None])


@triton.jit
def softmax(x, y, cols, BLOCK: tl.constexpr):
    """A row a program."""
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * cols + i, mask=i < cols, other=float("-inf")).to(tl.float32)
    power = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + row * cols + i, (power / tl.sum(power, axis=0)).to(tl.float16), mask=i < cols)


@triton.jit
def rmsnorm(x, gain, y, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * cols + i, mask=i < cols, other=0.0).to(tl.float32)
    g = tl.load(gain + i, mask=i < cols, other=0.0).to(tl.float32)
    root = tl.sqrt(tl.sum(v * v, axis=0) / cols + eps)
    tl.store(y + row * cols + i, (v / root * g).to(tl.float16), mask=i < cols)


CONV = """op: conv2d
what: Triton - nine products of 128 pixels by 64 x 64
needs: c == 64 and k == 64 and r == 3 and s == 3 and stride == 1 and pad == 1 and dilation == 1 and groups == 1
layout: {input: NHWC, filter: RSCK, output: same}
dtype: {input: f16, output: same, bias: f32, accumulate: f32}
algorithm: implicit_gemm
epilogue: [bias, relu]
"""
SHUFFLE = """op: depth_to_space
what: Triton - an element of the output a lane
needs: c == 128 and block == 2 and mode == CRD
layout: {input: NHWC, output: same}
dtype: {input: f16, output: same}
exact: yes
"""


SOFTMAX = """op: softmax
what: Triton - a row a program
needs: cols <= 4096
dtype: {input: f16, output: same}
"""
RMSNORM = """op: rmsnorm
what: Triton - a row a program
needs: cols <= 4096
dtype: {input: f16, gain: same, output: same}
"""


def build(folder, name, head, fn, cc, signature, constants, grid, args):
    pointers = {(i,): [["tt.divisibility", 16]] for i, kind in enumerate(signature.values()) if kind.startswith("*")}
    source = ASTSource(fn=fn, signature={**signature, **{n: "constexpr" for n in constants}}, constexprs=constants, attrs=pointers)
    kernel = triton.compile(source, target=GPUTarget("cuda", cc, 32), options={"num_warps": 4})
    meta = kernel.metadata
    for suffix, also in (("ptx", ""), ("cubin", "_cubin")):
        code = kernel.asm[suffix]
        with open(os.path.join(folder, f"{name}.{suffix}"), "w" if suffix == "ptx" else "wb") as f:
            f.write(code)
        with open(os.path.join(folder, f"{name}{also}.yaml"), "w") as f:
            f.write(f"{head}source: {name}.{suffix}\nsteps:\n  - kernel: {meta.name}\n    grid: {grid}\n    block: {meta.num_warps * 32}\n"
                    f"    smem: {meta.shared}\n    args: {args}, 0, 0\n")
    print(f"{name}: {meta.name}, {meta.num_warps * 32} threads, {meta.shared} bytes of shared memory")


def main():
    folder, cc = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 90
    os.makedirs(folder, exist_ok=True)
    build(folder, "shuffle", SHUFFLE, pixel_shuffle, cc, {"x": "*fp16", "y": "*fp16", "pixels": "i32", "W": "i32"}, {"C": 128, "R": 2, "BLOCK": 1024},
          "ceil(n * h * w * c, 1024)", "input, output, n * h * w, w")
    build(folder, "conv", CONV, conv3x3, cc,
          {"x": "*fp16", "w": "*fp16", "bias": "*fp32", "y": "*fp16", "H": "i32", "W": "i32", "P": "i32", "slope": "fp32"},
          {"C": 64, "K": 64, "BM": 128}, "ceil(n * h * w, 128)", "input, filter, bias, output, h, w, n * h * w, slope(epilogue)")


    build(folder, "softmax", SOFTMAX, softmax, cc, {"x": "*fp16", "y": "*fp16", "cols": "i32"}, {"BLOCK": 4096}, "rows", "input, output, cols")
    build(folder, "rmsnorm", RMSNORM, rmsnorm, cc, {"x": "*fp16", "gain": "*fp16", "y": "*fp16", "cols": "i32", "eps": "fp32"}, {"BLOCK": 4096}, "rows",
          "input, gain, output, cols, eps")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main()
