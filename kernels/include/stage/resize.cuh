/* stage 1
what: another size, between the four nearest pixels (bilinear, centres aligned)
kind: sample
params: {to_h: whole, to_w: whole}
size: [to_h, to_w]
flop: 6
dtype: f32
*/
#pragma once
#include "stage/pixel.cuh"

template <class R, class From>
__device__ __forceinline__ auto resize(const From &from, image in, image out, int b, int y, int x, int, int)
{
    return between<R>(from, in, b, place_of(y, in.h, out.h), place_of(x, in.w, out.w));
}
