import warp as wp
import bench


def truth(x, a):
    return a * x


scale = bench.op("wscale", fields={"n": 1000, "a": 2.5}, tensors="x: [n]; y: [n] written", terms=1, reference=truth)


@scale.kernel(dim="n", args="x y a")
@wp.kernel
def right(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = x[i] * a


@scale.kernel(dim="n", args="x y a", what="its name begins with that of the right one; Warp's PTX may have it first")
@wp.kernel
def right_moved(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = x[i] * a + 1.0


@scale.kernel(dim="n", args="x y a", what="so does its name")
@wp.kernel
def right_2(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = x[i] * a + 2.0
