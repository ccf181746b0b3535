/* stage 1
what: as another element type holds it - whole numbers the nearest, beyond the range its end
kind: point
params: {to: dtype}
flop: 0
dtype: to
*/
#pragma once
#include "stage/pixel.cuh"

template <class R, int C, class T> __device__ __forceinline__ pixel<R, C> cast(pixel<R, C> p, T to)
{
    for (int c = 0; c < C; c++)
        p.v[c] = cast_to(p.v[c], to);
    return p;
}
