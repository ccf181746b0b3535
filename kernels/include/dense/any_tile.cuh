/* dense/any_tile: a convolution of any number of channels, of either layout, any stride and dilation, by tiles of outputs: what of the input and of the weights is in shared
 * memory when, and how results leave. What is done with them is a `sums`:
 *   conv2d/mma_any    by mma.sync: 16-bit types and tf32
 *   conv2d/fma_any    by fused multiply-adds: f32
 * Heads choose everything here by shape; mma_any.cu says how it works.
 *
 * Needs TYPE, C, R, S, STRIDE_Y, STRIDE_X, DILATION_Y, DILATION_X, PAD_MORE; NHWC (else NCHW); TILE_W, TILE_H, BLOCK_K, the outputs of a block; WARPS_M, WARPS_N, WARPS_D, which share its pixels, its channels
 * and the depth; PIECES, AHEAD, STAGES, HALOS, STEP_ROWS; BIAS_AT, the bytes before its biases; UNIT, the bytes that a copy may have, 2 where none may; STORE, the neighbours that a store may have; and those of
 * element/epilogue.cuh with EPI_RESIDUAL. */
#pragma once
#include "element/element.cuh"
#include "element/epilogue.cuh"
#include "tensor_core/mma.cuh"

constexpr int SIZE = sizeof(TYPE), PIECE = 16 / SIZE, PIXELS = TILE_W * TILE_H, THREADS = 32 * WARPS_M * WARPS_N * WARPS_D;
constexpr bool POINT = R * S == 1;
constexpr int LEAP_Y = POINT ? STRIDE_Y : 1, LEAP_X = POINT ? STRIDE_X : 1;     /* image pixels between two of the halo; */
constexpr int APART_Y = POINT ? 1 : STRIDE_Y, APART_X = POINT ? 1 : STRIDE_X; /* the halo's between two outputs' */
constexpr int HALO_W = (TILE_W - 1) * APART_X + (S - 1) * DILATION_X + 1, HALO_H = (TILE_H - 1) * APART_Y + (R - 1) * DILATION_Y + 1, HALO = HALO_W * HALO_H;
constexpr int PITCH = (PIECES | 1) * 16, HALO_BYTES = HALO * PITCH; /* an odd number of pieces: eight pixels fall into all banks */
constexpr int CHANNELS = PIECES * PIECE, CHUNKS = (C + CHANNELS - 1) / CHANNELS, ROW_STEPS = R / STEP_ROWS, STEPS = CHUNKS * ROW_STEPS;
constexpr int STEP_PIECES = STEP_ROWS * S * PIECES, EVEN_PIECES = (STEP_PIECES + 1) / 2 * 2, STEP_BYTES = EVEN_PIECES * BLOCK_K * 16;
constexpr bool GATHER = UNIT == 2 || (!NHWC && SIZE == 2);
constexpr int GROUPS = (HALO + 7) / 8; /* of 8 pixels, NCHW */
constexpr int ITEMS = ((NHWC ? HALO * PIECES : GROUPS * PIECES * 32) + THREADS - 1) / THREADS; /* that a thread gathers: pieces, or words */
constexpr int MOST_HELD = !NHWC || C <= 4 ? 12 : 3, HELD = ITEMS < MOST_HELD ? ITEMS : MOST_HELD;            /* of them in registers */
constexpr int LATER = (AHEAD < ROW_STEPS ? AHEAD : ROW_STEPS) - 1; /* steps that they may stay there */

extern __shared__ __align__(128) unsigned char shared[]; /* halos, weights; afterwards results */

/* Where a block's tile lies in the image. */
struct place {
    int y0, x0, H, W;
    __device__ __forceinline__ bool find(int pixel, int *y, int *x) const
    {
        *y = y0 + pixel / HALO_W * LEAP_Y;
        *x = x0 + pixel % HALO_W * LEAP_X;
        return pixel < HALO && *y >= 0 && *y < H && *x >= 0 && *x < W;
    }
};

template <int BYTES> static __device__ __forceinline__ void copy_async(unsigned to, const void *from, bool valid)
{
    if (BYTES == 16)
        copy_async_16(to, from, valid);
    else if (BYTES == 8)
        copy_async_8(to, from, valid);
    else
        copy_async_4(to, from, valid);
}

static __device__ __forceinline__ void store_shared_4(unsigned to, unsigned a, unsigned b, unsigned c, unsigned d)
{
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(a), "r"(b), "r"(c), "r"(d) : "memory");
}

/* Word i of a halo in NCHW: its pixel, and which of the pixel's words it is. */
static __device__ __forceinline__ void word_at(int i, int *pixel, int *word)
{
    *pixel = i / 32 % GROUPS * 8 + i % 8;
    *word = i / 32 / GROUPS * 4 + i / 8 % 4;
}

/* The halo of channels c0 and up, behind the thread's back. */
static __device__ __forceinline__ void copy_halo(unsigned to, const TYPE *image, int c0, const place &at)
{
    constexpr int UNITS = NHWC ? PIECES * 16 / UNIT : 1, COUNT = NHWC ? HALO * UNITS : GROUPS * PIECES * 32;
#pragma unroll 4
    for (int j = 0; j < (COUNT + THREADS - 1) / THREADS; j++) {
        int i = threadIdx.x + j * THREADS, pixel = i / UNITS, unit = i % UNITS, y, x;
        if (!NHWC)
            word_at(i, &pixel, &unit);
        if (COUNT % THREADS && i >= COUNT || !NHWC && pixel >= HALO)
            continue;
        int c = c0 + unit * (UNIT / SIZE);
        bool valid = at.find(pixel, &y, &x) && c < C;
        size_t from = NHWC ? ((size_t)y * at.W + x) * C + c : ((size_t)c * at.H + y) * at.W + x;
        copy_async<UNIT>(to + pixel * PITCH + unit * UNIT, image + (valid ? from : 0), valid);
    }
}

/* Gathered elements come into registers as they are in memory, and are put in order on their way to shared memory. In NHWC a piece begins at any element: two aligned
 * vectors of 16 bytes and an offset; or, up to 4 channels, a pixel of one or two words, or of three elements. In NCHW the two elements of a word come from two planes. */
struct raw {
#if NHWC && C <= 4
    unsigned word[3];
#elif NHWC
    uint4 low, high;
    int inside;
#else
    unsigned short low, high;
#endif
};
static __device__ __forceinline__ void read_item(raw *of, int i, const TYPE *image, const TYPE *end, int c0, const place &at)
{
    const unsigned short *elements = reinterpret_cast<const unsigned short *>(image);
    int y, x;
#if NHWC && C <= 4
    of->word[0] = of->word[1] = of->word[2] = 0;
    if (!at.find(i, &y, &x))
        return;
    const unsigned short *from = elements + ((size_t)y * at.W + x) * C;
    if (C == 4) {
        uint2 two = *reinterpret_cast<const uint2 *>(from);
        of->word[0] = two.x;
        of->word[1] = two.y;
    } else if (C == 2)
        of->word[0] = *reinterpret_cast<const unsigned *>(from);
    else
#pragma unroll
        for (int c = 0; c < C; c++)
            of->word[c] = from[c];
#elif NHWC
    int pixel = i / PIECES, c = c0 + i % PIECES * PIECE;
    of->low = of->high = make_uint4(0, 0, 0, 0);
    of->inside = 0;
    if (!at.find(pixel, &y, &x) || c >= C)
        return;
    const unsigned short *from = elements + ((size_t)y * at.W + x) * C + c;
    int inside = (int)(reinterpret_cast<unsigned long long>(from) % 16);
    const uint4 *vector = reinterpret_cast<const uint4 *>(reinterpret_cast<const char *>(from) - inside);
    if (reinterpret_cast<const char *>(end) - reinterpret_cast<const char *>(vector) >= 32) {
        of->low = vector[0];
        of->high = vector[1];
        of->inside = inside;
    } else { /* the tensor's last bytes */
        unsigned word[4] = {};
#pragma unroll
        for (int e = 0; e < PIECE; e++)
            word[e / 2 % 4] |= c + e < C ? (unsigned)from[e] << (e % 2 * 16) : 0;
        of->low = make_uint4(word[0], word[1], word[2], word[3]);
    }
#else
    int pixel, word;
    word_at(i, &pixel, &word);
    int c = c0 + 2 * word;
    bool inside = at.find(pixel, &y, &x);
    size_t from = ((size_t)c * at.H + y) * at.W + x;
    of->low = inside && c < C ? elements[from] : 0;
    of->high = inside && c + 1 < C ? elements[from + (size_t)at.H * at.W] : 0;
#endif
}
static __device__ __forceinline__ void put_item(unsigned to, int i, const raw &of, int c0)
{
#if NHWC && C <= 4
    if (i < HALO)
        store_shared_4(to + i * PITCH, C == 3 ? of.word[0] | of.word[1] << 16 : of.word[0], C == 3 ? of.word[2] : of.word[1], 0, 0);
#elif NHWC
    if (i >= HALO * PIECES)
        return;
    unsigned word[8] = {of.low.x, of.low.y, of.low.z, of.low.w, of.high.x, of.high.y, of.high.z, of.high.w};
#pragma unroll
    for (int j = 0; j < 6; j++) /* by two words, by one, by half of one */
        word[j] = of.inside & 8 ? word[j + 2] : word[j];
#pragma unroll
    for (int j = 0; j < 5; j++)
        word[j] = of.inside & 4 ? word[j + 1] : word[j];
    int left = C - c0 - i % PIECES * PIECE; /* behind a pixel's last channel the next one's begin */
#pragma unroll
    for (int j = 0; j < 4; j++) {
        word[j] = __byte_perm(word[j], word[j + 1], of.inside & 2 ? 0x5432 : 0x3210);
        word[j] = left >= 2 * j + 2 ? word[j] : left == 2 * j + 1 ? word[j] & 0xffff : 0;
    }
    store_shared_4(to + i / PIECES * PITCH + i % PIECES * 16, word[0], word[1], word[2], word[3]);
#else
    int pixel, word;
    word_at(i, &pixel, &word);
    if (pixel < HALO && word < PIECES * 4)
        store_shared(to + pixel * PITCH + word * 4, of.low | (unsigned)of.high << 16);
#endif
}
/* The last HELD items of a thread stay in registers, those before are put at once. */
static __device__ __forceinline__ void read_halo(raw held[HELD], unsigned to, const TYPE *image, const TYPE *end, int c0, const place &at)
{
#pragma unroll
    for (int first = 0; first < ITEMS; first += HELD) {
#pragma unroll
        for (int j = 0; j < HELD; j++)
            if (first + j < ITEMS)
                read_item(&held[j], threadIdx.x + (first + j) * THREADS, image, end, c0, at);
        if (first + HELD < ITEMS)
#pragma unroll
            for (int j = 0; j < HELD; j++)
                put_item(to, threadIdx.x + (first + j) * THREADS, held[j], c0);
    }
}
static __device__ __forceinline__ void put_halo(unsigned to, const raw held[HELD], int c0)
{
    constexpr int first = (ITEMS - 1) / HELD * HELD;
#pragma unroll
    for (int j = 0; first + j < ITEMS; j++)
        put_item(to, threadIdx.x + (first + j) * THREADS, held[j], c0);
}

static __device__ __forceinline__ void copy_weights(unsigned to, const TYPE *weights, int step)
{
    const unsigned char *from = reinterpret_cast<const unsigned char *>(weights) + ((size_t)blockIdx.y * STEPS + step) * STEP_BYTES;
#pragma unroll 4
    for (int i = threadIdx.x * 16; i < STEP_BYTES; i += THREADS * 16)
        copy_async_16(to + i, from + i, true);
}

/* Where piece t of a step, PIECES of each tap, lies from the first. */
static constexpr __device__ int piece_at(int t)
{
    if constexpr (DILATION_Y == DILATION_X)
        return (t / PIECES / S * HALO_W + t / PIECES % S) * DILATION_X * PITCH + t % PIECES * 16;
    else
        return (t / PIECES / S * HALO_W * DILATION_Y + t / PIECES % S * DILATION_X) * PITCH + t % PIECES * 16;
}
/* Byte of the halo at which output m of the tile begins. */
#define OUTPUT_AT(m) (APART_Y == APART_X ? ((m) / TILE_W * HALO_W + (m) % TILE_W) * APART_X * PITCH : ((m) / TILE_W * HALO_W * APART_Y + (m) % TILE_W * APART_X) * PITCH)

constexpr int SUMS_PITCH = NHWC ? BLOCK_K + (BLOCK_K % 16 ? 0 : 8) : PIXELS + 4; /* of the staged sums, in words: rows are pixels, or channels */


/* COUNT neighbours of pixel (p, q), from channel k on, are there: bias, residual, activation, and out. */
template <int COUNT>
static __device__ __forceinline__ void finish_pixel(float (&x)[COUNT], const float own_bias[COUNT], const TYPE *residual, TYPE *output, int p, int q, int k, int K, int Q)
{
    size_t to = ((size_t)p * Q + q) * K + k;
    pack<TYPE, COUNT> add;
    if (EPI_RESIDUAL)
        add = load_pack<TYPE, COUNT>(residual + to);
#pragma unroll
    for (int e = 0; e < COUNT; e++) {
        x[e] += own_bias[e];
        x[e] = activate_channel(EPI_RESIDUAL ? branch(x[e]) + to_f32(add.item[e]) : x[e], k + e);
    }
    store_pack<TYPE, COUNT>(output + to, rounded<TYPE>(x));
}

/* Adds up what the WARPS_D groups have, and stores STORE neighbours at a time: channels of a pixel, or pixels of a row. */
static __device__ __forceinline__ void store_sums(const float *sums, unsigned biases, const TYPE *residual, TYPE *output, int p0, int q0, int k0, int K, int P, int Q)
{
    constexpr int ACROSS = (NHWC ? BLOCK_K : TILE_W) / STORE, LINES = NHWC ? PIXELS : BLOCK_K * TILE_H;
    for (int i = threadIdx.x; i < ACROSS * LINES; i += THREADS) {
        int line = i / ACROSS, m = NHWC ? line : line % TILE_H * TILE_W + i % ACROSS * STORE, k = NHWC ? i % ACROSS * STORE : line / TILE_H;
        int p = p0 + m / TILE_W, q = q0 + m % TILE_W;
        if (p >= P || q >= Q || k0 + k >= K)
            continue;
        size_t to = NHWC ? ((size_t)p * Q + q) * K + k0 + k : ((size_t)(k0 + k) * P + p) * Q + q;
        float x[STORE] = {};
#pragma unroll
        for (int d = 0; d < WARPS_D; d++)
#pragma unroll
            for (int e = 0; e < STORE; e++)
                x[e] += sums[d * (NHWC ? PIXELS : BLOCK_K) * SUMS_PITCH + (NHWC ? m * SUMS_PITCH + k : k * SUMS_PITCH + m) + e];
        pack<TYPE, STORE> add;
        if (EPI_RESIDUAL)
            add = load_pack<TYPE, STORE>(residual + to);
#pragma unroll
        for (int e = 0; e < STORE; e++) {
            x[e] += EPI_BIAS ? __uint_as_float(load_shared(biases + (k + (NHWC ? e : 0)) * 4)) : 0.0f;
            x[e] = activate_channel(EPI_RESIDUAL ? branch(x[e]) + to_f32(add.item[e]) : x[e], k0 + k + (NHWC ? e : 0));
        }
        store_pack<TYPE, STORE>(output + to, rounded<TYPE>(x));
    }
}

/* Element (channel c, output k, tap r, s) of the filter, 0 where it has none: for arrange_weights. rest: which piece of which step of which block. */
static __device__ __forceinline__ TYPE weight_of(const TYPE *filter, int rest, int column, int element, int K)
{
    int t = rest % EVEN_PIECES, step = rest / EVEN_PIECES % STEPS, k = rest / EVEN_PIECES / STEPS * BLOCK_K + column;
    int s = t / PIECES % S, r = step % ROW_STEPS * STEP_ROWS + t / PIECES / S, c = step / ROW_STEPS * CHANNELS + t % PIECES * PIECE + element;
    return k < K && t < STEP_PIECES && c < C ? filter[((size_t)(k * R + r) * S + s) * C + c] : TYPE(0.0f);
}

template <int D, typename SUMS> static __device__ __forceinline__ void multiply_one(SUMS &sums, int warp_d, unsigned halo, unsigned weights)
{
    if (D == WARPS_D - 1 || warp_d == D)
        sums.template multiply<D>(halo, weights);
    else if constexpr (D + 1 < WARPS_D)
        multiply_one<D + 1>(sums, warp_d, halo, weights);
}

/* All work of a block. `weights`: as arrange_weights writes them. sums.multiply<D>(halo, weights): every WARPS_D-th product of a step from D on; sums.stage(to): puts
 * this warp's share of the depth where store_sums reads it; sums.store(...): stores directly, if DIRECT. */
template <typename SUMS>
static __device__ __forceinline__ void convolve_any(const TYPE *input, const TYPE *weights, const float *bias, const TYPE *residual, TYPE *output, int images, int H, int W,
                                                    int K, int P, int Q, int pad, int tiles_x, int tiles_y)
{
    int warp = threadIdx.x / 32, warp_d = warp / WARPS_M / WARPS_N;
    int q0 = blockIdx.x % tiles_x * TILE_W, p0 = blockIdx.x / tiles_x % tiles_y * TILE_H, n = blockIdx.x / tiles_x / tiles_y, k0 = blockIdx.y * BLOCK_K;
    place at = {p0 * STRIDE_Y - pad, q0 * STRIDE_X - pad - PAD_MORE, H, W};
    const TYPE *end = input + (size_t)images * C * H * W;
    input += (size_t)n * C * H * W;
    unsigned halos = shared_address(shared), stages = halos + HALOS * HALO_BYTES, biases = shared_address(shared) + BIAS_AT;
    if (EPI_BIAS)
        for (int k = threadIdx.x; k < BLOCK_K; k += THREADS)
            copy_async_4(biases + k * 4, bias + (k0 + k < K ? k0 + k : 0), k0 + k < K);
    SUMS sums(warp % WARPS_M, warp / WARPS_M % WARPS_N);

    raw held[HELD];
    int chunk = 0, due = 0; /* the next to be asked for; chunk - 1 leaves the registers at the end of this step */
    bool holds = false;
    auto put = [&]() {
        if (GATHER && holds)
            put_halo(halos + (chunk - 1) % HALOS * HALO_BYTES, held, (chunk - 1) * CHANNELS);
        holds = false;
    };
    auto ask = [&](int step, bool first) { /* what it needs and nothing before */
        if (step < STEPS)
            copy_weights(stages + step % STAGES * STEP_BYTES, weights, step);
        if ((CHUNKS > 1 || first) && step < STEPS && step % ROW_STEPS == 0) {
            put();
            unsigned to = halos + chunk % HALOS * HALO_BYTES;
            if (GATHER)
                read_halo(held, to, input, end, chunk * CHANNELS, at);
            else
                copy_halo(to, input, chunk * CHANNELS, at);
            chunk++;
            holds = true;
            due = step - AHEAD + LATER;
        }
        copy_async_commit(); /* perhaps empty, so that the wait below always means this step */
    };
#pragma unroll 1
    for (int step = 0; step < AHEAD; step++) {
        ask(step, true);
        put();
    }
#pragma unroll 1
    for (int step = 0; step < STEPS; step++) {
        copy_async_wait<AHEAD - 1>();
        __syncthreads(); /* this step has come for all, and all have left what is filled next */
        ask(step + AHEAD, false);
        unsigned halo = halos + step / ROW_STEPS % HALOS * HALO_BYTES + step % ROW_STEPS * (STEP_ROWS * DILATION_Y * HALO_W * PITCH);
        multiply_one<0>(sums, warp_d, halo, stages + step % STAGES * STEP_BYTES);
        if (CHUNKS > 1 && due <= step)
            put();
    }
    size_t image = (size_t)n * K * P * Q;
    output += image;
    residual = EPI_RESIDUAL ? residual + image : nullptr;
    if constexpr (DIRECT) {
        sums.store(biases, residual, output, p0, q0, k0, K, P, Q);
    } else {
        __syncthreads();
        float *staged = reinterpret_cast<float *>(shared);
        sums.stage(staged + warp_d * (NHWC ? PIXELS : BLOCK_K) * SUMS_PITCH);
        __syncthreads();
        store_sums(staged, biases, residual, output, p0, q0, k0, K, P, Q);
    }
}
