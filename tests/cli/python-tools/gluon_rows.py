# Gluon (Triton's lower language), with TMA descriptors and wgmma.
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier, tma, warpgroup_mma, warpgroup_mma_wait
import bench

LAYOUT = gl.NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth=16, rank=2)
product = bench.op("product", fields={"m": 128, "n": 128, "k": 64}, terms="k", dtypes=["f16"], tensors="a: [m, k]; b: [k, n]; c: [m, n] written",
                   reference=lambda a, b: a @ b)


@product.kernel(grid="m // 64", needs="m % 64 == 0 and n == 128 and k == 64",
                args=[bench.descriptor(t, [64, n], layout=LAYOUT) for t, n in (("a", 64), ("b", 128), ("c", 128))])
@gluon.jit
def tiles(a, b, c, num_warps: gl.constexpr = 4):
    left = gl.allocate_shared_memory(gl.float16, [64, 64], a.layout)
    right = gl.allocate_shared_memory(gl.float16, [64, 128], b.layout)
    full = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(full, count=1)
    mbarrier.expect(full, a.block_type.nbytes + b.block_type.nbytes)
    row = gl.program_id(0) * 64
    tma.async_load(a, [row, 0], full, left)
    tma.async_load(b, [0, 0], full, right)
    mbarrier.wait(full, 0)
    mbarrier.invalidate(full)
    form: gl.constexpr = gl.NVMMADistributedLayout(version=[3, 0], warps_per_cta=[4, 1], instr_shape=[16, 128, 16])
    sums = warpgroup_mma(left, right, gl.zeros([64, 128], gl.float32, form), is_async=True)
    sums = warpgroup_mma_wait(0, deps=[sums])
    out = gl.allocate_shared_memory(gl.float16, [64, 128], c.layout)
    out.store(sums.to(gl.float16))
    fence_async_shared()
    tma.async_store(c, [row, 0], out)
    tma.store_wait(pendings=0)
