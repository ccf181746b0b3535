/* stage 1
what: one channel alone, counted from 0 (split)
kind: point
params: {channel: whole}
channels: 1
reads: {channels: 1}
flop: 0
*/
#pragma once
#include "stage/pixel.cuh"

template <class R, int C> __device__ __forceinline__ pixel<R, 1> take(pixel<R, C> p, int channel)
{
    return {{p.v[channel]}};
}
