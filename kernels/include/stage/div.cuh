/* stage 1
what: divided by a number, one for all channels or one each
kind: point
params: {by: reals}
dtype: f32
*/
#pragma once
#include "stage/pixel.cuh"

template <class R, int C> __device__ __forceinline__ pixel<R, C> div(pixel<R, C> p, quad<R> by)
{
    for (int c = 0; c < C; c++)
        p.v[c] = over(p.v[c], by.v[c]);
    return p;
}
