/* stage 1
what: between 0 and 1
kind: point
flop: 2
dtype: f32
*/
#pragma once
#include "stage/pixel.cuh"

template <class R, int C> __device__ __forceinline__ pixel<R, C> saturate(pixel<R, C> p)
{
    for (int c = 0; c < C; c++)
        p.v[c] = least_of(most_of(p.v[c], R(0)), R(1));
    return p;
}
