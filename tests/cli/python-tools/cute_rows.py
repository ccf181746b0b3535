import bench
import cutlass
import cutlass.cute as cute


def truth(a):
    return 2 * a + 3


op = bench.op("cute_line", fields={"n": 1000}, terms=1, dtypes=["f32", "f16"], tensors="a: [n]; y: [n] written", reference=truth)


@cute.kernel
def line(a: cute.Tensor, y: cute.Tensor, n: cutlass.Int32, step: cutlass.Float32, threads: cutlass.Constexpr):
    lane, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * threads + lane
    if i < n:
        y[i] = (a[i].to(cutlass.Float32) * 2.0 + step).to(y.element_type)


@op.kernel(grid="ceil(n, threads)", block="threads", args="a y n 3.0", tool="cute", threads=64)
@cute.jit
def given(a: cute.Tensor, y: cute.Tensor, threads: cutlass.Constexpr, n: cutlass.Int32, step: cutlass.Float32):
    line(a, y, n, step, threads).launch(grid=(cute.ceil_div(n, threads), 1, 1), block=(threads, 1, 1))


@op.kernel(grid="ceil(n, threads)", block="threads", args="a y n 3.0", tool="cute")
@cute.jit
def default(a: cute.Tensor, y: cute.Tensor, n: cutlass.Int32, step: cutlass.Float32, threads: cutlass.Constexpr = 128):
    line(a, y, n, step, threads).launch(grid=(cute.ceil_div(n, threads), 1, 1), block=(threads, 1, 1))


@op.kernel(grid="ceil(n, 128)", block=128, args="a y n 4.0", tool="cute", what="adds 4")
@cute.jit
def wrong(a: cute.Tensor, y: cute.Tensor, n: cutlass.Int32, step: cutlass.Float32):
    line(a, y, n, step, 128).launch(grid=(cute.ceil_div(n, 128), 1, 1), block=(128, 1, 1))


@cute.kernel
def through(a: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    lane, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    kept = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(64), 16)
    i = block * 64 + lane
    if i < n:
        kept[63 - lane] = a[i].to(cutlass.Float32)
        y[i] = (kept[63 - lane] * 2.0 + 3.0).to(y.element_type)


@op.kernel(args="a y n", tool="cute", what="grid, block and shared memory are those of its launch")
@cute.jit
def launched(a: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    through(a, y, n).launch(grid=(cute.ceil_div(a.shape[0], 64), 1, 1), block=(64, 1, 1), smem=256)


@op.kernel(args="a y n", tool="cute", what="nothing says how much shared memory")
@cute.jit
def unsaid(a: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    through(a, y, n).launch(grid=(cute.ceil_div(a.shape[0], 64), 1, 1), block=(64, 1, 1))
