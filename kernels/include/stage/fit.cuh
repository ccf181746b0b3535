/* stage 1
what: another size with the ratio kept, bilinear, in the middle; a background around it
kind: sample
params: {to_h: whole, to_w: whole, background: {type: reals, default: 0}}
size: [to_h, to_w]
flop: 6
dtype: f32
*/
#pragma once
#include "stage/pixel.cuh"

template <class R, class From>
__device__ __forceinline__ auto fit(const From &from, image in, image out, int b, int y, int x, int, int, quad<R> background)
{
    /* The side that fills the frame keeps its size, the other is what the ratio makes of it, to the nearest pixel. */
    bool wide = in.w * out.h > in.h * out.w;
    image own = {wide ? (in.h * out.w + in.w / 2) / in.w : out.h, wide ? out.w : (in.w * out.h + in.h / 2) / in.h};
    own.h = own.h < 1 ? 1 : own.h;
    own.w = own.w < 1 ? 1 : own.w;
    y -= (out.h - own.h) / 2;
    x -= (out.w - own.w) / 2;
    if (y >= 0 && y < own.h && x >= 0 && x < own.w)
        return between<R>(from, in, b, place_of(y, in.h, own.h), place_of(x, in.w, own.w));
    auto p = from(b, 0, 0);
    for (int c = 0; c < (int)(sizeof p.v / sizeof p.v[0]); c++)
        p.v[c] = background.v[c];
    return p;
}
