"""A file whose torch (fake/torch.py) tells when a reference imports it. `direct` needs none; `chosen` does, in a helper."""
import torch

import bench
import k


def flagged(x):
    return torch.twice(x) if torch.present else x


def kernel(name, truth):
    op = bench.op(name, fields={"n": 100, "a": 2}, tensors="x: [n]; y: [n] written", terms=1, reference=truth)

    @op.kernel(name=name, grid="ceil(n, 64)", args="x y n a", tool="ptx")
    def doubled():
        return k.text("doubled", 64, "mul.f32 %f3, %f1, %f2;")


kernel("direct", lambda x: 2 * x)
kernel("chosen", lambda x: flagged(x))
