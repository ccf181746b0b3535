/* stage 1
what: channels in the other order, RGB to BGR
kind: point
flop: 0
*/
#pragma once
#include "stage/pixel.cuh"

template <class R, int C> __device__ __forceinline__ pixel<R, C> swap(pixel<R, C> p)
{
    R first = p.v[0];
    p.v[0] = p.v[C < 3 ? C - 1 : 2]; /* a fourth channel, transparency, stays */
    p.v[C < 3 ? C - 1 : 2] = first;
    return p;
}
