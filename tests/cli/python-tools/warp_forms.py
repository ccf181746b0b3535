# Warp: tiles over a block, arrays of vectors, a generic kernel, and one of another type.
from typing import Any
import numpy as np
import warp as wp
import bench

norms = bench.op("norms", fields={"rows": 30}, terms=64, dtypes=["f32"], tensors="x: [rows, 64]; y: [rows] written", reference=lambda x: np.sqrt((x * x).sum(-1)))


@norms.kernel(dim="rows, 64", block=64)
@wp.kernel
def tiles(x: wp.array2d(dtype=float), y: wp.array(dtype=float)):
    i, j = wp.tid()
    t = wp.tile_load(x[i], shape=64)
    wp.tile_store(y, wp.tile_map(wp.sqrt, wp.tile_sum(wp.tile_map(wp.mul, t, t))), offset=i)


@norms.kernel(dim="rows")
@wp.kernel
def lengths(x: wp.array(dtype=wp.types.vector(length=64, dtype=float)), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.length(x[i])


@norms.kernel(dim="rows")
@wp.kernel
def generic(x: wp.array(dtype=Any, ndim=2), y: wp.array(dtype=Any)):
    i = wp.tid()
    s = x.dtype(0.0)
    for k in range(64):
        s += x[i, k] * x[i, k]
    y[i] = wp.sqrt(s)


@norms.kernel(dim="rows")
@wp.kernel
def halves(x: wp.array2d(dtype=wp.float16), y: wp.array(dtype=wp.float16)):
    i = wp.tid()
    y[i] = x[i, 0]
