/* bench 1
op: conv2d
what: Winograd F(2x2, 3x3) on Hopper's tensor cores - inputs are transformed in registers, 20 products instead of 36
from: wgmma_rs
needs:
  - r == 3 and s == 3 and stride == 1 and dilation == 1 and groups == 1 and c <= 64
  - c % 8 == 0 and k % 8 == 0                          # 16 bytes of a pixel: TMA's granularity
  - c * h * w < 2147483648 and k * p * q < 2147483648
layout: {input: NHWC, filter: KRSC, output: NHWC}
dtype: {input: f16, output: f16, bias: f32, accumulate: f32}
algorithm: winograd
epilogue: [bias, relu, leaky_relu]
ablate: [store, maths]
let:
  strips: ceil(q, 64)
  bands: ceil(p, 4)                                    # 4 rows by 64 columns are what a warpgroup computes at once
  units: n * strips * bands
  blocks_k: ceil(k, 64)
  blocks: max(1, min(units, floor(sm_count, blocks_k)))
  smem: 1024 + 14 * 8192 + 6 * 18432 + 256 + 24 + 6 * 16 # weights, image rows, bias, barriers
where:
  - cc == 90
  - smem <= smem_per_block_optin
define:
  PAD_MORE: pad_left - pad_top                         # of columns, beside that of rows
  TYPE: type(input)
  CHANNELS: c
  EPI_BIAS: has(bias)
  EPI_SLOPE: slope(epilogue)
tensor_maps:
  input_map: {of: input, box: "64, 66, 1, 1", swizzle: 128, l2: 256}
scratch:
  transformed: input[blocks_k * 57344]
prepare:
  - kernel: transform_filter
    grid: blocks_k * 16
    block: 256
    args: filter, transformed, c, k
steps:
  - kernel: conv_winograd_rs
    grid: blocks, blocks_k
    block: 384
    smem: smem
    args: input_map, transformed, bias, output, k, p, q, pad_top, strips, bands, units
*/

/* What changed from wgmma_rs: the number of products. Four outputs (2 x 2) of a 3x3 convolution are 36 products of a pair of channels, and 16 with Winograd's F(2x2, 3x3)
 * (conv2d/winograd has the transforms). Here they are 20. Points 1 and 2 across, which both columns of outputs need, are transformed down as well: 4 products each.
 * Points 0 and 3 belong to one column each. They are multiplied by the filter's three rows, 6 products each, and so add to the outputs' own sums.
 *
 * A warpgroup computes 2 x 32 tiles: 4 rows by 64 columns of outputs, 64 channels. Tiles are the rows of its products, and
 * the left operand is in registers: a lane loads pixels of its two tiles from shared memory and adds them, two halves at
 * once. Transformed inputs are not stored. The products of points 1 and 2 have a sum each; then these are replaced by their
 * sum and difference, to which the products of the outer points add. So four sums are enough, 128 registers of a thread.
 *
 * Cycles of an SM for a tile with 64 channels in and out: tensor cores 40 (a direct convolution: 72). Shared memory 46: 20 for the weights, which every product reads, 22
 * for pixels, 4 for the arrival of image rows. Instructions 20. Stores use the same L1 as shared memory: 8 more. So shared memory is the limit. With more than 64 channels
 * the weights, 112 KiB for 64 by 64, would have to be loaded from L2 repeatedly: 14 bytes per cycle, and the pixels once for each stage.
 *
 * With two warpgroups an SM has few warps to hide latency. Pixels are loaded a batch of products ahead, before the products of this batch are issued; two batches are in
 * flight; outputs of the left column are stored during the last products of the right one. The rest: a store, and memory accesses without products, take most of the time
 * each and overlap only in part. Prefetching rows to L2 makes it slower. On an H200 it is a few per cent faster than wgmma_rs on large images of 56 or 64 channels, and
 * slower on small ones and with fewer channels.
 *
 * Rounding: two additions of inputs and the filter's transform round to f16. The error is about twice that of the stored f16 (`algorithm: winograd` sets the bound); inputs
 * beyond 16,000 overflow. A residual is not fused: its loads would come between the last products and the stores. */
#include "element/element.cuh"
#include "element/epilogue.cuh"
#include "tensor_core/wgmma.cuh"

constexpr int ROW_BYTES = 72 * 128;    /* 66 pixels of 64 channels; a multiple of 1024, so that the swizzle depends on the column only */
constexpr int BOX_BYTES = 66 * 128;
constexpr int SLOTS = 6; /* of two image rows */
constexpr int MATRIX = 8192, MATRICES = 14; /* 64 output channels by 64 channels */
constexpr int CHUNKS = (CHANNELS + 31) / 32; /* of 32 channels, two products deep */

extern __shared__ unsigned char shared_raw[]; /* up to 1023 bytes in front, weights, slots of two rows, bias, barriers */

/* Where the operands' orders put things: a lane holds 8 neighbouring channels of a pixel, and 8 neighbouring output channels, so that both move as 16 bytes. */
static __device__ __forceinline__ int channel_at(int depth)
{
    int step = depth / 16, i = depth % 16;
    return (step / 2 * 4 + i % 8 / 2) * 8 + (step % 2 * 2 + i / 8) * 2 + i % 2;
}
static __device__ __forceinline__ int output_at(int column) { return column / 32 * 32 + column % 8 / 2 * 8 + column / 8 % 4 * 2 + column % 2; }

/* A matrix is 64 rows (output channels) of 128 bytes, swizzled. 0 .. 3: points 1 and 2 across by 1 and 2 down; 4 .. 7: by 0 and 3 down; 8 .. 10 and 11 .. 13: the filter's
 * rows, points 0 and 3 across. Signs: point 3 is subtracted by its weights. */
extern "C" __global__ void __launch_bounds__(256) transform_filter(const TYPE *filter, TYPE *transformed, int C, int K)
{
    int i = blockIdx.x * 256 + threadIdx.x, depth = i % 64, column = i / 64 % 64, block = i / 4096;
    int c = channel_at(depth), k = block * 64 + output_at(column);
    TYPE *to = transformed + (size_t)block * (MATRICES * 4096) + column * 64 + (depth / 8 ^ column % 8) * 8 + depth % 8;
    float across[4][3]; /* [point][row] */
#pragma unroll
    for (int r = 0; r < 3; r++) {
        float g[3];
#pragma unroll
        for (int s = 0; s < 3; s++)
            g[s] = c < C && k < K ? to_f32(filter[((size_t)k * 9 + r * 3 + s) * C + c]) : 0.0f;
        across[0][r] = g[0];
        across[1][r] = 0.5f * (g[0] + g[1] + g[2]);
        across[2][r] = 0.5f * (g[0] - g[1] + g[2]);
        across[3][r] = -g[2];
    }
#pragma unroll
    for (int j = 0; j < 2; j++) {
        const float *g = across[1 + j];
        const float down[4] = {0.5f * (g[0] + g[1] + g[2]), 0.5f * (g[0] - g[1] + g[2]), g[0], -g[2]};
#pragma unroll
        for (int m = 0; m < 4; m++)
            to[(m / 2 * 4 + j * 2 + m % 2) * 4096] = from_f32<TYPE>(down[m]);
#pragma unroll
        for (int r = 0; r < 3; r++)
            to[(8 + j * 3 + r) * 4096] = from_f32<TYPE>(across[j * 3][r]);
    }
}

/* volatile: what a product reads must be there before wgmma_begin, and the compiler would compute it after. */
static __device__ __forceinline__ unsigned add_two(unsigned a, unsigned b)
{
    unsigned v;
    asm volatile("add.rn.f16x2 %0, %1, %2;" : "=r"(v) : "r"(a), "r"(b));
    return v;
}
static __device__ __forceinline__ unsigned sub_two(unsigned a, unsigned b)
{
    unsigned v;
    asm volatile("sub.rn.f16x2 %0, %1, %2;" : "=r"(v) : "r"(a), "r"(b));
    return v;
}
static __device__ __forceinline__ void load_words(unsigned v[4], unsigned address)
{
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "r"(address) : "memory");
}

/* What the block does: units first .. end - 1, bands of a strip one after another; a run of them in one strip needs two slots each, and one more. */
struct share {
    int first, end, bands, strips;
};
struct places {
    unsigned weights, slots, bias, come, full, empty; /* come: 3 barriers, of the weights in the order of use */
};

static __device__ __forceinline__ void ask_weights(const places &at, const TYPE *from, int part) /* in the order of use */
{
    int matrix = part * 4, bytes = (part < 2 ? 4 : 6) * MATRIX;
    barrier_arrive_expect(at.come + part * 8, bytes);
    copy_bytes(at.weights + matrix * MATRIX, from + matrix * 4096, bytes, at.come + part * 8);
}

static __device__ __forceinline__ void produce(const places &at, const share &own, const tensor_map *map, const TYPE *weights, int pad)
{
    ask_weights(at, weights, 0);
    unsigned i = 0;
    for (int u = own.first; u < own.end;) {
        int strip = u / own.bands, end = min(own.end, (strip + 1) * own.bands), y = (u - strip * own.bands) * 4 - pad;
        int image = strip / own.strips, x = strip % own.strips * 64 - pad - PAD_MORE;
        for (int left = 2 * (end - u) + 1; left > 0; left--, i++, y += 2) {
            unsigned slot = i % SLOTS, to = at.slots + slot * (2 * ROW_BYTES), full = at.full + slot * 8;
            barrier_wait(at.empty + slot * 8, i / SLOTS & 1 ^ 1);
            barrier_arrive_expect(full, 2 * BOX_BYTES);
            copy_box_4d(to, map, full, 0, x, y, image);
            copy_box_4d(to + ROW_BYTES, map, full, 0, x, y + 1, image);
            if (i == 2)
                for (int part = 1; part < 3; part++)
                    ask_weights(at, weights, part);
        }
        u = end;
    }
}

/* Two pixels of some image rows, 8 channels of each. They are loaded a batch of products ahead. */
template <int ROWS> struct pixels {
    unsigned a[ROWS][4], b[ROWS][4];
    __device__ __forceinline__ void load(const unsigned slot[3], int first, int step, unsigned column_a, unsigned column_b)
    {
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
            int y = first + i * step;
            load_words(a[i], slot[y / 2] + column_a + y % 2 * ROW_BYTES);
            load_words(b[i], slot[y / 2] + column_b + y % 2 * ROW_BYTES);
        }
    }
};
/* Operands are of two products, of words 0 and 1 of a pixel's chunk and of words 2 and 3; the upper tile's word is followed by the lower tile's. */
using operand = unsigned[2][4];
static __device__ __forceinline__ unsigned &word(operand v, int i, int tile) { return v[i / 2][i % 2 * 2 + tile]; }

/* The compiler moves nothing across: it would put the next operands, and so their wait for shared memory, between these products. Nobody leaves here. */
static __device__ __forceinline__ void keep_order()
{
    asm volatile("{\n.reg .pred p;\nsetp.eq.u32 p, %0, 0;\n@p exit;\n}" ::"r"(blockDim.x) : "memory");
}
/* Ends a batch of products. On return the batch before is done, so that its operands' registers are free. */
static __device__ __forceinline__ void end_products(bool order = true)
{
    wgmma_commit();
    if (order)
        keep_order();
    wgmma_wait<1>();
}
/* Two products of chunk q. */
static __device__ __forceinline__ void multiply(float sum[32], const unsigned v[2][4], unsigned long long matrix, int q, bool add)
{
#ifdef ABLATE_MATHS
#pragma unroll
    for (int i = 0; i < 8; i++)
        sum[i] += __uint_as_float(v[i / 4][i % 4]);
#else
    wgmma_registers<TYPE, 64>(sum, v[0], matrix + q * 4, add);
    wgmma_registers<TYPE, 64>(sum, v[1], matrix + q * 4 + 2, true);
#endif
}
/* Sums that the next products define: without this the compiler defines them between products. */
static __device__ __forceinline__ void undefined(float d[32])
{
#pragma unroll
    for (int i = 0; i < 32; i++)
        asm volatile("mov.f32 %0, 0f00000000;" : "=f"(d[i]));
}
static __device__ __forceinline__ void pin(float d[32])
{
#pragma unroll
    for (int i = 0; i < 32; i++)
        asm volatile("" : "+f"(d[i]));
}
/* a + b and a - b */
static __device__ __forceinline__ void cross(float a[32], float b[32])
{
#pragma unroll
    for (int i = 0; i < 32; i++) {
        asm volatile("add.f32 %0, %0, %1;\nfma.rn.f32 %1, %1, 0fC0000000, %0;" : "+f"(a[i]), "+f"(b[i]));
    }
}

/* Points 1 and 2 across of row y. */
template <int ROWS> static __device__ __forceinline__ void across(unsigned h[2][ROWS][4], const pixels<ROWS> &d, int y)
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
        h[0][y][i] = add_two(d.a[y][i], d.b[y][i]);
        h[1][y][i] = sub_two(d.b[y][i], d.a[y][i]);
    }
}

/* Points 1 and 2 across, 1 and 2 down, of rows 1 .. 4: operands of sum[0], sum[1] (point 1 across) and sum[2], sum[3] (point 2). */
static __device__ __forceinline__ void inner(operand v[4], const pixels<4> &d)
{
    unsigned h[2][4][4]; /* [point across][row][word] */
#pragma unroll
    for (int y = 0; y < 4; y++) {
        across(h, d, y);
        if (y % 2 == 1)
#pragma unroll
            for (int j = 0; j < 2; j++)
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    word(v[2 * j], i, y / 2) = add_two(h[j][y - 1][i], h[j][y][i]);
                    word(v[2 * j + 1], i, y / 2) = sub_two(h[j][y][i], h[j][y - 1][i]);
                }
    }
}
static __device__ __forceinline__ void multiply_inner(float sum[4][32], const operand v[4], unsigned long long matrices, int q)
{
    wgmma_begin();
#pragma unroll
    for (int i = 0; i < 4; i++)
        multiply(sum[i], v[i], matrices + i * (MATRIX / 16), q, EPI_BIAS && i == 0 || q > 0);
    end_products();
}
/* Points 1 and 2 across; point 0 down of rows 0, 2, 4, for the upper rows of outputs, or point 3 of rows 1, 3, 5, for the lower. */
static __device__ __forceinline__ void outer(operand v[2], const pixels<3> &d)
{
    unsigned h[2][3][4];
#pragma unroll
    for (int y = 0; y < 3; y++) {
        across(h, d, y);
        if (y > 0)
#pragma unroll
            for (int j = 0; j < 2; j++)
#pragma unroll
                for (int i = 0; i < 4; i++)
                    word(v[j], i, y - 1) = sub_two(h[j][y - 1][i], h[j][y][i]);
    }
}
static __device__ __forceinline__ void multiply_outer(float one[32], float two[32], const operand v[2], unsigned long long matrices, int q)
{
    wgmma_begin();
    multiply(one, v[0], matrices, q, true);
    multiply(two, v[1], matrices + 2 * (MATRIX / 16), q, true);
    end_products();
}
/* Points 0 and 3 across are not transformed down: three products for each row of outputs. First for image rows 0 .. 3, of which rows 2 and 3 stay in h, then
 * with rows 4 and 5. */
static __device__ __forceinline__ void first(operand v[2], unsigned h[2][4], const pixels<4> &d)
{
#pragma unroll
    for (int y = 0; y < 4; y++)
#pragma unroll
        for (int i = 0; i < 4; i++) {
            unsigned x = word(v[y % 2], i, y / 2) = sub_two(d.a[y][i], d.b[y][i]);
            if (y > 1)
                h[y - 2][i] = x;
        }
}
static __device__ __forceinline__ void last(operand v[2], const unsigned h[2][4], const pixels<2> &d)
{
#pragma unroll
    for (int y = 0; y < 2; y++)
#pragma unroll
        for (int i = 0; i < 4; i++) {
            word(v[y], i, 0) = h[y][i];
            word(v[y], i, 1) = sub_two(d.a[y][i], d.b[y][i]);
        }
}
static __device__ __forceinline__ void multiply_first(float upper[32], float lower[32], const operand v[2], unsigned long long matrices, int q)
{
    wgmma_begin();
    multiply(upper, v[0], matrices, q, true);
    multiply(upper, v[1], matrices + MATRIX / 16, q, true);
    multiply(lower, v[1], matrices, q, true);
    end_products();
}
static __device__ __forceinline__ void multiply_last(float upper[32], float lower[32], const operand v[2], unsigned long long matrices, int q,
                                                     bool order = true)
{
    wgmma_begin();
    multiply(upper, v[0], matrices + 2 * (MATRIX / 16), q, true);
    multiply(lower, v[0], matrices + MATRIX / 16, q, true);
    multiply(lower, v[1], matrices + 2 * (MATRIX / 16), q, true);
    end_products(order);
}

/* The outputs of a lane at one pixel of both of its tiles: two times 8 channels each. */
struct target {
    TYPE *output;
    int below;               /* from the upper tile to the lower, in elements */
    bool inside[2], half[2]; /* tile; channels */
};
static __device__ __forceinline__ void store(const float sum[32], const target &to)
{
#pragma unroll
    for (int tile = 0; tile < 2; tile++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            uint4 v;
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const float *from = sum + (half * 4 + i) * 4 + tile * 2;
                reinterpret_cast<unsigned *>(&v)[i] =
                    EPI_SLOPE == 0 ? relu_of<TYPE>(two_of<TYPE>(from[0], from[1])) : two_of<TYPE>(activate(from[0]), activate(from[1]));
            }
#ifdef ABLATE_STORE
            if (v.x == 0x7fff7fff)
#else
            if (to.inside[tile] && to.half[half])
#endif
                *reinterpret_cast<uint4 *>(to.output + tile * to.below + half * 32) = v;
        }
}

/* Where a lane's pixels lie in an image row: four of its tiles, two chunks of channels. */
using columns = unsigned[4][2];

static __device__ __forceinline__ void begin_sums(float sum[4][32], unsigned bias)
{
#pragma unroll
    for (int j = 0; j < 8; j++) {
        float2 b = EPI_BIAS ? load_shared_2(bias + (j / 4 * 32 + threadIdx.x % 4 * 8 + j % 4 * 2) * 4) : make_float2(0, 0);
        sum[0][j * 4] = sum[0][j * 4 + 2] = b.x; /* point (1, 1) is part of all four outputs */
        sum[0][j * 4 + 1] = sum[0][j * 4 + 3] = b.y;
    }
    pin(sum[0]);
#pragma unroll
    for (int j = EPI_BIAS ? 1 : 0; j < 4; j++)
        undefined(sum[j]);
}

/* All products of points 1 and 2 across. On return sum[r + 2 c] is what they add to row r and column c of the outputs; `next` holds the first pixels of point 0. */
static __device__ __forceinline__ void multiply_middle(float sum[4][32], pixels<4> &next, const unsigned slot[3], const columns &column, const places &at)
{
    unsigned long long matrices = matrix_rows_128(at.weights);
    barrier_wait(at.come, 0);
    keep_order(); /* here, where no product is on its way: the compiler waits for them before the first exit of all */
    pixels<3> three;
    next.load(slot, 1, 1, column[1][0], column[2][0]);
#pragma unroll
    for (int q = 0; q < CHUNKS; q++) {
        operand v[4];
        inner(v, next);
        if (q + 1 < CHUNKS)
            next.load(slot, 1, 1, column[1][q + 1], column[2][q + 1]);
        else
            three.load(slot, 0, 2, column[1][0], column[2][0]);
        multiply_inner(sum, v, matrices, q);
    }
    wgmma_wait<0>();
    barrier_wait(at.come + 8, 0);
    cross(sum[0], sum[1]);
    cross(sum[2], sum[3]);
#pragma unroll
    for (int i = 0; i < 2 * CHUNKS; i++) { /* chunk i / 2, end i % 2 */
        operand v[2];
        outer(v, three);
        if (i + 1 < 2 * CHUNKS)
            three.load(slot, (i + 1) % 2, 2, column[1][(i + 1) / 2], column[2][(i + 1) / 2]);
        else
            next.load(slot, 0, 1, column[0][0], column[2][0]);
        multiply_outer(sum[i % 2], sum[2 + i % 2], v, matrices + (4 + i % 2) * (MATRIX / 16), i / 2);
    }
    wgmma_wait<0>();
    barrier_wait(at.come + 16, 0);
    cross(sum[0], sum[2]);
    cross(sum[1], sum[3]);
}

/* A warp has read slot i. Every slot counts two readers. */
static __device__ __forceinline__ void release(const places &at, unsigned i, int readers)
{
    __syncwarp();
    if (threadIdx.x % 32 == 0)
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], %1;" ::"r"(at.empty + i % SLOTS * 8), "r"(readers) : "memory");
}

/* All products of points 0 and 3 across; the last of them are on their way on return. i: the first slot; begins, ends: nobody else reads it, or the last. */
static __device__ __forceinline__ void multiply_ends(float sum[4][32], pixels<4> &four, const unsigned slot[3], const columns &column, const places &at, unsigned i,
                                                     bool begins, bool ends)
{
    unsigned long long left = matrix_rows_128(at.weights) + 8 * (MATRIX / 16), right = left + 3 * (MATRIX / 16);
    pixels<2> two;
    unsigned h[CHUNKS][2][4];
#pragma unroll
    for (int q = 0; q < CHUNKS; q++) {
        operand v[2], w[2];
        first(v, h[q], four);
        two.load(slot, 4, 1, column[0][q], column[2][q]);
        multiply_first(sum[0], sum[1], v, left, q);
        last(w, h[q], two);
        if (q + 1 < CHUNKS)
            four.load(slot, 0, 1, column[0][q + 1], column[2][q + 1]);
        else
            four.load(slot, 0, 1, column[1][0], column[3][0]);
        multiply_last(sum[0], sum[1], w, left, q);
    }
#pragma unroll
    for (int q = 0; q < CHUNKS; q++) {
        operand v[2];
        first(v, h[q], four);
        if (q + 1 < CHUNKS)
            four.load(slot, 0, 1, column[1][q + 1], column[3][q + 1]);
        else
            two.load(slot, 4, 1, column[1][0], column[3][0]);
        multiply_first(sum[2], sum[3], v, right, q);
    }
    release(at, i, 1 + begins);
    release(at, i + 1, 2);
#pragma unroll
    for (int q = 0; q < CHUNKS; q++) {
        operand v[2];
        last(v, h[q], two);
        if (q + 1 < CHUNKS)
            two.load(slot, 4, 1, column[1][q + 1], column[3][q + 1]);
        multiply_last(sum[2], sum[3], v, right, q, false); /* behind a release the compiler would wait for all products */
    }
    release(at, i + 2, 1 + ends);
}

static __device__ __forceinline__ void consume(const places &at, const share &own, TYPE *output, int K, int P, int Q)
{
    int me = warpgroup_index() - 1, warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32, t = lane % 4, g = lane / 4;
    int x = warp * 16 + (g & 4 | g << 1 & 2 | g >> 1 & 1) * 2; /* tiles in this order: the 8 lanes that load at once meet 8 banks of 16 bytes */
    columns column;
#pragma unroll
    for (int j = 0; j < 8; j++)
        column[j / 2][j % 2] = (x + j / 2) * 128 + ((j % 2 * 4 + t) ^ (x + j / 2 & 7)) * 16;
    int k = blockIdx.y * 64 + t * 8;
    for (int u = own.first + me; u < own.end; u += 2) {
        int strip = u / own.bands, band = u - strip * own.bands;
        unsigned i = 2 * (u - own.first) + strip - own.first / own.bands, slot[3];
#pragma unroll
        for (int s = 0; s < 3; s++) {
            slot[s] = at.slots + (i + s) % SLOTS * (2 * ROW_BYTES);
            barrier_wait(at.full + (i + s) % SLOTS * 8, (i + s) / SLOTS & 1);
        }
        float sum[4][32]; /* points 1 and 2 across, two rows each; then columns 0 and 1 of outputs */
        pixels<4> next;
        begin_sums(sum, at.bias);
        multiply_middle(sum, next, slot, column, at);
        multiply_ends(sum, next, slot, column, at, i, u == own.first || band == 0, u + 1 == own.end || band + 1 == own.bands);
        int p = band * 4, q = strip % own.strips * 64 + x, row = Q * K;
        TYPE *pixel = output + (size_t)(strip / own.strips) * P * row + (p * Q + q) * K + k;
#pragma unroll
        for (int i = 0; i < 4; i++) { /* column 0 while the last products of column 1 are on their way */
            if (i == 2)
                wgmma_wait<0>();
            store(sum[i], {pixel + i % 2 * row + i / 2 * K, 2 * row, {p + i % 2 < P && q + i / 2 < Q, p + i % 2 + 2 < P && q + i / 2 < Q}, {k < K, k + 32 < K}});
        }
    }
}

extern "C" __global__ void __launch_bounds__(384, 1)
conv_winograd_rs(const __grid_constant__ tensor_map input_map, const TYPE *transformed, const float *bias, TYPE *output, int K, int P, int Q, int pad, int strips, int bands,
                 int units)
{
    unsigned base = (shared_address(shared_raw) + 1023) / 1024 * 1024, slots = base + MATRICES * MATRIX, end = slots + SLOTS * (2 * ROW_BYTES);
    const places at = {base, slots, end, end + 256, end + 280, end + 280 + SLOTS * 8};
    if (threadIdx.x == 0) {
        for (int i = 0; i < 3; i++)
            barrier_init(at.come + i * 8, 1);
        for (int i = 0; i < SLOTS; i++) {
            barrier_init(at.full + i * 8, 1);
            barrier_init(at.empty + i * 8, 8); /* two readers of four warps */
        }
        barrier_init_done();
    }
    if (EPI_BIAS && threadIdx.x < 64) {
        int k = blockIdx.y * 64 + threadIdx.x;
        store_shared(at.bias + threadIdx.x * 4, __float_as_uint(k < K ? bias[k] : 0.0f));
    }
    __syncthreads();
    const share own = {(int)((long long)units * blockIdx.x / gridDim.x), (int)((long long)units * (blockIdx.x + 1) / gridDim.x), bands, strips};
    if (threadIdx.x < 128) {
        give_registers<24>();
        if (threadIdx.x == 0)
            produce(at, own, &input_map, transformed + (size_t)blockIdx.y * (MATRICES * 4096), pad);
    } else {
        take_registers<240>();
        consume(at, own, output, K, P, Q);
    }
}
