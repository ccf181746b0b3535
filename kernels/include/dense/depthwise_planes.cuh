/* dense/depthwise_planes: a depthwise convolution of NCHW tensors whose lines come by the copy engine, for sm_90. Its variants:
 *   conv2d/depthwise_bulk_nchw     16-bit elements
 *   conv2d/depthwise_bulk_s8_nchw  whole numbers of 8 bits, results of 4 bytes
 *
 * A warp goes down a plane with 128 outputs side by side. A line is added to all LIVE lines of outputs that it belongs to, whose sums are in registers. Which sums these are repeats
 * after PERIOD lines. So many lines come together, into a ring of the warp's own of RING such pieces, each line once, and are unrolled: what there is to ask, to wait for and to count is
 * so once a piece. What is outside of the image arrives as zeros; lines behind the last one are computed and not stored.
 *
 * A copy begins at a multiple of 16 bytes, so LEAD columns come before the first one that is looked at.
 *
 * Needs R, S, STRIDE_Y, STRIDE_X, DILATION_Y, DILATION_X, RING, SLOT, BOX_W, LEAD, SHIFT, DEEP, HALF, WARPS, PAIRS as constants, and multiply_bands and multiply_bands_half. */
#pragma once
#include "element/element.cuh"
#include "element/epilogue.cuh"
#include "tensor_core/wgmma.cuh"

constexpr int LIVE = (R - 1) * DILATION_Y / STRIDE_Y + 1, PERIOD = LIVE * STRIDE_Y;

extern __shared__ unsigned char shared_raw[]; /* up to 127 bytes in front, rings, barriers */

/* Two neighbouring results of a line, of `left` that are still in it; PAIRS: they move together. By asm, or NVRTC stores each of two f32 alone. */
static __device__ __forceinline__ void store_two(const float x[2], float *to, int k, int left)
{
    float own[2] = {activate_channel(x[0], k), activate_channel(x[1], k)};
    if (PAIRS && left > 0)
        asm volatile("st.global.v2.f32 [%0], {%1, %2};" ::"l"(to), "f"(own[0]), "f"(own[1]) : "memory");
#pragma unroll
    for (int e = 0; e < 2; e++)
        if (!PAIRS && e < left)
            to[e] = own[e];
}
template <typename T> static __device__ __forceinline__ void store_two(const float x[2], T *to, int k, int left)
{
    pack<T, 2> two;
    two.word = EPI_SLOPE == 0 && !EPI_PRELU ? relu_of<T>(two_of<T>(x[0], x[1])) : two_of<T>(activate_channel(x[0], k), activate_channel(x[1], k));
    if (PAIRS && left > 0)
        store_pack<T, 2>(to, two);
#pragma unroll
    for (int e = 0; e < 2; e++)
        if (!PAIRS && e < left)
            to[e] = two.item[e];
}

/* A line of a plane under one row of the filter as a matrix product: row m of the left operand is the columns under outputs 8 m to 8 m + 7, and column n of the right one is the row of the
 * filter, moved down by n. T: elements, SUM: of products. DEEP: products of 32 bytes of columns, HALF: and one of 16. SHIFT: columns before the first one that counts, since 4 bytes
 * are loaded together. */
template <typename T, typename SUM> struct bands {
    static constexpr int SIZE = sizeof(T), GRAIN = 4 / SIZE, WORDS = 2 * DEEP + HALF; /* registers of a row of the filter */
    unsigned weights[R][WORDS], at;
    float own_bias;
    SUM sum[LIVE][4];

    __device__ __forceinline__ bands(const T *filter, const float *bias, int k, int K) : own_bias(EPI_BIAS ? bias[k] : 0.0f)
    {
        int lane = threadIdx.x % 32;
        at = (LEAD + lane / 4 * 8 * STRIDE_X) * SIZE + lane % 4 * 4;
#pragma unroll
        for (int j = 0; j < R * WORDS; j++) {
            pack<T, GRAIN> some;
            some.word = 0;
#pragma unroll
            for (int e = 0; e < GRAIN; e++) {
                int along = (j % WORDS * 4 + lane % 4) * GRAIN + e - SHIFT - lane / 4 * STRIDE_X, s = along / DILATION_X;
                if (along >= 0 && along % DILATION_X == 0 && s < S)
                    some.item[e] = filter[(j / WORDS * S + s) * K + k];
            }
            weights[j / WORDS][j % WORDS] = some.word;
        }
#pragma unroll
        for (int j = 0; j < LIVE * 4; j++)
            sum[j / 4][j % 4] = 0;
    }
    /* Also to outputs above the first and below the last one, which nobody stores. */
    __device__ __forceinline__ void add(unsigned line, int u)
    {
#pragma unroll
        for (int d = 0; d < DEEP + HALF; d++) {
            unsigned a[4];
#pragma unroll
            for (int i = 0; i < (d < DEEP ? 4 : 2); i++)
                a[i] = load_shared(line + d * 32 + i / 2 * 16 + i % 2 * 64 * STRIDE_X * SIZE);
#pragma unroll
            for (int r = 0; r < R; r++) {
                int reach = u + (LIVE - 1) * STRIDE_Y - r * DILATION_Y;
                if (reach % STRIDE_Y)
                    continue;
                SUM *own = sum[reach / STRIDE_Y % LIVE];
                if (r == 0 && d == 0)
#pragma unroll
                    for (int e = 0; e < 4; e++)
                        own[e] = SIZE == 1 ? 0 : own_bias;
                if (d < DEEP)
                    multiply_bands(own, a, weights[r] + 2 * d);
                else
                    multiply_bands_half(own, a, weights[r][2 * DEEP]);
            }
        }
    }
    template <typename OUT> __device__ __forceinline__ void put(int done, OUT *to, int k, int left) const
    {
        int lane = threadIdx.x % 32;
#pragma unroll
        for (int half = 0; half < 2; half++) {
            float x[2] = {(float)sum[done][half * 2], (float)sum[done][half * 2 + 1]};
            if (SIZE == 1)
                x[0] += own_bias, x[1] += own_bias;
            store_two(x, to + half * 64 + lane * 2, k, left - half * 64 - lane * 2);
        }
    }
};

/* SUM: type of sums. pad_x: of columns, with those that come before. */
template <typename SUM, typename T, typename OUT>
static __device__ __forceinline__ void convolve_planes(const tensor_map *input, const T *filter, const float *bias, OUT *output, int K, int P, int Q, int pad, int pad_x,
                                                       int tiles_x, int rows, int parts, int images)
{
    int warp = threadIdx.x / 32, i = blockIdx.x * WARPS + warp, lane = threadIdx.x % 32, plane = i / tiles_x / parts, k = plane % K, n = plane / K;
    if (n >= images)
        return;
    int p0 = i / tiles_x % parts * rows, q0 = i % tiles_x * 128;
    rows = min(rows, P - p0);
    int lines = (rows - 1) * STRIDE_Y + (R - 1) * DILATION_Y + 1, asked = 0;
    unsigned rings = (shared_address(shared_raw) + 127) / 128 * 128, ring = rings + warp * (RING * SLOT), come = rings + WARPS * RING * SLOT + warp * (RING * 8);
    auto ask = [&](unsigned slot) {
        barrier_arrive_expect(come + slot * 8, PERIOD * BOX_W * (int)sizeof(T));
        copy_box_4d(ring + slot * SLOT, input, come + slot * 8, q0 * STRIDE_X - pad_x, p0 * STRIDE_Y - pad + asked, k, n);
        asked += PERIOD;
    };
    if (lane == 0) {
        for (int a = 0; a < RING; a++)
            barrier_init(come + a * 8, 1);
        barrier_init_done();
        for (int a = 0; a < RING && asked < lines; a++)
            ask(a);
    }
    bands<T, SUM> own(filter, bias, k, K);
    OUT *to = output + (size_t)plane * P * Q + p0 * Q + q0;
    unsigned slot = 0, parity = 0;
    __syncwarp();
    for (int from = 0; from < lines; from += PERIOD) {
        unsigned at = ring + own.at + slot * SLOT;
        barrier_wait(come + slot * 8, parity);
#pragma unroll
        for (int u = 0; u < PERIOD; u++) {
            own.add(at + u * BOX_W * (int)sizeof(T), u);
            int last = u + (LIVE - 1) * STRIDE_Y - (R - 1) * DILATION_Y, row = from / STRIDE_Y + last / STRIDE_Y - (LIVE - 1);
            if (last % STRIDE_Y || row < 0 || row >= rows) /* no output ends here */
                continue;
            own.put(last / STRIDE_Y % LIVE, to, k, Q - q0);
            to += Q;
        }
        __syncwarp(); /* all lanes have read it */
        if (lane == 0 && asked < lines)
            ask(slot);
        if (++slot == RING)
            slot = 0, parity ^= 1;
    }
}
