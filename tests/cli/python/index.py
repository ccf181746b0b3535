"""A reference that takes elements by a tensor of indices, which is float64 like every tensor of a reference."""
import bench
import k

op = bench.op("taken", fields={"n": 100}, tensors="x: [n]; at: [n] i32 {indices: n}; y: [n] written", terms=1, reference=lambda x, at: x[at])


@op.kernel(name="taken", grid="ceil(n, 64)", args="x y n 2", tool="ptx")
def doubled():
    return k.text("doubled", 64, "mul.f32 %f3, %f1, %f2;")
