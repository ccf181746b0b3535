/* stage 1
what: another size, between the four nearest pixels (bilinear, centres aligned)
kind: sample
params: {to_h: whole, to_w: whole}
size: [to_h, to_w]
let: {down: (2 * y + 1) * h - to_h, along: (2 * x + 1) * w - to_w}
reads:
  rows: ["max(0, floor(down, 2 * to_h))", "min(h - 1, ceil(down, 2 * to_h))"]
  columns: ["max(0, floor(along, 2 * to_w))", "min(w - 1, ceil(along, 2 * to_w))"]
flop: 6
dtype: f32
*/
#pragma once
#include "stage/pixel.cuh"

template <class R, class From>
__device__ __forceinline__ auto resize(const From &from, image in, image out, int b, int y, int x, int, int)
{
    bool few = few_of(in, out);
    return between<R>(from, in, b, place_of(y, in.h, out.h, few, R(1) / R(2 * out.h)), place_of(x, in.w, out.w, few, R(1) / R(2 * out.w)));
}
