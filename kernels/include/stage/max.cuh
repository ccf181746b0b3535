/* stage 1
what: at least this
kind: point
params: {of: reals}
dtype: f32
*/
#pragma once
#include "stage/pixel.cuh"

template <class R, int C> __device__ __forceinline__ pixel<R, C> max(pixel<R, C> p, quad<R> of)
{
    for (int c = 0; c < C; c++)
        p.v[c] = most_of(p.v[c], of.v[c]);
    return p;
}
