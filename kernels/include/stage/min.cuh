/* stage 1
what: at most this
kind: point
params: {of: reals}
dtype: f32
*/
#pragma once
#include "stage/pixel.cuh"

template <class R, int C> __device__ __forceinline__ pixel<R, C> min(pixel<R, C> p, quad<R> of)
{
    for (int c = 0; c < C; c++)
        p.v[c] = least_of(p.v[c], of.v[c]);
    return p;
}
