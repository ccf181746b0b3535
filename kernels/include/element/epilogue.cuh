/* element/epilogue: what follows the sum of products, while it is still in a register: bias, residual, then activation.
 *
 * A head that fuses them says
 *     define:
 *       EPI_BIAS: has(bias)            # 0 or 1; with 0 the pointer is null and never read
 *       EPI_SLOPE: slope(epilogue)     # for negative values: 1 no activation, 0 relu, alpha leaky_relu
 *       EPI_SCALE: scale(epilogue)     # of the value to which a residual is added: branch(x) + residual
 *       EPI_PRELU: select(has(prelu), k, 0)   # channels; `prepare:` fills epi_slopes with `slopes`
 *       EPI_ACTIVATION: activation(epilogue)  # any other one: silu, clip ... with EPI_LOW: low(epilogue), EPI_HIGH: high(epilogue) */
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
#ifndef EPI_SCALE
#define EPI_SCALE 1
#endif
#ifndef EPI_PRELU
#define EPI_PRELU 0
#endif
#if EPI_PRELU
__device__ float epi_slopes[EPI_PRELU]; /* by channel */
#endif

#ifdef EPI_ACTIVATION
/* Functions of f32, with the accurate exponential: each is right to a few units in the last place. */
namespace activation {
__device__ __forceinline__ float none(float x) { return x; }
__device__ __forceinline__ float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }
__device__ __forceinline__ float silu(float x) { return x / (1.0f + expf(-x)); }
__device__ __forceinline__ float tanh(float x) { return tanhf(x); }
__device__ __forceinline__ float gelu(float x) { return 0.5f * x * erfcf(-x * 0.70710678f); }
__device__ __forceinline__ float gelu_tanh(float x) { return 0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x))); }
__device__ __forceinline__ float hard_swish(float x) { return x * fminf(fmaxf(x + 3.0f, 0.0f), 6.0f) / 6.0f; }
__device__ __forceinline__ float clip(float x) { return x < float(EPI_LOW) ? float(EPI_LOW) : x > float(EPI_HIGH) ? float(EPI_HIGH) : x; } /* NaN stays NaN */
__device__ __forceinline__ float sloped(float x) { return EPI_SLOPE == 1 ? x : x < 0.0f ? (EPI_SLOPE == 0 ? 0.0f : x * float(EPI_SLOPE)) : x; }
__device__ __forceinline__ float relu(float x) { return sloped(x); }
__device__ __forceinline__ float leaky_relu(float x) { return sloped(x); }
__device__ __forceinline__ float prelu(float x) { return x; } /* activate_channel knows the channel */
}
__device__ __forceinline__ float activate(float x) { return activation::EPI_ACTIVATION(x); }
#else
/* NaN stays NaN: an fmaxf(x, 0) would hide it. */
__device__ __forceinline__ float activate(float x)
{
    if (EPI_SLOPE == 1)
        return x;
    return x < 0.0f ? (EPI_SLOPE == 0 ? 0.0f : x * float(EPI_SLOPE)) : x;
}
#endif
/* The activation of output channel k. */
__device__ __forceinline__ float activate_channel(float x, int k)
{
#if EPI_PRELU
    return x < 0.0f ? x * epi_slopes[k] : x;
#else
    return activate(x);
#endif
}
/* The same for a kernel that asks for its channels' slopes ahead; channels past the last have the last one's. */
__device__ __forceinline__ float slope_of(int k)
{
#if EPI_PRELU
    return epi_slopes[k < EPI_PRELU ? k : EPI_PRELU - 1];
#else
    return 1.0f;
#endif
}
__device__ __forceinline__ float activate_sloped(float x, float slope) { return EPI_PRELU ? (x < 0.0f ? x * slope : x) : activate(x); }
/* What a residual is added to. */
__device__ __forceinline__ float branch(float x) { return EPI_SCALE == 1 ? x : x * float(EPI_SCALE); }
__device__ __forceinline__ float bias_of(const float *bias, int k) { return EPI_BIAS ? bias[k] : 0.0f; }
/* Bias and activation of output channel k. */
__device__ __forceinline__ float epilogue(float x, const float *bias, int k) { return activate_channel(EPI_BIAS ? x + bias[k] : x, k); }
