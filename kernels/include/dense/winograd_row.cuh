/* Winograd F(4, 3) along rows in f16: the transforms of filters (a kernel of its own) and of pixels, in the order of wgmma's operands.
 * Needs TYPE, OUTPUTS, D2S_BLOCK, D2S_CRD; DEPTHS, the steps of 16 input channels; SLICE, bytes of weights of a step; PAIR, bytes of two of its matrices;
 * ROW, bytes of every fourth pixel of an image row in shared memory; PHASE, bytes of all rows of one such phase. */
#pragma once
#include "element/element.cuh"

/* The points are 0, +-A, +-B and infinity. */
constexpr float A = 0.75f, B = 1.5f, AA = A * A, BB = B * B;

/* Where the operands' orders put things: a lane holds 4 neighbouring input channels, and 8 neighbouring output channels. step: which 16 of 32 channels. */
static __device__ __forceinline__ int channel_at(int depth, int step) { return (depth % 8 / 4 * 2 + step) * 8 + depth % 4 / 2 * 4 + depth / 8 * 2 + depth % 2; }
static __device__ __forceinline__ int output_at(int column) { return column / 32 * 32 + column % 8 / 2 * 8 + column / 8 % 4 * 2 + column % 2; }

/* The output channel that is channel k here: channels of one line of a depth_to_space lie side by side. */
static __device__ __forceinline__ int filter_of(int k)
{
    constexpr int line = OUTPUTS / D2S_BLOCK, depth = line / D2S_BLOCK;
    return D2S_CRD ? (k % depth * D2S_BLOCK + k / line) * D2S_BLOCK + k % line / depth : k;
}

/* Pair 3 r + j of 16 input channels: of row r of the filter, points 0 and infinity (j = 0), A and -A (1), B and -B (2). */
extern "C" __global__ void __launch_bounds__(256) transform_filter(const TYPE *filter, TYPE *transformed, int C, int K)
{
    int i = blockIdx.x * 256 + threadIdx.x, depth = i % 16, column = i / 16 % 64, slice = i / 1024;
    int c = slice % DEPTHS / 2 * 32 + channel_at(depth, slice % DEPTHS % 2), k = slice / DEPTHS * 64 + output_at(column);
    TYPE *to = transformed + (size_t)slice * (SLICE / 2) + column * 32 + depth % 8;
    int chunk = depth / 8, turn = column / 2 % 4; /* 16 bytes; of 4 */
#pragma unroll
    for (int r = 0; r < 3; r++) {
        float g[3];
#pragma unroll
        for (int s = 0; s < 3; s++)
            g[s] = c < C && k < K ? to_f32(filter[((size_t)filter_of(k) * 9 + r * 3 + s) * C + c]) : 0.0f;
        constexpr float by_a = 1 / (2 * AA * (AA - BB)), by_b = 1 / (2 * BB * (BB - AA));
        const float points[6] = {g[0] * (1 / (AA * BB)), g[2],
                                 (g[0] + A * g[1] + AA * g[2]) * by_a, (g[0] - A * g[1] + AA * g[2]) * by_a,
                                 (g[0] + B * g[1] + BB * g[2]) * by_b, (g[0] - B * g[1] + BB * g[2]) * by_b};
#pragma unroll
        for (int j = 0; j < 6; j++)
            to[(r * 3 + j / 2) * (PAIR / 2) + ((j % 2 * 2 + chunk) ^ turn) * 8] = from_f32<TYPE>(points[j]);
    }
}

/* x * c + y of two halves. c: the bits of a constant, in both. volatile: what a product reads must be there before wgmma_begin, and the compiler would compute it after. */
template <unsigned C> static __device__ __forceinline__ unsigned add_times(unsigned y, unsigned x)
{
    unsigned v;
    asm volatile("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(v) : "r"(x), "r"(C * 0x10001u), "r"(y));
    return v;
}
/* x * c - y */
template <unsigned C> static __device__ __forceinline__ unsigned less_times(unsigned y, unsigned x)
{
    unsigned v;
    asm volatile("{\n.reg .b32 m;\nneg.f16x2 m, %3;\nfma.rn.f16x2 %0, %1, %2, m;\n}" : "=r"(v) : "r"(x), "r"(C * 0x10001u), "r"(y));
    return v;
}
constexpr unsigned H_A = 0x3a00, H_B = 0x3e00, H_AA = 0x3880, H_BB = 0x4080, H_BOTH = 0x41a0 /* AA + BB */, H_AABB = 0x3d10, MINUS = 0x8000;

/* Four channels of the six pixels of a lane's tile, in one image row. */
struct pixels {
    unsigned d[6][2];
    /* turn: 8 times the place of the lane's first pixel, in units of 64 bytes, which the swizzle looks at; chunk: bytes to the lane's channels */
    __device__ __forceinline__ void load(unsigned from, int row, unsigned turn, unsigned chunk)
    {
        unsigned address[2];
#pragma unroll
        for (int i = 0; i < 2; i++)
            address[i] = from + row * ROW + i * 64 + ((turn + (row + i) * 8 & 0x30) ^ chunk);
#pragma unroll
        for (int j = 0; j < 6; j++)
            asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(d[j][0]), "=r"(d[j][1]) : "r"(address[j / 4] + j % 4 * PHASE) : "memory");
    }
};

/* Operands of two points (J: as in transform_filter), rows `upper` and `lower` of the image. The code of the two differs on purpose: otherwise the compiler notices
 * that the lower row is the next product's upper, keeps its results, and runs out of registers. */
template <int J> static __device__ __forceinline__ void transform(unsigned v[2][4], const pixels &upper, const pixels &lower)
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const pixels &from = i % 2 ? lower : upper;
        int w = i / 2;
        if (J == 0 && i % 2) {
            v[0][i] = add_times<H_AABB>(add_times<H_BOTH | MINUS>(from.d[4][w], from.d[2][w]), from.d[0][w]);
            v[1][i] = add_times<H_AABB>(add_times<H_BOTH | MINUS>(from.d[5][w], from.d[3][w]), from.d[1][w]);
        } else if (J == 0) {
            v[0][i] = add_times<H_BOTH | MINUS>(add_times<H_AABB>(from.d[4][w], from.d[0][w]), from.d[2][w]);
            v[1][i] = add_times<H_BOTH | MINUS>(add_times<H_AABB>(from.d[5][w], from.d[1][w]), from.d[3][w]);
        } else {
            constexpr unsigned square = J == 1 ? H_BB : H_AA, point = J == 1 ? H_A : H_B;
            if (i % 2) {
                unsigned even = add_times<square | MINUS>(from.d[4][w], from.d[2][w]), odd = add_times<square | MINUS>(from.d[3][w], from.d[1][w]);
                v[0][i] = add_times<point>(even, odd);
                v[1][i] = add_times<point | MINUS>(even, odd);
            } else {
                unsigned even = less_times<square>(from.d[4][w], from.d[2][w]), odd = less_times<square>(from.d[3][w], from.d[1][w]);
                v[0][i] = less_times<point | MINUS>(even, odd);
                v[1][i] = less_times<point>(even, odd);
            }
        }
    }
}
