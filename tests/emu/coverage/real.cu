/* Kernels as they are written for use: the techniques of GEMM libraries, of generated code, of quantised and fused attention kernels, each in our own words. */
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#define KERNEL extern "C" __global__ void
#define FULL 0xffffffffu
#define LEAST __int_as_float(0xff800000)

static __device__ unsigned shared_of(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

#if __CUDA_ARCH__ >= 800
static __device__ void copy_16(unsigned to, const void *from, bool there)
{
    int bytes = there ? 16 : 0;
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes));
}
static __device__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> static __device__ void wait_but() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }
static __device__ void matrix_4(unsigned *r, unsigned at)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at) : "memory");
}
static __device__ void matrix_4_trans(unsigned *r, unsigned at)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at) : "memory");
}
static __device__ void multiply(float *c, const unsigned *a, unsigned b0, unsigned b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* C = A B^T, f16: three stages of cp.async that fill with zeros beyond the edges, rows swizzled by xor, fragments by ldmatrix, 2 x 2 warps on a tile of 64 x 64. */
#define STAGES 3
#define TILE 64
#define DEEP 32
static __device__ unsigned swizzled(int row, int chunk) { return row * (DEEP * 2) + ((chunk ^ (row >> 1 & 3)) * 16); }

KERNEL __launch_bounds__(128) gemm_stages(const half *__restrict__ a, const half *__restrict__ b, float *__restrict__ c, int m, int n, int k)
{
    extern __shared__ __align__(128) unsigned char shared[];
    const unsigned base = shared_of(shared);
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, row0 = blockIdx.y * TILE, column0 = blockIdx.x * TILE;
    const unsigned half_stage = TILE * DEEP * 2;
    float sum[2][4][4] = {};
    auto load = [&](int stage, int k0) {
#pragma unroll
        for (int t = threadIdx.x; t < TILE * 4; t += 128) {
            int row = t >> 2, chunk = t & 3, depth = k0 + chunk * 8;
            bool in_a = row0 + row < m && depth < k, in_b = column0 + row < n && depth < k;
            copy_16(base + stage * 2 * half_stage + swizzled(row, chunk), in_a ? a + (size_t)(row0 + row) * k + depth : a, in_a);
            copy_16(base + stage * 2 * half_stage + half_stage + swizzled(row, chunk), in_b ? b + (size_t)(column0 + row) * k + depth : b, in_b);
        }
        commit();
    };
    int next = 0;
    for (; next < STAGES - 1; next++)
        load(next, next * DEEP);
    for (int k0 = 0, stage = 0; k0 < k; k0 += DEEP) {
        wait_but<STAGES - 2>();
        __syncthreads();
        load(next % STAGES, next * DEEP);
        next++;
        const unsigned at_a = base + stage * 2 * half_stage, at_b = at_a + half_stage;
#pragma unroll
        for (int step = 0; step < 2; step++) {
            unsigned fa[2][4], fb[2][4];
#pragma unroll
            for (int i = 0; i < 2; i++) {
                matrix_4(fa[i], at_a + swizzled((warp >> 1) * 32 + i * 16 + (lane & 15), step * 2 + (lane >> 4)));
                matrix_4(fb[i], at_b + swizzled((warp & 1) * 32 + i * 16 + (lane & 7) + ((lane >> 4) << 3), step * 2 + (lane >> 3 & 1)));
            }
#pragma unroll
            for (int i = 0; i < 2; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) {
                    int snake = i & 1 ? 3 - j : j; /* back and forth, as libraries do for the register cache */
                    multiply(sum[i][snake], fa[i], fb[snake >> 1][(snake & 1) * 2], fb[snake >> 1][(snake & 1) * 2 + 1]);
                }
        }
        stage = stage + 1 == STAGES ? 0 : stage + 1;
    }
    wait_but<0>();
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
#pragma unroll
            for (int e = 0; e < 2; e++) {
                int row = row0 + (warp >> 1) * 32 + i * 16 + e * 8 + (lane >> 2), column = column0 + (warp & 1) * 32 + j * 8 + (lane & 3) * 2;
                if (row < m && column < n)
                    *(float2 *)(c + (size_t)row * n + column) = make_float2(sum[i][j][2 * e], sum[i][j][2 * e + 1]);
            }
}

/* RMS norm of bf16 rows as generated code does it: predicated vector accesses with cache policies, conversions by bits, a butterfly, a value a warp in shared memory. */
KERNEL rms_norm(const __nv_bfloat16 *x, const __nv_bfloat16 *weight, __nv_bfloat16 *y, int columns, float epsilon)
{
    __shared__ float partial[4];
    unsigned long long keep, drop;
    unsigned v[4], g[4];
    const int at = threadIdx.x * 8, in = at < columns, lane = threadIdx.x & 31;
    const void *row = x + (size_t)blockIdx.x * columns + at;
    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(keep));
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(drop));
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %5, 0; mov.u32 %0, 0; mov.u32 %1, 0; mov.u32 %2, 0; mov.u32 %3, 0;\n"
                 "@p ld.global.L1::evict_first.L2::cache_hint.v4.b32 {%0, %1, %2, %3}, [%4], %6; }"
                 : "=&r"(v[0]), "=&r"(v[1]), "=&r"(v[2]), "=&r"(v[3]) : "l"(row), "r"(in), "l"(drop));
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %5, 0; mov.u32 %0, 0; mov.u32 %1, 0; mov.u32 %2, 0; mov.u32 %3, 0;\n"
                 "@p ld.global.nc.L1::evict_last.L2::cache_hint.v4.b32 {%0, %1, %2, %3}, [%4], %6; }"
                 : "=&r"(g[0]), "=&r"(g[1]), "=&r"(g[2]), "=&r"(g[3]) : "l"(weight + at), "r"(in), "l"(keep));
    float f[8], sum = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        f[2 * i] = __uint_as_float(v[i] << 16);
        f[2 * i + 1] = __uint_as_float(__byte_perm(v[i], 0, 0x3244));
        sum = fmaf(f[2 * i + 1], f[2 * i + 1], fmaf(f[2 * i], f[2 * i], sum));
    }
#pragma unroll
    for (int k = 16; k; k >>= 1)
        asm volatile("{ .reg .b32 t; shfl.sync.bfly.b32 t, %0, %1, 0x1f, 0xffffffff; add.f32 %0, %0, t; }" : "+f"(sum) : "r"(k));
    asm volatile("{ .reg .pred p; setp.eq.s32 p, %0, 0; @p st.shared.b32 [%1], %2; }" ::"r"(lane), "r"(shared_of(partial + (threadIdx.x >> 5))), "f"(sum) : "memory");
    __syncthreads();
    sum = partial[lane & 3];
    sum += __shfl_xor_sync(FULL, sum, 2);
    sum += __shfl_xor_sync(FULL, sum, 1);
    float mean, scale;
    asm("div.full.f32 %0, %1, %2;" : "=f"(mean) : "f"(sum), "f"((float)columns));
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(scale) : "f"(mean + epsilon));
    unsigned out[4];
#pragma unroll
    for (int i = 0; i < 4; i++)
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(out[i]) : "f"(f[2 * i + 1] * scale * __uint_as_float(g[i] & 0xffff0000u)), "f"(f[2 * i] * scale * __uint_as_float(g[i] << 16)));
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %5, 0; @p st.global.L1::no_allocate.v4.b32 [%4], {%0, %1, %2, %3}; }"
                 ::"r"(out[0]), "r"(out[1]), "r"(out[2]), "r"(out[3]), "l"(y + (size_t)blockIdx.x * columns + at), "r"(in) : "memory");
}

/* Causal attention, one head of 64, as fused kernels compute it: a warp has 16 queries, keys come in double-buffered tiles of 32, softmax
 * is online in base 2, and the scores' registers become the second product's without leaving the warp. */
#define HEAD 64
#define KEYS 32
static __device__ unsigned row_of(int row, int chunk) { return row * (HEAD * 2) + ((chunk ^ (row & 7)) * 16); }

KERNEL __launch_bounds__(128) attention(const half *__restrict__ q, const half *__restrict__ keys, const half *__restrict__ values, half *__restrict__ out, int length, float scale)
{
    extern __shared__ __align__(128) unsigned char shared[];
    const unsigned base = shared_of(shared), at_q = base, at_kv = base + 64 * HEAD * 2, tile = KEYS * HEAD * 2;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, q0 = blockIdx.x * 64;
    for (int t = threadIdx.x; t < 64 * 8; t += 128)
        copy_16(at_q + row_of(t >> 3, t & 7), q + (size_t)min(q0 + (t >> 3), length - 1) * HEAD + (t & 7) * 8, q0 + (t >> 3) < length);
    auto load = [&](int stage, int first) {
        for (int t = threadIdx.x; t < KEYS * 8; t += 128) {
            int row = first + (t >> 3);
            size_t from = (size_t)min(row, length - 1) * HEAD + (t & 7) * 8;
            copy_16(at_kv + stage * 2 * tile + row_of(t >> 3, t & 7), keys + from, row < length);
            copy_16(at_kv + stage * 2 * tile + tile + row_of(t >> 3, t & 7), values + from, row < length);
        }
        commit();
    };
    load(0, 0);
    unsigned fq[4][4];
    float o[8][4] = {}, most[2] = {LEAST, LEAST}, total[2] = {};
    const int last = min(q0 + 64, length), tiles = (last + KEYS - 1) / KEYS;
    const float to_base_2 = scale * 1.44269504f;
    for (int n = 0; n < tiles; n++) {
        if (n + 1 < tiles)
            load(n + 1 & 1, (n + 1) * KEYS);
        else
            commit();
        wait_but<1>();
        __syncthreads();
        if (n == 0)
            for (int s = 0; s < 4; s++)
                matrix_4(fq[s], at_q + row_of(warp * 16 + (lane & 15), s * 2 + (lane >> 4)));
        const unsigned at_k = at_kv + (n & 1) * 2 * tile, at_v = at_k + tile;
        float score[4][4] = {};
#pragma unroll
        for (int s = 0; s < 4; s++)
#pragma unroll
            for (int j = 0; j < 2; j++) {
                unsigned fk[4];
                matrix_4(fk, at_k + row_of(j * 16 + (lane & 7) + ((lane >> 4) << 3), s * 2 + (lane >> 3 & 1)));
                multiply(score[2 * j], fq[s], fk[0], fk[1]);
                multiply(score[2 * j + 1], fq[s], fk[2], fk[3]);
            }
        unsigned p[4][2];
#pragma unroll
        for (int e = 0; e < 2; e++) {
            const int row = q0 + warp * 16 + e * 8 + (lane >> 2);
            float top = most[e];
#pragma unroll
            for (int j = 0; j < 4; j++)
#pragma unroll
                for (int h = 0; h < 2; h++) {
                    float &v = score[j][2 * e + h];
                    int key = n * KEYS + j * 8 + (lane & 3) * 2 + h;
                    v = key > row || key >= length ? LEAST : v * to_base_2;
                    top = fmaxf(top, v);
                }
            top = fmaxf(top, __shfl_xor_sync(FULL, top, 1));
            top = fmaxf(top, __shfl_xor_sync(FULL, top, 2));
            const float shift = top == LEAST ? 0 : top, old = exp2f(most[e] - shift);
            float sum = 0;
#pragma unroll
            for (int j = 0; j < 4; j++) {
                float x = exp2f(score[j][2 * e] - shift), y = exp2f(score[j][2 * e + 1] - shift);
                sum += x + y;
                half2 both = __floats2half2_rn(x, y);
                p[j][e] = *(unsigned *)&both;
            }
            total[e] = total[e] * old + sum;
            most[e] = top;
#pragma unroll
            for (int j = 0; j < 8; j++)
                o[j][2 * e] *= old, o[j][2 * e + 1] *= old;
        }
#pragma unroll
        for (int s = 0; s < 2; s++) {
            const unsigned fp[4] = {p[2 * s][0], p[2 * s][1], p[2 * s + 1][0], p[2 * s + 1][1]};
#pragma unroll
            for (int j = 0; j < 4; j++) {
                unsigned fv[4];
                matrix_4_trans(fv, at_v + row_of(s * 16 + (lane & 15), j * 2 + (lane >> 4)));
                multiply(o[2 * j], fp, fv[0], fv[1]);
                multiply(o[2 * j + 1], fp, fv[2], fv[3]);
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int e = 0; e < 2; e++) {
        float sum = total[e] + __shfl_xor_sync(FULL, total[e], 1);
        sum += __shfl_xor_sync(FULL, sum, 2);
        const int row = q0 + warp * 16 + e * 8 + (lane >> 2);
        if (row < length)
#pragma unroll
            for (int j = 0; j < 8; j++)
                *(half2 *)(out + (size_t)row * HEAD + j * 8 + (lane & 3) * 2) = __floats2half2_rn(o[j][2 * e] / sum, o[j][2 * e + 1] / sum);
    }
}
#endif

/* Dot products of 4-bit weights (a scale for 32) with 8-bit activations, as in quantised language models: structures of 18 and 36 bytes,
 * two-byte loads that are joined, dp4a, the offset subtracted at the end, a warp a row. */
struct weights_4 {
    half scale;
    unsigned char pairs[16];
};
struct values_8 {
    half2 scale_sum;
    signed char values[32];
};
static __device__ int two_halves(const unsigned char *p, int i)
{
    const unsigned short *s = (const unsigned short *)p;
    return s[2 * i] | s[2 * i + 1] << 16;
}
KERNEL quantised_rows(const weights_4 *__restrict__ w, const values_8 *__restrict__ x, float *__restrict__ y, int blocks)
{
    const int lane = threadIdx.x, row = blockIdx.x * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int b = lane / 4; b < blocks; b += 8) {
        const weights_4 *u = w + (size_t)row * blocks + b;
        const values_8 *v = x + b;
        const int i = lane % 4, packed = two_halves(u->pairs, i);
        const int low = *(const int *)(v->values + 4 * i), high = *(const int *)(v->values + 16 + 4 * i);
        int dot = __dp4a(packed & 0x0f0f0f0f, low, 0);
        dot = __dp4a(packed >> 4 & 0x0f0f0f0f, high, dot);
        const float2 s = __half22float2(v->scale_sum);
        sum += __half2float(u->scale) * (dot * s.x - 8 * s.y / 4);
    }
#pragma unroll
    for (int k = 16; k > 0; k >>= 1)
        sum += __shfl_xor_sync(FULL, sum, k, 32);
    if (lane == 0)
        y[row] = sum;
}

#if __CUDA_ARCH__ >= 900
static __device__ void bar_init(unsigned bar, int count) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(count) : "memory"); }
static __device__ void bar_wait(unsigned bar, int parity)
{
    asm volatile("{ .reg .pred p; AGAIN: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, [%0], %1, 0x989680; @p bra DONE; bra AGAIN; DONE: }" ::"r"(bar), "r"(parity) : "memory");
}

/* Column sums of a matrix, split over blocks that take rows from a queue: one warp copies rows in bulk through a ring of full and empty barriers, the others add, and each
 * block's sums are added to global memory by one asynchronous reduction. */
#define RING 2
#define WIDE 256
KERNEL __launch_bounds__(32 + WIDE) column_sums(const float *__restrict__ x, float *__restrict__ sums, unsigned *__restrict__ queue, int rows)
{
    __shared__ __align__(128) float ring[RING][WIDE], total[WIDE];
    __shared__ __align__(8) unsigned long long full[RING], empty[RING];
    __shared__ int rows_of[RING];
    const bool producer = threadIdx.x < 32;
    if (threadIdx.x == 0) {
        for (int s = 0; s < RING; s++)
            bar_init(shared_of(full + s), 1), bar_init(shared_of(empty + s), WIDE / 32);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    asm volatile("griddepcontrol.wait;" ::: "memory");
    if (producer) {
        unsigned chosen;
        asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.b32 %0, 1, 0, p; }" : "=r"(chosen));
        for (int n = 0; chosen; n++) {
            const int s = n % RING, row = (int)atomicAdd(queue, 1u);
            bar_wait(shared_of(empty + s), (n / RING & 1) ^ 1);
            rows_of[s] = row;
            if (row >= rows) {
                asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_of(full + s)) : "memory");
                break;
            }
            asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(shared_of(full + s)), "r"(WIDE * 4) : "memory");
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                         ::"r"(shared_of(ring[s])), "l"(x + (size_t)row * WIDE), "r"(WIDE * 4), "r"(shared_of(full + s)) : "memory");
        }
    } else {
        const int t = threadIdx.x - 32;
        float sum = 0;
        for (int n = 0;; n++) {
            const int s = n % RING;
            bar_wait(shared_of(full + s), n / RING & 1);
            if (rows_of[s] >= rows)
                break;
            sum += ring[s][t];
            __syncwarp();
            if ((t & 31) == 0)
                asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(shared_of(empty + s)) : "memory");
        }
        total[t] = sum;
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("bar.sync 1, 256;" ::: "memory");
        if (t == 0) {
            asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(sums), "r"(shared_of(total)), "r"(WIDE * 4) : "memory");
            asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
        }
    }
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

/* Four blocks of a cluster: each sends its maximum and its sum to block 0, straight into its shared memory and onto its barrier. */
KERNEL __cluster_dims__(4, 1, 1) cluster_totals(const int *__restrict__ in, int *__restrict__ out)
{
    __shared__ __align__(16) int most[4][4];
    __shared__ unsigned sum;
    __shared__ __align__(8) unsigned long long arrived;
    unsigned rank, to_most, to_sum, to_bar;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    const int v = in[blockIdx.x * 32 + threadIdx.x];
    if (threadIdx.x == 0) {
        sum = 0;
        bar_init(shared_of(&arrived), 1);
        asm volatile("mbarrier.arrive.expect_tx.relaxed.cluster.shared::cta.b64 _, [%0], %1;" ::"r"(shared_of(&arrived)), "r"(4 * (16 + 4)) : "memory");
    }
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
    asm("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(to_most) : "r"(shared_of(most[rank])));
    asm("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(to_sum) : "r"(shared_of(&sum)));
    asm("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(to_bar) : "r"(shared_of(&arrived)));
    const int high = __reduce_max_sync(FULL, v), low = __reduce_min_sync(FULL, v), all = __reduce_add_sync(FULL, v);
    if (threadIdx.x == 0) {
        asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];"
                     ::"r"(to_most), "r"(high), "r"(low), "r"(all), "r"(rank), "r"(to_bar) : "memory");
        asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];" ::"r"(to_sum), "r"(all), "r"(to_bar) : "memory");
    }
    if (rank == 0) {
        bar_wait(shared_of(&arrived), 0);
        if (threadIdx.x < 16)
            out[blockIdx.x / 4 * 17 + threadIdx.x] = most[threadIdx.x / 4][threadIdx.x % 4];
        if (threadIdx.x == 0)
            out[blockIdx.x / 4 * 17 + 16] = sum;
    }
    asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}
#endif

#if __CUDA_ARCH__ >= 900
struct alignas(64) tensor_map { char bytes[128]; };
/* Each block adds its box of 32 x 8 ones to a matrix by tensor reduction; what lies beyond the edge is dropped. */
KERNEL boxes_added(const __grid_constant__ tensor_map map)
{
    __shared__ __align__(128) float box[256];
    box[threadIdx.x] = threadIdx.x;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%1, %2}], [%3];"
                     ::"l"(&map), "r"((int)blockIdx.x * 32), "r"((int)blockIdx.y * 8), "r"(shared_of(box)) : "memory");
        asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;" ::: "memory");
    }
}
/* The largest of many halves, four at a time. */
KERNEL half_most(const half2 *in, half2 *most)
{
    const half2 a = in[threadIdx.x * 2], b = in[threadIdx.x * 2 + 1];
    asm volatile("red.global.v2.f16x2.max.noftz [%0], {%1, %2};" ::"l"(most), "r"(*(const unsigned *)&a), "r"(*(const unsigned *)&b) : "memory");
}
#endif

/* Numbers cut to bytes for an 8-bit layer, and the rarer integer instructions. */
KERNEL narrowed(const int *in, unsigned *out)
{
    const int *v = in + threadIdx.x * 4;
    unsigned bytes, t, nth, product, extended, mask = 0xf0f0a5u ^ threadIdx.x;
    asm("cvt.pack.sat.s8.s32.b32 %0, %2, %3, 0;\ncvt.pack.sat.s8.s32.b32 %1, %4, %5, %0;" : "=&r"(t), "=r"(bytes) : "r"(v[3] * 9 - 400), "r"(v[2] * 9 - 400), "r"(v[1] * 9 - 400), "r"(v[0] * 9 - 400));
    asm("fns.b32 %0, %1, 3, 2;" : "=r"(nth) : "r"(mask));
    asm("mad24.lo.s32 %0, %1, -7, 5;" : "=r"(product) : "r"(v[0]));
    asm("szext.wrap.s32 %0, %1, 37;" : "=r"(extended) : "r"(v[1]));
    asm("{ .local .align 4 .b32 first[2], second[2]; st.local.b32 [second], 9; st.local.b32 [first+4], %1; ld.local.b32 %0, [first+4]; }" : "=r"(extended) : "r"(extended));
    unsigned *o = out + threadIdx.x * 4;
    o[0] = bytes, o[1] = nth, o[2] = product, o[3] = extended;
}

/* An array of the size that the thread finds out, in its own memory. */
KERNEL own_array(const int *in, int *out, int most)
{
    const int n = 1 + in[threadIdx.x] % most;
    int *a;
    asm volatile("{ .reg .b64 t; alloca.u64 t, %1, 16; cvta.local.u64 %0, t; }" : "=l"(a) : "l"(n * sizeof *a)); /* what alloca() becomes */
    for (int i = 0; i < n; i++)
        a[i] = in[(threadIdx.x + i) % 64];
    for (int i = 1; i < n; i++) /* sorted in place */
        for (int j = i; j > 0 && a[j - 1] > a[j]; j--) {
            int x = a[j];
            a[j] = a[j - 1];
            a[j - 1] = x;
        }
    out[threadIdx.x] = a[n / 2];
}
