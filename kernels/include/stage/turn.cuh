/* stage 1
what: a quarter turn clockwise
kind: sample
size: [w, h]
reads: {rows: h - 1 - x, columns: y}
flop: 0
*/
#pragma once
#include "stage/pixel.cuh"

template <class R, class From>
__device__ __forceinline__ auto turn(const From &from, image in, image out, int b, int y, int x)
{
    return from(b, in.h - 1 - x, y);
}
