/* stage 1
what: the square, times a number - a stage that bench does not have
kind: point
params: {by: real}
flop: 2
dtype: f32
*/
#pragma once
#include "stage/pixel.cuh"

template <class R, int C> __device__ pixel<R, C> power(pixel<R, C> p, R by)
{
    for (int c = 0; c < C; c++)
        p.v[c] = p.v[c] * p.v[c] * by;
    return p;
}
