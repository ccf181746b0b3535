from numba import cuda
import bench


def truth(x, a):
    return a * x


scale = bench.op("nscale", fields={"n": 1000, "a": 2.5}, tensors="x: [n]; y: [n] written", terms=1, reference=truth)


@scale.kernel(grid="ceil(n, 128)", block=128, args="x y n a")
@cuda.jit
def right(x, y, n, a):
    i = cuda.grid(1)
    if i < n:
        y[i] = x[i] * a
