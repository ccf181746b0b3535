"""A callable gets two elements of e2m1 a byte, the first of them in the low half."""
import numpy as np

import bench

VALUES = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)

fours = bench.op("fours", fields={"n": 30, "k": 64}, tensors="a: [n, k] e2m1; y: [n, k] written", terms=1, reference=lambda a: 2 * a)


def unpack(a, *halves):
    return 2 * np.stack([VALUES[half] for half in halves], -1).reshape(a.shape[0], -1)


@fours.call
def low_first(a):
    return unpack(a, a & 15, a >> 4)


@fours.call
def high_first(a):
    return unpack(a, a >> 4, a & 15)
