# Kernels of numba-cuda with a signature, functions of the device, float16, a barrier over the grid, scratch, and Python's numbers, which are 64-bit there.
import numpy as np
from numba import cuda, float32, int32, types
import bench

assert str(float32) == "float32"  # so the reference needs numba too: it reads the signatures, on a machine without a GPU

half = bench.op("half_line", fields={"rows": 20, "cols": 50, "a": 1e-60, "b": 3}, terms=1, dtypes=["f16", "f32"], tensors="x: [rows, cols]; y: [rows, cols] written",
                reference=lambda x, a, b: x * (a * 1e60) + b)


@cuda.jit("float64(float32, float64, int64)", device=True)
def line(v, a, b):
    return v * (a * 1e60) + b


@half.kernel(grid="ceil(cols * rows, 128)", block=128)
@cuda.jit
def plain(x, y, a, b):
    i = cuda.grid(1)
    if i < x.size:
        y[i // x.shape[1], i % x.shape[1]] = line(float32(x[i // x.shape[1], i % x.shape[1]]), a, b)


@half.kernel(grid="ceil(cols * rows, 128)", block=128)
@cuda.jit([(float32[:, :], float32[:, ::1], types.float64, int32), "void(float16[:, ::1], float16[:, ::1], float64, int64)"], launch_bounds=(128, 4), max_registers=32)
def signed(x, y, a, b):
    i = cuda.grid(1)
    if i < x.size:
        y[i // x.shape[1], i % x.shape[1]] = x[i // x.shape[1], i % x.shape[1]] * types.float16(a * 1e60) + types.float16(b)


@half.kernel(grid=3, block=128, cooperative=True, scratch={"t": "f32[rows * cols]"}, args=lambda f, p: ["x", "y", "t", np.float64(f.a), np.int32(f.b)])
@cuda.jit
def turned(x, y, t, a, b):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        t[x.size - 1 - i] = x[i // x.shape[1], i % x.shape[1]]
    cuda.cg.this_grid().sync()
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        y[i // x.shape[1], i % x.shape[1]] = line(t[x.size - 1 - i], a, b)


@half.kernel(grid="ceil(cols * rows, 128)", block=128, needs="dtype == f16")
@cuda.jit("void(float32[:, ::1], float32[:, ::1], float64, int64)")
def single(x, y, a, b):
    pass
