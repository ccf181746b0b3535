from numba import cuda
import bench


def truth(x, a):
    return a * x


scale = bench.op("nscale", fields={"n": 1000, "a": 2.5}, tensors="x: [n]; y: [n] written", terms=1, reference=truth)


@scale.kernel(grid="ceil(n, 128 * EACH)", block=128, args="x y n a", EACH=2)
@cuda.jit
def right(x, y, n, EACH, a):
    for k in range(EACH):
        i = cuda.grid(1) + k * cuda.gridsize(1)
        if i < n:
            y[i] = x[i] * a
