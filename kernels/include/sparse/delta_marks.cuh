/* sparse/delta_marks: what the kernels after DeltaCNN's pattern (sparse/delta_tile.cuh) share: a block's tile, the marks of its inputs, the mask of its outputs, and sums of one
 * output channel in f32 or two in half2. Needs TYPE, ACC16, TILE, THREADS, BLOCKS_K, R, S, STRIDE, DILATION as constants. */
#pragma once
#include "element/element.cuh"
#include "element/epilogue.cuh"
#include "element/mask_bits.cuh"

#if ACC16
typedef __half2 sum_t;      /* two output channels */
typedef __half2 weight_t;
typedef __half staged_t;
constexpr int OWN = 2; /* output channels of a thread */
static __device__ __forceinline__ sum_t no_sum() { return __float2half2_rn(0.0f); }
static __device__ __forceinline__ sum_t multiply_add(staged_t x, weight_t w, sum_t sum) { return __hfma2(__half2half2(x), w, sum); }
static __device__ __forceinline__ sum_t multiply_pair(weight_t x, weight_t w, sum_t sum) { return __hfma2(x, w, sum); } /* each of its own x */
static __device__ __forceinline__ sum_t add(sum_t a, sum_t b) { return __hadd2(a, b); }
static __device__ __forceinline__ weight_t load_weight(const TYPE *filter) { return *reinterpret_cast<const __half2 *>(filter); }
static __device__ __forceinline__ staged_t to_staged(TYPE x) { return x; }
static __device__ __forceinline__ float channel(sum_t sum, int i) { return i ? __high2float(sum) : __low2float(sum); }
#else
typedef float sum_t;
typedef float weight_t;
typedef float staged_t;
constexpr int OWN = 1;
static __device__ __forceinline__ sum_t no_sum() { return 0.0f; }
static __device__ __forceinline__ sum_t multiply_add(staged_t x, weight_t w, sum_t sum) { return fmaf(x, w, sum); }
static __device__ __forceinline__ sum_t multiply_pair(weight_t x, weight_t w, sum_t sum) { return fmaf(x, w, sum); }
static __device__ __forceinline__ sum_t add(sum_t a, sum_t b) { return a + b; }
static __device__ __forceinline__ weight_t load_weight(const TYPE *filter) { return to_f32(*filter); }
static __device__ __forceinline__ staged_t to_staged(TYPE x) { return to_f32(x); }
static __device__ __forceinline__ float channel(sum_t sum, int) { return sum; }
#endif

#ifndef TRANSPOSED
#define TRANSPOSED 0 /* 1: conv_transpose2d; needs PAD as a constant, TILE a multiple of STRIDE, no dilation */
#define PAD 0
#endif
#ifndef PAD_MORE
#define PAD_MORE 0 /* of the left side, beside that of the top */
#endif
#ifndef BOTH
#define BOTH 0 /* 1: outputs are active where inputs are marked */
#endif
/* Along an axis: the first input of a tile whose outputs begin at 0, and how many there are. */
static __host__ __device__ constexpr int first_input(int taps) { return TRANSPOSED ? -((taps - 1 - PAD + STRIDE * 64) / STRIDE - 64) : 0; } /* rounds (PAD - taps + 1) / STRIDE up */
static __host__ __device__ constexpr int inputs_of(int taps) { return TRANSPOSED ? (TILE - 1 + PAD) / STRIDE - first_input(taps) + 1 : (TILE - 1) * STRIDE + taps; }
/* The tap through which input y of the tile reaches output p of it; not 0 .. taps - 1: none. */
static __host__ __device__ constexpr int tap_of(int y, int p, int taps) { return TRANSPOSED ? p + PAD - (y + first_input(taps)) * STRIDE : y - p * STRIDE; }
/* The output that input y reaches through tap r, -1: none. */
static __host__ __device__ constexpr int output_of(int y, int r, int taps)
{
    return TRANSPOSED ? (y + first_input(taps)) * STRIDE - PAD + r : y >= r && (y - r) % STRIDE == 0 ? (y - r) / STRIDE : -1;
}
constexpr int TAPS = R * S, HALO_H = inputs_of(R), HALO_W = inputs_of(S), INPUTS = HALO_H * HALO_W;
static __shared__ unsigned marks[(INPUTS + 31) / 32], active[2]; /* of the tile's inputs and outputs, a bit each */

/* Is any input under the filter of output (p, q) marked? */
static __device__ __forceinline__ bool receptive(const unsigned *mask, int p, int q, int H, int words, int pad)
{
    if (BOTH)
        return mask_bits(mask, p, q, H, words) & 1;
    if (TRANSPOSED) { /* inputs ceil((p + pad - R + 1) / STRIDE) .. floor((p + pad) / STRIDE) */
        int y0 = p + pad - R + 1, x0 = q + pad - S + 1, width = (q + pad) / STRIDE - (x0 > 0 ? (x0 + STRIDE - 1) / STRIDE : 0) + 1;
        unsigned any = 0;
        for (int y = y0 > 0 ? (y0 + STRIDE - 1) / STRIDE : 0; y <= (p + pad) / STRIDE; y++)
            any |= mask_bits(mask, y, x0 > 0 ? (x0 + STRIDE - 1) / STRIDE : 0, H, words);
        return (any & ((1ull << width) - 1)) != 0;
    }
    constexpr int REACH = (S - 1) * DILATION + 1;
    unsigned any = 0, taps = 0;
#pragma unroll
    for (int s = 0; s < S && s * DILATION < 32; s++)
        taps |= 1u << s * DILATION;
#pragma unroll
    for (int r = 0; r < R; r++) {
        int y = p * STRIDE - pad + r * DILATION, x = q * STRIDE - (pad + PAD_MORE);
        any |= mask_bits(mask, y, x, H, words) & taps;
        if (REACH > 32)
            for (int s = 31 / DILATION + 1; s < S; s++)
                any |= mask_bits(mask, y, x + s * DILATION, H, words) & 1;
    }
    return any != 0;
}

struct tile {
    int n, p, q, y, x; /* image, first output pixel, first input pixel; the next ones are DILATION further on */
    int columns;       /* where the tile's columns begin, whichever of every DILATION it takes */
    bool writes_mask;  /* one block does for all that have the same pixels */
};

/* The words of the output's mask that begin in these columns. A warp makes a word: a lane a pixel. */
static __device__ __forceinline__ void write_mask(const tile &at, const unsigned *mask_in, unsigned *mask_out, int H, int words, int P, int Q, int pad)
{
    int lane = threadIdx.x % 32, words_out = (Q + 31) / 32;
    for (int word = (at.columns + 31) / 32; word * 32 < at.columns + TILE * DILATION && word < words_out; word++)
#pragma unroll /* the loads of all rows are on their way together */
        for (int j = 0; j < TILE; j += THREADS / 32) {
            int i = j + threadIdx.x / 32, p = at.p + i * DILATION, q = word * 32 + lane;
            unsigned bits = __ballot_sync(~0u, i < TILE && p < P && q < Q && receptive(mask_in, p, q, H, words, pad));
            if (lane == 0 && i < TILE && p < P)
                mask_out[(size_t)p * words_out + word] = bits;
        }
}

constexpr int LOOKS = (INPUTS + THREADS - 1) / THREADS; /* inputs that a thread looks at */

/* Column of the thread's j-th input. */
static __device__ __forceinline__ int column_of(const tile &at, int j) { return at.x + (j * THREADS + threadIdx.x) % HALO_W * DILATION; }
/* The words that the marks of the thread's inputs are in. They are not looked at here, so that nobody waits for the loads yet. */
static __device__ __forceinline__ void load_marks(unsigned word[LOOKS], const tile &at, const unsigned *mask, int H, int W, int words)
{
#pragma unroll
    for (int j = 0; j < LOOKS; j++) {
        int i = j * THREADS + threadIdx.x, y = at.y + i / HALO_W * DILATION, x = column_of(at, j);
        word[j] = i < INPUTS && y >= 0 && y < H && x >= 0 && x < W ? __ldg(mask + (long long)y * words + x / 32) : 0;
    }
}
/* Fills `marks`; how many inputs are marked. */
static __device__ __forceinline__ int share_marks(const unsigned word[LOOKS], const tile &at)
{
    int count = 0;
#pragma unroll
    for (int j = 0; j < LOOKS; j++) {
        int i = j * THREADS + threadIdx.x;
        bool marked = word[j] >> (column_of(at, j) & 31) & 1;
        unsigned bits = __ballot_sync(~0u, marked);
        if (threadIdx.x % 32 == 0 && i < INPUTS)
            marks[i / 32] = bits;
        count += __syncthreads_count(marked);
    }
    return count;
}

/* The block's tile; k: the thread's first output channel. Grid: columns, rows, images times BLOCKS_K blocks of channels. */
static __device__ __forceinline__ tile begin(int &k, int pad)
{
    tile at;
    at.n = blockIdx.z / BLOCKS_K;
    at.columns = blockIdx.x / DILATION * TILE * DILATION;
    at.q = at.columns + blockIdx.x % DILATION, at.p = blockIdx.y / DILATION * TILE * DILATION + blockIdx.y % DILATION;
    at.y = TRANSPOSED ? at.p / STRIDE + first_input(R) : at.p * STRIDE - pad;
    at.x = TRANSPOSED ? at.q / STRIDE + first_input(S) : at.q * STRIDE - (pad + PAD_MORE);
    at.writes_mask = blockIdx.z % BLOCKS_K == 0 && blockIdx.x % DILATION == 0;
    k = (blockIdx.z % BLOCKS_K * THREADS + threadIdx.x) * OWN;
    return at;
}

/* Writes the output's mask, reads the marks; how many inputs are marked. When there are some, `active` says which outputs are. The masks are those of the image. */
static __device__ __forceinline__ int look(const tile &at, const unsigned *mask_in, unsigned *mask_out, int H, int W, int P, int Q, int pad)
{
    int words = (W + 31) / 32;
    unsigned word[LOOKS];
    load_marks(word, at, mask_in, H, W, words); /* on their way while the mask is written */
    if (at.writes_mask)
        write_mask(at, mask_in, mask_out, H, words, P, Q, pad);
    int count = share_marks(word, at);
    if (count == 0)
        return 0;
#pragma unroll
    for (int o0 = 0; o0 < TILE * TILE; o0 += THREADS) {
        int o = o0 + threadIdx.x, p = at.p + o / TILE * DILATION, q = at.q + o % TILE * DILATION;
        unsigned bits = __ballot_sync(~0u, o < TILE * TILE && p < P && q < Q && receptive(mask_in, p, q, H, words, pad));
        if (threadIdx.x % 32 == 0 && o < TILE * TILE)
            active[o / 32] = bits;
    }
    __syncthreads();
    return count;
}

struct result {
    const float *bias;
    TYPE *output;
    int k, K, P, Q;
    __device__ __forceinline__ void store(const tile &at, int i, int j, sum_t sum) const
    {
        if (k >= K)
            return;
        TYPE *to = output + ((long long)(at.p + i * DILATION) * Q + at.q + j * DILATION) * K + k;
        pack<TYPE, OWN> out;
#pragma unroll
        for (int e = 0; e < OWN; e++)
            out.item[e] = from_f32<TYPE>(epilogue(channel(sum, e), bias, k + e));
        store_pack<TYPE, OWN>(to, out);
    }
};

