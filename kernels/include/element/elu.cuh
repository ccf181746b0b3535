/* element/elu: exp(x) - 1 for negative x, accurate near 0. Include it before element/epilogue.cuh, whose EPI_ACTIVATION names it. */
#pragma once
namespace activation {
__device__ __forceinline__ float elu(float x) { return x < 0.0f ? expm1f(x) : x; }
}
