/* sparse/delta_tile: DeltaCNN's convolution of updates, written anew from the published description (Parger et al., "DeltaCNN", CVPR 2022) and for masks of bits: on CUDA
 * cores, in place, a block for every tile of TILE x TILE output pixels whether there is work or not. Its variants:
 *   conv2d/delta_tile         FEW 4 where DeltaCNN has such a path (3x3, stride 1, sums in f32), else and with VERY_SPARSE=0: FEW 0
 *   conv2d/delta_very_sparse  FEW: tiles of at most so many marked inputs are computed input by input, everywhere
 *
 * A block reads the marks of its tile's inputs (halo included) and ends at once if there are none: a skipped tile costs a launch and a few loads, and its outputs are not
 * touched. Otherwise a thread holds all TILE x TILE sums of one output channel (of two adjacent ones, if sums are half2) in registers. Some input channels at a time are
 * copied to shared memory, with zeros where nothing is marked. For every input channel a thread then loads its R * S weights once and multiplies every value into all
 * outputs it belongs to. So the arithmetic of a tile does not depend on its number of active outputs.
 *
 * With a dilation of D a block takes every D-th pixel; for the filter these are adjacent.
 *
 * The output's mask has words of 32 pixels, tiles are TILE wide: a block writes, for its rows, the words that begin in its columns. */
#pragma once
#include "sparse/delta_marks.cuh"


constexpr int CHANNELS = ACC16 ? 64 : 32, VECTOR = 16 / sizeof(staged_t); /* input channels staged at once; values in 16 bytes */
constexpr int LINE = (HALO_W + VECTOR - 1) / VECTOR * VECTOR, PLANE = HALO_H * LINE + VECTOR; /* in shared memory, of a row and of a channel */
constexpr int LOADED = C % 4 == 0 ? 4 : 1;                                                    /* channels in one load */
constexpr int STAGED_BYTES = CHANNELS * PLANE * (int)sizeof(staged_t), PARTS_BYTES = FEW * (TAPS * THREADS + CHANNELS) * (int)sizeof(sum_t);

static __shared__ __align__(16) unsigned char space[STAGED_BYTES > PARTS_BYTES ? STAGED_BYTES : PARTS_BYTES];
static __shared__ unsigned short few[FEW + 1];                   /* which inputs are marked */

static __device__ __forceinline__ const TYPE *pixel_of(const TYPE *input, const tile &at, int i, int W)
{
    return input + ((long long)(at.y + i / HALO_W * DILATION) * W + at.x + i % HALO_W * DILATION) * C;
}

/* Channels c0 .. of the whole tile, as [channel][row][column]; zeros where nothing is marked. */
static __device__ __forceinline__ void stage(staged_t *to, const TYPE *input, const tile &at, int c0, int W)
{
    constexpr int LANES = CHANNELS / LOADED; /* for a pixel */
#pragma unroll 1 /* more loads at once do not fit into the registers of twelve blocks */
    for (int e = threadIdx.x; e < INPUTS * LANES; e += THREADS) {
        int i = e / LANES, c = e % LANES * LOADED;
        pack<TYPE, LOADED> v;
        bool marked = marks[i / 32] >> (i % 32) & 1;
        if (marked && c0 + c < C)
            v = load_pack<TYPE, LOADED>(pixel_of(input, at, i, W) + c0 + c);
#pragma unroll
        for (int j = 0; j < LOADED; j++)
            to[(c + j) * PLANE + i / HALO_W * LINE + i % HALO_W] = marked && c0 + c < C ? to_staged(v.item[j]) : staged_t(0.0f);
    }
}

/* filter: the thread's own channels of input channel c0. */
static __device__ __forceinline__ void multiply_tile(sum_t sum[TILE][TILE], const staged_t *from, const TYPE *filter, int channels, int K)
{
#pragma unroll 1
    for (int c = 0; c < channels; c++, from += PLANE, filter += (size_t)TAPS * K) {
        weight_t w[TAPS];
#pragma unroll
        for (int i = 0; i < TAPS; i++)
            w[i] = load_weight(filter + (size_t)i * K);
#pragma unroll
        for (int y = 0; y < HALO_H; y++) {
            pack<staged_t, VECTOR> row[LINE / VECTOR];
#pragma unroll
            for (int i = 0; i < LINE / VECTOR; i++)
                row[i] = load_pack<staged_t, VECTOR>(from + y * LINE + i * VECTOR);
#pragma unroll
            for (int r = 0; r < R; r++)
                if (output_of(y, r, R) >= 0 && output_of(y, r, R) < TILE)
#pragma unroll
                    for (int s = 0; s < S; s++)
#pragma unroll
                        for (int x = 0; x < HALO_W; x++)
                            if (output_of(x, s, S) >= 0 && output_of(x, s, S) < TILE)
                                sum[output_of(y, r, R)][output_of(x, s, S)] =
                                    multiply_add(row[x / VECTOR].item[x % VECTOR], w[r * S + s], sum[output_of(y, r, R)][output_of(x, s, S)]);
        }
    }
}

#if FEW
/* For at most FEW marked inputs: a thread computes each input's product for each tap, and then adds for every active output the products that belong to
 * it. It loads the same weights as for a whole tile, but computes only count * R * S products for each input channel. */
static __device__ __forceinline__ void multiply_few(const tile &at, const TYPE *input, const TYPE *filter, const result &to, int count, int W)
{
    staged_t *values = reinterpret_cast<staged_t *>(space);                                  /* [CHANNELS][FEW] */
    sum_t *parts = reinterpret_cast<sum_t *>(space + FEW * CHANNELS * sizeof(sum_t)); /* [FEW][TAPS][THREADS] */
    if (threadIdx.x == 0) {
        int n = 0;
        for (int i = 0; i < (INPUTS + 31) / 32; i++)
            for (unsigned bits = marks[i]; bits; bits &= bits - 1)
                few[n++] = i * 32 + __ffs(bits) - 1;
    }
    sum_t sum[FEW][TAPS];
#pragma unroll
    for (int i = 0; i < FEW * TAPS; i++)
        sum[i / TAPS][i % TAPS] = no_sum();
#pragma unroll 1
    for (int c0 = 0; c0 < C; c0 += CHANNELS) {
        __syncthreads();
        for (int e = threadIdx.x; e < count * CHANNELS; e += THREADS) {
            int c = e % CHANNELS, i = e / CHANNELS;
            values[c * FEW + i] = c0 + c < C ? to_staged(pixel_of(input, at, few[i], W)[c0 + c]) : staged_t(0.0f);
        }
        __syncthreads();
#pragma unroll 2
        for (int c = 0; c < min(CHANNELS, C - c0); c++) {
            weight_t w[TAPS];
#pragma unroll
            for (int i = 0; i < TAPS; i++)
                w[i] = load_weight(filter + ((size_t)(c0 + c) * TAPS + i) * to.K);
#pragma unroll
            for (int n = 0; n < FEW; n++)
                if (n < count) {
                    staged_t x = values[c * FEW + n];
#pragma unroll
                    for (int i = 0; i < TAPS; i++)
                        sum[n][i] = multiply_add(x, w[i], sum[n][i]);
                }
        }
    }
#pragma unroll
    for (int i = 0; i < FEW * TAPS; i++)
        parts[i * THREADS + threadIdx.x] = sum[i / TAPS][i % TAPS];
    __syncwarp(); /* each thread reads its own; this keeps the compiler from moving the loads */
#pragma unroll 1
    for (int o = 0; o < TILE * TILE; o++) {
        if (!(active[o / 32] >> (o % 32) & 1))
            continue;
        sum_t all = no_sum();
        for (int n = 0; n < count; n++) {
            int r = tap_of(few[n] / HALO_W, o / TILE, R), s = tap_of(few[n] % HALO_W, o % TILE, S);
            if (r >= 0 && r < R && s >= 0 && s < S)
                all = add(all, parts[(n * TAPS + r * S + s) * THREADS + threadIdx.x]);
        }
        to.store(at, o / TILE, o % TILE, all);
    }
}
#endif

/* Most blocks only read marks, so the number of blocks on an SM decides the time of an empty mask. The usual case, f32 and 3x3, needs 96 registers and gets 80: 6
 * % less time on an H200 at 720p without marks, 3 % more with work. 0: the compiler decides; with a stride, in half2 or with a large filter it would otherwise
 * spill rather than have fewer blocks. */
constexpr int RESIDENT = FEW && STRIDE > 1                                           ? 640 / THREADS
                         : ACC16                                                     ? (FEW ? 512 / THREADS : 0)
                         : TILE == 6 && TAPS == 9 && THREADS == 64 && FEW <= 4       ? 12
                         : TAPS > 9 && THREADS == 32                                 ? 512 / THREADS
                                                                                     : 0;
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT)
conv_delta(const TYPE *input, const TYPE *filter, const float *bias, const unsigned *mask_in, unsigned *mask_out, TYPE *output, int H, int W, int K, int P, int Q,
           int pad)
{
    int k;
    tile at = begin(k, pad);
    mask_in += (size_t)at.n * H * ((W + 31) / 32), mask_out += (size_t)at.n * P * ((Q + 31) / 32);
    int count = look(at, mask_in, mask_out, H, W, P, Q, pad);
    if (count == 0)
        return;
    result to = {bias, output + (size_t)at.n * K * P * Q, k, K, P, Q};
    input += (size_t)at.n * C * H * W;
    filter += k < K ? k : 0; /* a thread without a channel computes another's and stores nothing */
#if FEW
    if (count <= FEW) {
        multiply_few(at, input, filter, to, count, W);
        return;
    }
#endif
    staged_t *staged = reinterpret_cast<staged_t *>(space);
    sum_t sum[TILE][TILE];
#pragma unroll
    for (int i = 0; i < TILE * TILE; i++)
        sum[i / TILE][i % TILE] = no_sum();
#pragma unroll 1
    for (int c0 = 0; c0 < C; c0 += CHANNELS) {
        if (c0)
            __syncthreads(); /* the channels before have been read */
        stage(staged, input, at, c0, W);
        __syncthreads();
        multiply_tile(sum, staged, filter + (size_t)c0 * TAPS * K, min(CHANNELS, C - c0), K);
    }
#pragma unroll
    for (int i = 0; i < TILE * TILE; i++)
        if (active[i / 32] >> (i % 32) & 1)
            to.store(at, i / TILE, i % TILE, sum[i / TILE][i % TILE]);
}
