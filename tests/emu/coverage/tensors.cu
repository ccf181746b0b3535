/* Matrix instructions, asynchronous copies, barriers in memory, clusters: as far as the architecture has them. */
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/std/functional>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/warp/warp_scan.cuh>
#include <cooperative_groups.h>
#include <cuda_fp16.h>
#include <mma.h>
#define KERNEL extern "C" __global__ void
namespace cg = cooperative_groups;

KERNEL wmma_product(const __half *a, const __half *b, float *c, int n) /* n x n, a warp a tile; b is column-major */
{
    using namespace nvcuda::wmma;
    fragment<matrix_a, 16, 16, 16, __half, row_major> fa;
    fragment<matrix_b, 16, 16, 16, __half, col_major> fb;
    fragment<accumulator, 16, 16, 16, float> fc;
    int row = blockIdx.y * 16, col = blockIdx.x * 16;
    fill_fragment(fc, 0.0f);
    for (int k = 0; k < n; k += 16) {
        load_matrix_sync(fa, a + row * n + k, n);
        load_matrix_sync(fb, b + col * n + k, n);
        mma_sync(fc, fa, fb, fc);
    }
    for (int i = 0; i < fc.num_elements; i++)
        fc.x[i] = 2 * fc.x[i];
    store_matrix_sync(c + row * n + col, fc, n, mem_row_major);
}

KERNEL wmma_bytes(const signed char *a, const signed char *b, int *c) /* 16 x 16 x 16 */
{
    using namespace nvcuda::wmma;
    fragment<matrix_a, 16, 16, 16, signed char, row_major> fa;
    fragment<matrix_b, 16, 16, 16, signed char, col_major> fb;
    fragment<accumulator, 16, 16, 16, int> fc;
    fill_fragment(fc, 1);
    load_matrix_sync(fa, a, 16);
    load_matrix_sync(fb, b, 16);
    mma_sync(fc, fa, fb, fc);
    store_matrix_sync(c, fc, 16, mem_row_major);
}

KERNEL cub_sort(const unsigned *in, unsigned *out)
{
    using sort = cub::BlockRadixSort<unsigned, 128, 4>;
    __shared__ typename sort::TempStorage room;
    unsigned v[4];
    for (int i = 0; i < 4; i++)
        v[i] = in[threadIdx.x * 4 + i];
    sort(room).Sort(v);
    for (int i = 0; i < 4; i++)
        out[threadIdx.x * 4 + i] = v[i];
}

KERNEL cub_scan(const int *in, int *out)
{
    using scan = cub::BlockScan<int, 128, cub::BLOCK_SCAN_WARP_SCANS>;
    using reduce = cub::BlockReduce<int, 128>;
    __shared__ typename scan::TempStorage scans;
    __shared__ typename reduce::TempStorage reduces;
    int v[2] = {in[threadIdx.x * 2], in[threadIdx.x * 2 + 1]}, w[2];
    scan(scans).InclusiveSum(v, w);
    int all = reduce(reduces).Sum(v[0] + v[1]);
    out[threadIdx.x * 2] = w[0], out[threadIdx.x * 2 + 1] = w[1];
    if (threadIdx.x == 0)
        out[256] = all;
}

KERNEL arrive_wait(const int *in, int *out)
{
    using barrier = cuda::barrier<cuda::thread_scope_block>;
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ barrier b;
    __shared__ int s[128];
    if (threadIdx.x == 0)
        init(&b, 128);
    __syncthreads();
    s[threadIdx.x] = in[blockIdx.x * 128 + threadIdx.x];
    b.wait(b.arrive());
    out[blockIdx.x * 128 + threadIdx.x] = s[127 - threadIdx.x];
    b.arrive_and_wait();
    s[threadIdx.x] = 3;
}

#if __CUDA_ARCH__ >= 800
KERNEL staged(const float *in, float *out, int n) /* two stages of cp.async */
{
    constexpr int stages = 2;
    __shared__ float s[stages][128];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    for (int c = 0, f = 0; c < n; c++) {
        for (; f < n && f < c + stages; f++) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, s[f % stages], in + f * 128, sizeof(float) * 128, pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        out[c * 128 + threadIdx.x] = 2 * s[c % stages][127 - threadIdx.x];
        pipe.consumer_release();
    }
}

KERNEL mma_bytes(const unsigned *a, const unsigned *b, int *c) /* 16 x 8 x 32, a row-major, b column-major */
{
    int g = threadIdx.x / 4, t = threadIdx.x % 4, d[4] = {0, 0, 0, 0};
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(a[g * 8 + t]), "r"(a[(g + 8) * 8 + t]), "r"(a[g * 8 + t + 4]), "r"(a[(g + 8) * 8 + t + 4]), "r"(b[g * 8 + t]), "r"(b[g * 8 + t + 4]));
    for (int i = 0; i < 4; i++)
        c[(g + 8 * (i / 2)) * 8 + 2 * t + i % 2] = d[i];
}

KERNEL mma_tf32(const float *a, const float *b, float *c) /* 16 x 8 x 8 */
{
    int g = threadIdx.x / 4, t = threadIdx.x % 4;
    float d[4] = {0, 0, 0, 0};
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(__float_as_uint(a[g * 8 + t])), "r"(__float_as_uint(a[(g + 8) * 8 + t])), "r"(__float_as_uint(a[g * 8 + t + 4])), "r"(__float_as_uint(a[(g + 8) * 8 + t + 4])),
          "r"(__float_as_uint(b[g * 8 + t])), "r"(__float_as_uint(b[g * 8 + t + 4])));
    for (int i = 0; i < 4; i++)
        c[(g + 8 * (i / 2)) * 8 + 2 * t + i % 2] = d[i];
}

KERNEL loaded(const __half *a, const __half *b, float *c) /* ldmatrix and mma, 16 x 8 x 16; b is k by n */
{
    __shared__ __align__(16) __half sa[16][16], sb[16][8];
    for (int i = threadIdx.x; i < 256; i += 32)
        sa[i / 16][i % 16] = a[i];
    for (int i = threadIdx.x; i < 128; i += 32)
        sb[i / 8][i % 8] = b[i];
    __syncthreads();
    unsigned x[4], y[2];
    int lane = threadIdx.x;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"((unsigned)__cvta_generic_to_shared(&sa[lane % 16][lane / 16 * 8])));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];" : "=r"(y[0]), "=r"(y[1]) : "r"((unsigned)__cvta_generic_to_shared(&sb[lane % 16][0])));
    float d[4] = {0, 0, 0, 0};
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
    for (int i = 0; i < 4; i++)
        c[(lane / 4 + 8 * (i / 2)) * 8 + 2 * (lane % 4) + i % 2] = d[i];
}

KERNEL reduced(const unsigned *in, unsigned *out)
{
    unsigned v = in[threadIdx.x];
    out[threadIdx.x] = __reduce_add_sync(~0u, v) + 3 * __reduce_max_sync(~0u, v) + 5 * __reduce_min_sync(~0u, (int)v) + 7 * __reduce_xor_sync(~0u, v);
}
#endif

#if __CUDA_ARCH__ >= 900
#include <cuda/ptx>
namespace ptx = cuda::ptx;

KERNEL bulk(const int *in, int *out) /* TMA without a map, both ways */
{
    using barrier = cuda::barrier<cuda::thread_scope_block>;
    __shared__ alignas(128) int s[256];
    __shared__ barrier b;
    if (threadIdx.x == 0) {
        init(&b, blockDim.x);
        ptx::fence_proxy_async(ptx::space_shared);
    }
    __syncthreads();
    if (threadIdx.x == 0)
        cuda::memcpy_async(s, in + blockIdx.x * 256, cuda::aligned_size_t<16>(sizeof s), b);
    b.wait(b.arrive());
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        s[i] = 3 * s[i] + 1;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out + blockIdx.x * 256, s, sizeof s);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
}

struct alignas(64) tensor_map { char bytes[128]; };
KERNEL boxes(const __grid_constant__ tensor_map map, float *out) /* 32 x 8 boxes of a 2-D tensor */
{
    __shared__ alignas(128) float s[256];
    __shared__ alignas(8) unsigned long long arrived;
    if (threadIdx.x == 0) {
        ptx::mbarrier_init((uint64_t *)&arrived, 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        int at[2] = {(int)blockIdx.x * 32, (int)blockIdx.y * 8};
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, (uint64_t *)&arrived, sizeof s);
        ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, s, &map, at, (uint64_t *)&arrived);
    }
    while (!ptx::mbarrier_try_wait_parity((uint64_t *)&arrived, 0))
        ;
    out[(blockIdx.y * gridDim.x + blockIdx.x) * 256 + threadIdx.x] = s[threadIdx.x];
}

KERNEL __cluster_dims__(4, 1, 1) neighbours(int *out)
{
    __shared__ int s[32];
    auto cluster = cg::this_cluster();
    s[threadIdx.x] = blockIdx.x * 32 + threadIdx.x;
    cluster.sync();
    const int *other = cluster.map_shared_rank(s, (cluster.block_rank() + 1) % 4);
    out[blockIdx.x * 32 + threadIdx.x] = other[31 - threadIdx.x];
    cluster.sync();
}

KERNEL __cluster_dims__(4, 1, 1) sent(int *out) /* stores that the other block's barrier counts, of 4 and 16 bytes */
{
    __shared__ alignas(16) int s[160];
    __shared__ alignas(8) uint64_t arrived;
    auto cluster = cg::this_cluster();
    unsigned next = (cluster.block_rank() + 1) % 4;
    int v = blockIdx.x * 32 + threadIdx.x, quad[4] = {10 * v, 10 * v + 1, 10 * v + 2, 10 * v + 3};
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&arrived, 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    cluster.sync();
    ptx::st_async(cluster.map_shared_rank(s, next) + threadIdx.x, v, cluster.map_shared_rank(&arrived, next));
    ptx::st_async(cluster.map_shared_rank(s, next) + 32 + 4 * threadIdx.x, quad, cluster.map_shared_rank(&arrived, next));
    if (threadIdx.x == 0)
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &arrived, sizeof s);
    while (!ptx::mbarrier_try_wait_parity(&arrived, 0))
        ;
    for (int i = threadIdx.x; i < 160; i += 32)
        out[blockIdx.x * 160 + i] = s[i];
    cluster.sync();
}
#endif
