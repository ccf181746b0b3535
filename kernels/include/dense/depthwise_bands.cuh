/* dense/depthwise_bands: the work of a warp in a depthwise convolution of NCHW tensors on tensor cores (dense/depthwise_planes.cuh). Its
 * variants:
 *   conv2d/depthwise_bulk_nchw       16-bit elements
 *   conv2d/depthwise_bulk_s8_nchw    whole numbers of 8 bits, results of 4 bytes
 *   conv2d/depthwise_bulk_tf32_nchw  f32 that is multiplied in TF32
 *
 * Needs what dense/depthwise_planes.cuh does, and PAD_LEFT, SHIFT, DEEP, HALF, PAIRS as constants. */
#pragma once
#include "dense/depthwise_planes.cuh"

/* Stores two adjacent results of a line; `left` are still in it. PAIRS: one store for both. In asm, because NVRTC would store two f32
 * separately. */
static __device__ __forceinline__ void store_two(const float x[2], float *to, int k, int left)
{
    float own[2] = {activated(x[0], k), activated(x[1], k)};
    if (PAIRS)
        asm volatile("{\n.reg .pred p;\nsetp.gt.s32 p, %3, 0;\n@p st.global.v2.f32 [%0], {%1, %2};\n}" ::"l"(to), "f"(own[0]), "f"(own[1]),
                     "r"(left)
                     : "memory");
#pragma unroll
    for (int e = 0; e < 2; e++)
        if (!PAIRS && e < left)
            to[e] = own[e];
}
template <typename T> static __device__ __forceinline__ void store_two(const float x[2], T *to, int k, int left)
{
    pack<T, 2> two;
    two.word = activated_two<T>(x[0], x[1], k, k);
    if (PAIRS && left > 0)
        store_pack<T, 2>(to, two);
#pragma unroll
    for (int e = 0; e < 2; e++)
        if (!PAIRS && e < left)
            to[e] = two.item[e];
}

/* A line of a plane times one row of the filter as a matrix product: row m of the left operand has the columns under outputs 8 m to 8 m +
 * 7; column n of the right one is the row of the filter, moved down by n. T: elements. DEEP: products of 32 bytes of columns; HALF: one
 * more of 16. SHIFT: columns before the first one that counts, because a load has 4 bytes. */
template <typename T> struct bands {
    using PRODUCT = product_of<T>;
    static constexpr int SIZE = sizeof(T), GRAIN = 4 / SIZE, WORDS = 2 * DEEP + HALF; /* registers of a row of the filter */
    static constexpr int ACROSS = 128;
    static constexpr bool ZEROS = true;
    unsigned weights[R][WORDS], at;
    float own_bias;
    typename PRODUCT::SUM sum[LIVE][4];
    int left;

    /* q: first output, x0: column that is first in shared memory. */
    __device__ __forceinline__ bands(const T *filter, const float *bias, int k, int K, int q, int x0) : own_bias(EPI_BIAS ? bias[k] : 0.0f)
    {
        int lane = threadIdx.x % 32;
        int column = (q + lane / 4 * 8) * STRIDE_X - PAD_LEFT - SHIFT + lane % 4 * GRAIN;
        at = (column - x0) * SIZE;
        left = COLUMNS - q - lane * 2;
#pragma unroll
        for (int j = 0; j < R * WORDS; j++)
            weights[j / WORDS][j % WORDS] = weight_word(filter, j / WORDS, j % WORDS, SHIFT, k, K);
#pragma unroll
        for (int u = 0; u < LIVE; u++)
            begin(u * STRIDE_Y);
    }
    static __device__ __forceinline__ int first() { return threadIdx.x % 32 * 2; }
    /* Bytes from a lane's first word to word i: those of a product are rows lane / 4 and 8 more, each 16 bytes further, too. */
    static __device__ __forceinline__ constexpr int offset(int i) { return i / 4 * 32 + i % 4 / 2 * 16 + i % 2 * 64 * STRIDE_X * SIZE; }
    __device__ __forceinline__ void add(unsigned line, int u)
    {
#pragma unroll
        for (int d = 0; d < DEEP + HALF; d++) {
            unsigned a[4];
#pragma unroll
            for (int i = 0; i < (d < DEEP ? 4 : 2); i++)
                a[i] = operand_of<T>(load_shared(line + at + offset(d * 4 + i)));
#pragma unroll
            for (int r = 0; r < R; r++) {
                int reach = u + (LIVE - 1) * STRIDE_Y - r * DILATION_Y;
                if (reach % STRIDE_Y)
                    continue;
                typename PRODUCT::SUM *own = sum[reach / STRIDE_Y % LIVE];
#pragma unroll
                for (int e = 0; e < 4 && r == 0 && d == 0; e++)
                    own[e] = PRODUCT::begin(own_bias);
                if (d < DEEP)
                    PRODUCT::multiply(own, a, weights[r] + 2 * d);
                else
                    PRODUCT::multiply_half(own, a, weights[r][2 * DEEP]);
            }
        }
    }
    /* As for a line of zeros. */
    __device__ __forceinline__ void begin(int u)
    {
        int reach = u + (LIVE - 1) * STRIDE_Y;
        if (reach % STRIDE_Y == 0)
#pragma unroll
            for (int e = 0; e < 4; e++)
                sum[reach / STRIDE_Y % LIVE][e] = PRODUCT::begin(own_bias);
    }
    template <typename OUT> __device__ __forceinline__ void put(int done, OUT *to, int k) const
    {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            float x[2];
#pragma unroll
            for (int e = 0; e < 2; e++)
                x[e] = PRODUCT::end(sum[done][half * 2 + e], own_bias);
            store_two(x, to + half * 64, k, left - half * 64);
        }
    }
};
