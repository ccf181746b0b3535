import numpy as np
import triton
import triton.language as tl
import bench


@bench.kernel("softmax", grid="rows", args="input output cols", BLOCK="next_power_of_2(cols)")
@bench.configs(num_warps=[4, 8], num_stages=[1, 2])
@triton.jit
def softmax(x, y, cols, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + r * cols + i, mask=i < cols, other=-float("inf")).to(tl.float32)
    v = tl.exp(v - tl.max(v, 0))
    tl.store(y + r * cols + i, (v / tl.sum(v, 0)).to(y.dtype.element_ty), mask=i < cols)


def truth(x):
    return {"y": np.clip(x * 100, -448, 448), "flag": x > 0, "at": np.arange(x.size).reshape(x.shape) + 2.0**33}


op = bench.op("marks", fields={"n": 3000}, terms=1, reference=truth, tensors="x: [n]; y: [n] e4m3 written; flag: [n] bool written; at: [n] i64 written")


@op.kernel(grid="ceil(n, BLOCK)", args="x y flag at n")
@triton.jit
def marks(x, y, flag, at, n, BLOCK: tl.constexpr = 256):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + i, tl.clamp(v * 100, -448.0, 448.0).to(tl.float8e4nv), mask=i < n)
    tl.store(flag + i, v > 0, mask=i < n)
    tl.store(at + i, i.to(tl.int64) + (1 << 33), mask=i < n)


@op.kernel(grid="ceil(n, 256)", args="x y flag at n", BLOCK=256, what="forgets to clamp, and flags zeros")
@triton.jit
def wrong(x, y, flag, at, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + i, (v * 90).to(tl.float8e4nv), mask=i < n)
    tl.store(flag + i, v >= 0, mask=i < n)
    tl.store(at + i, i.to(tl.int64) + (1 << 33), mask=i < n)


@op.kernel(grid="ceil(n, 256)", args="x y flag at n", BLOCK=256, what="a mask of whole numbers")
@triton.jit
def mistaken(x, y, flag, at, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(flag + i, tl.load(x + i, mask=(i < n) & (i >= 0) | BLOCK, other=0.0) > 0, mask=i < n)
