/* element/epilogue: what follows the sum of products, while it is still in a register: bias, then activation.
 *
 * A head that fuses them says
 *     define:
 *       EPI_BIAS: has(bias)            # 0 or 1; with 0 the pointer is null and never read
 *       EPI_SLOPE: slope(epilogue)     # for negative values: 1 no activation, 0 relu, alpha leaky_relu */
#pragma once
#ifdef ABLATE_BIAS /* a part left out to see what it costs: element/ablate.cuh */
#undef EPI_BIAS
#endif
#ifndef EPI_BIAS
#define EPI_BIAS 0
#endif
#ifndef EPI_SLOPE
#define EPI_SLOPE 1
#endif

/* NaN stays NaN: an fmaxf(x, 0) would hide it. */
__device__ __forceinline__ float activate(float x)
{
    if (EPI_SLOPE == 1)
        return x;
    return x < 0.0f ? (EPI_SLOPE == 0 ? 0.0f : x * float(EPI_SLOPE)) : x;
}
__device__ __forceinline__ float bias_of(const float *bias, int k) { return EPI_BIAS ? bias[k] : 0.0f; }
/* Bias and activation of output channel k. */
__device__ __forceinline__ float epilogue(float x, const float *bias, int k) { return activate(EPI_BIAS ? x + bias[k] : x); }
