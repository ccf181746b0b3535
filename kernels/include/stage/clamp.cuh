/* stage 1
what: between two numbers
kind: point
params: {low: reals, high: reals}
flop: 2
dtype: f32
*/
#pragma once
#include "stage/pixel.cuh"

template <class R, int C> __device__ __forceinline__ pixel<R, C> clamp(pixel<R, C> p, quad<R> low, quad<R> high)
{
    for (int c = 0; c < C; c++)
        p.v[c] = least_of(most_of(p.v[c], low.v[c]), high.v[c]);
    return p;
}
