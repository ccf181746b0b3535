/* stage 1
what: I420 video (brightness, below it all of U, then all of V, of every 2 x 2 pixels one) as RGB, BT.601 of the full range, not rounded
kind: sample
size: [h * 2 / 3, w]
reads:
  - {rows: y, columns: x}
  - {rows: "floor(y, 2)", columns: ["floor(x, 2)", "floor(x, 2) + floor(w, 2)"]}    # as many as there: a row of the tensor holds two of U
channels: 3
flop: 4
dtype: f32
*/
#pragma once
#include "stage/yuv.cuh"

template <class R, class From>
__device__ __forceinline__ pixel<R, 3> i420(const From &from, image in, image out, int b, int y, int x)
{
    int u = y / 2 * (out.w / 2) + x / 2, v = u + out.h / 2 * (out.w / 2);
    return yuv(pixel<R, 3>{{from(b, y, x).v[0], from(b, out.h + u / out.w, u % out.w).v[0], from(b, out.h + v / out.w, v % out.w).v[0]}});
}
