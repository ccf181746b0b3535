/* volume/tile: a tile of a three-dimensional convolution, NDHWC. A block is TD x TH x 32 outputs and KPT output channels; a warp has rows of the tile, a lane a
 * column. The inputs that the tile reads are staged in shared memory, CC channels at a time, with the filters of these channels. Each thread keeps
 * VOXELS x KPT sums: one staged input meets KPT filter values, which all lanes read together, and one filter value meets VOXELS inputs.
 * Needs INPUT_T, OUTPUT_T, FILTER_D, R, S, STRIDE, PAD, TD, TH, CC, KPT, WARPS, VEC_IN, VEC_OUT (divides KPT and K) as constants. */
#pragma once
#include "element/element.cuh"
#include "element/epilogue.cuh"

constexpr int ROWS = TD * TH, VOXELS = (ROWS + WARPS - 1) / WARPS;
constexpr int IN_D = (TD - 1) * STRIDE + FILTER_D, IN_H = (TH - 1) * STRIDE + R, IN_W = 31 * STRIDE + S;

struct volume {
    int C, D, H, W, K, O, P, Q; /* input and output */
};
struct volume_place {
    int o, p, q, k; /* first output of the tile */
};

static __device__ __forceinline__ volume_place place_of_block(const volume &v)
{
    int across = (v.Q + 31) / 32, down = (v.P + TH - 1) / TH;
    int tile = blockIdx.x;
    return {tile / across / down * TD, tile / across % down * TH, tile % across * 32, (int)blockIdx.y * KPT};
}

/* keep(z, y, x): is the input inside the image to be read? Others are staged as zeros. VEC_IN: channels of one load. */
template <typename KEEP>
static __device__ __forceinline__ void stage_inputs(const INPUT_T *input, const volume &v, const volume_place &at, int c0, float (*staged)[IN_D * IN_H * IN_W], KEEP keep)
{
    for (int i = threadIdx.y * 32 + threadIdx.x; i < IN_D * IN_H * IN_W * (CC / VEC_IN); i += WARPS * 32) {
        int c = i % (CC / VEC_IN) * VEC_IN, e = i / (CC / VEC_IN);
        int z = at.o * STRIDE - PAD + e / (IN_H * IN_W), y = at.p * STRIDE - PAD + e / IN_W % IN_H, x = at.q * STRIDE - PAD + e % IN_W;
        bool inside = c0 + c < v.C && z >= 0 && z < v.D && y >= 0 && y < v.H && x >= 0 && x < v.W && keep(z, y, x);
        pack<INPUT_T, VEC_IN> values;
        if (inside)
            values = load_pack<INPUT_T, VEC_IN>(input + (((size_t)z * v.H + y) * v.W + x) * v.C + c0 + c);
#pragma unroll
        for (int j = 0; j < VEC_IN; j++)
            staged[c + j][e] = inside ? to_f32(values.item[j]) : 0.0f;
    }
}

/* Of KPT output channels; filters are stored FILTER_D*R, S, C, K. */
static __device__ __forceinline__ void stage_filters(const INPUT_T *filter, const volume &v, int k0, int c0, float (*staged)[FILTER_D * R * S][KPT])
{
    for (int i = threadIdx.y * 32 + threadIdx.x; i < CC * FILTER_D * R * S * KPT; i += WARPS * 32) {
        int k = i % KPT, tap = i / KPT % (FILTER_D * R * S), c = i / KPT / (FILTER_D * R * S);
        staged[c][tap][k] = c0 + c < v.C && k0 + k < v.K ? to_f32(filter[((size_t)tap * v.C + c0 + c) * v.K + k0 + k]) : 0.0f;
    }
}

/* Row number j of this thread in the tile. */
static __device__ __forceinline__ int row_of(int j) { return threadIdx.y + j * WARPS; }

static __device__ __forceinline__ void multiply(const float (*inputs)[IN_D * IN_H * IN_W], const float (*filters)[FILTER_D * R * S][KPT], float (&sum)[VOXELS][KPT])
{
    for (int c = 0; c < CC; c++)
#pragma unroll
        for (int t = 0; t < FILTER_D; t++)
#pragma unroll
            for (int r = 0; r < R; r++)
#pragma unroll
                for (int s = 0; s < S; s++) {
                    float f[KPT];
#pragma unroll
                    for (int k = 0; k < KPT; k++)
                        f[k] = filters[c][(t * R + r) * S + s][k];
#pragma unroll
                    for (int j = 0; j < VOXELS; j++) {
                        int row = min(row_of(j), ROWS - 1);
                        float x = inputs[c][((row / TH * STRIDE + t) * IN_H + row % TH * STRIDE + r) * IN_W + threadIdx.x * STRIDE + s];
#pragma unroll
                        for (int k = 0; k < KPT; k++)
                            sum[j][k] = fmaf(x, f[k], sum[j][k]);
                    }
                }
}

/* wanted(o, p, q): is the output to be written? */
template <typename WANTED>
static __device__ __forceinline__ void store_sums(OUTPUT_T *output, const float *bias, const volume &v, const volume_place &at, const float (&sum)[VOXELS][KPT], WANTED wanted)
{
#pragma unroll
    for (int j = 0; j < VOXELS; j++) {
        int row = row_of(j), o = at.o + row / TH, p = at.p + row % TH, q = at.q + threadIdx.x;
        if (row >= ROWS || o >= v.O || p >= v.P || q >= v.Q || !wanted(j))
            continue;
#pragma unroll
        for (int k = 0; k < KPT; k += VEC_OUT) {
            pack<OUTPUT_T, VEC_OUT> out;
#pragma unroll
            for (int i = 0; i < VEC_OUT; i++)
                out.item[i] = from_f32<OUTPUT_T>(epilogue(sum[j][k + i], bias, min(at.k + k + i, v.K - 1)));
            if (at.k + k < v.K)
                store_pack<OUTPUT_T, VEC_OUT>(output + (((size_t)o * v.P + p) * v.Q + q) * v.K + at.k + k, out);
        }
    }
}
