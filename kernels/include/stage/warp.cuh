/* stage 1
what: an affine map in 1/65536 of a pixel - output (x, y) shows the input at (a x + b y + c, d x + e y + f), bilinear; `value` outside
kind: sample
params: {a: whole, b: whole, c: whole, d: whole, e: whole, f: whole, value: {type: reals, default: 0}}
size: [h, w]
flop: 6
dtype: f32
*/
#pragma once
#include "stage/pixel.cuh"

/* Fixed point, so that rounding decides nowhere which pixels are read. */
template <class R, class From>
__device__ __forceinline__ auto warp(const From &from, image in, image out, int image_at, int y, int x, int a, int b, int c, int d, int e, int f, quad<R> value)
{
    long long u = (long long)a * x + (long long)b * y + c, v = (long long)d * x + (long long)e * y + f;
    int left = (int)(u >> 16), top = (int)(v >> 16);
    auto p = between<R>(from, in, image_at, {inside(top, in.h), share((int)(v & 65535), 65536, R(0))}, {inside(left, in.w), share((int)(u & 65535), 65536, R(0))});
    bool own = top >= 0 && top < in.h && left >= 0 && left < in.w;
    for (int k = 0; k < (int)(sizeof p.v / sizeof p.v[0]); k++)
        p.v[k] = own ? p.v[k] : value.v[k];
    return p;
}
