/* stage 1
what: another size, the nearest pixel
kind: sample
params: {to_h: whole, to_w: whole}
size: [to_h, to_w]
reads: {rows: "floor((2 * y + 1) * h, 2 * to_h)", columns: "floor((2 * x + 1) * w, 2 * to_w)"}
flop: 0
*/
#pragma once
#include "stage/pixel.cuh"

template <class R, class From>
__device__ __forceinline__ auto nearest(const From &from, image in, image out, int b, int y, int x, int, int)
{
    return from(b, (2 * y + 1) * in.h / (2 * out.h), (2 * x + 1) * in.w / (2 * out.w));
}
