/* stage 1
what: brightness and colours (three channels of a whole picture, YUV 4:4:4) as RGB, BT.601 of the full range, not rounded
kind: point
channels: 3
flop: 4
dtype: f32
*/
#pragma once
#include "stage/pixel.cuh"

template <class R> __device__ __forceinline__ pixel<R, 3> yuv(pixel<R, 3> p)
{
    R u = p.v[1] - R(128), v = p.v[2] - R(128);
    return {{p.v[0] + v * R(1.402), p.v[0] - u * R(0.344136) - v * R(0.714136), p.v[0] + u * R(1.772)}};
}
