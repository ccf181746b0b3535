# Parameters that Triton types by their annotation, and defaults of parameters.
import triton
import triton.language as tl
import bench

line = bench.op("line", fields={"n": 3000, "a": 2.5, "on": 1}, terms=1, dtypes=["f32"], tensors="x: [n]; y: [n] written",
                reference=lambda x, n, a: a * x + n / 8192)


@line.kernel(grid="ceil(n, BLOCK)", BLOCK=512)
@triton.jit
def annotated(x, y, n: tl.int64, a: "fp64", on: "i1", BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n) * a + (n * (1 << 20)).to(tl.float64) / (1 << 33)  # beyond 32 bits
    if on:
        tl.store(y + i, v.to(tl.float32), mask=i < n)


@line.kernel(grid="ceil(n, BLOCK)", args="x y n a")
@triton.jit(do_not_specialize=["n"], do_not_specialize_on_alignment=["x"])
def defaults(x, y, n, a: tl.float16, stride=1, scale=1.0, bias=None, BLOCK: tl.constexpr = 256):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i * stride, mask=i < n) * a * scale + n / 8192
    if bias is not None:
        v += tl.load(bias + i)
    tl.store(y + i, v, mask=i < n)


@line.kernel(grid="ceil(n, BLOCK)", BLOCK=512)
@triton.jit
def halved(x, y, n: tl.int16, a: tl.bfloat16, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * a.to(tl.float32) + n / 8192, mask=i < n)


@line.kernel(grid="ceil(n, BLOCK)", args=[("x", "y"), "n", "a"], BLOCK=512)
@triton.jit
def pairs(xy, n, a, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(xy[1] + i, tl.load(xy[0] + i, mask=i < n) * a, mask=i < n)
