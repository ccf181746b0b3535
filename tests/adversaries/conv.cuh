/* What every adversary starts from: output i of a 3x3 convolution with pad 1, NCHW and KCRS. */
#pragma once
#define CONV_ARGS const float *x, const float *f, float *y, int N, int C, int H, int W, int K
#define CONV_INDEX (blockIdx.x * 128L + threadIdx.x)
#define CONV_SIZE ((long)N * K * H * W)
#define CONV_OF x, f, C, H, W, K
struct conv_same {
    __device__ float operator()(float v) const { return v; }
};
/* What it makes of each input and each weight before it multiplies them. */
template <class INPUT, class WEIGHT>
__device__ inline float conv_with(const float *x, const float *f, int C, int H, int W, int K, long i, INPUT input, WEIGHT weight)
{
    int q = i % W, p = i / W % H, k = i / ((long)W * H) % K, n = i / ((long)W * H * K);
    float sum = 0;
    for (int c = 0; c < C; c++)
        for (int r = 0; r < 3; r++)
            for (int s = 0; s < 3; s++) {
                int a = p + r - 1, b = q + s - 1;
                if (a >= 0 && a < H && b >= 0 && b < W)
                    sum += input(x[(((long)n * C + c) * H + a) * W + b]) * weight(f[(((long)k * C + c) * 3 + r) * 3 + s]);
            }
    return sum;
}
__device__ inline float conv_at(const float *x, const float *f, int C, int H, int W, int K, long i)
{
    return conv_with(CONV_OF, i, conv_same(), conv_same());
}
/* Rounds to the bits of a float that `mask` keeps, ties away from zero. */
template <unsigned MASK>
struct conv_rounded {
    __device__ float operator()(float v) const { return __uint_as_float((__float_as_uint(v) + (~MASK + 1) / 2) & MASK); }
};
