/* stage 1
what: NV12 video (brightness, below it the colours of every 2 x 2 pixels) as RGB, BT.601 of the full range, not rounded
kind: sample
size: [h * 2 / 3, w]
reads:
  - {rows: y, columns: x}
  - {rows: "floor(h * 2, 3) + floor(y, 2)", columns: ["floor(x, 2) * 2", "floor(x, 2) * 2 + 1"]}
channels: 3
flop: 4
dtype: f32
*/
#pragma once
#include "stage/yuv.cuh"

template <class R, class From>
__device__ __forceinline__ pixel<R, 3> nv12(const From &from, image in, image out, int b, int y, int x)
{
    return yuv(pixel<R, 3>{{from(b, y, x).v[0], from(b, out.h + y / 2, x / 2 * 2).v[0], from(b, out.h + y / 2, x / 2 * 2 + 1).v[0]}});
}
