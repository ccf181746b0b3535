/* stage 1
what: brightness of red, green and blue, 0.299 R + 0.587 G + 0.114 B
kind: point
channels: 1
flop: 5
dtype: f32
*/
#pragma once
#include "stage/pixel.cuh"

template <class R, int C> __device__ __forceinline__ pixel<R, 1> grey(pixel<R, C> p)
{
    static_assert(C >= 3, "grey: three channels come in");
    return {{p.v[0] * R(0.299) + p.v[1] * R(0.587) + p.v[2] * R(0.114)}};
}
