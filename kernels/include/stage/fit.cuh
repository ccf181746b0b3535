/* stage 1
what: another size with the ratio kept, bilinear, in the middle; a background around it
kind: sample
params: {to_h: whole, to_w: whole, background: {type: reals, default: 0}}
size: [to_h, to_w]
let:
  own_h: select(w * to_h > h * to_w, max(1, floor(h * to_w + floor(w, 2), w)), to_h)
  own_w: select(w * to_h > h * to_w, to_w, max(1, floor(w * to_h + floor(h, 2), h)))
  top: y - floor(to_h - own_h, 2)
  left: x - floor(to_w - own_w, 2)
  down: (2 * top + 1) * h - own_h
  along: (2 * left + 1) * w - own_w
reads: # none for the background
  rows: ["select(top < 0 or top >= own_h, -1, max(0, floor(down, 2 * own_h)))", "select(top < 0 or top >= own_h, -1, min(h - 1, ceil(down, 2 * own_h)))"]
  columns: ["select(left < 0 or left >= own_w, -1, max(0, floor(along, 2 * own_w)))", "select(left < 0 or left >= own_w, -1, min(w - 1, ceil(along, 2 * own_w)))"]
flop: 6
dtype: f32
*/
#pragma once
#include "stage/pixel.cuh"

template <class R, class From>
__device__ __forceinline__ auto fit(const From &from, image in, image out, int b, int y, int x, int, int, quad<R> background)
{
    /* The side that fills the frame keeps its size, the other is what the ratio makes of it, to the nearest pixel. */
    bool few = few_of(in, out), wide = in.w * out.h > in.h * out.w;
    int by = wide ? in.w : in.h, scaled = floor_of((wide ? in.h * out.w : in.w * out.h) + by / 2, by, few, reciprocal(by, R(0))), other = scaled < 1 ? 1 : scaled;
    image own = {wide ? other : out.h, wide ? out.w : other};
    y -= (unsigned)(out.h - own.h) / 2;
    x -= (unsigned)(out.w - own.w) / 2;
    if ((unsigned)y < (unsigned)own.h && (unsigned)x < (unsigned)own.w)
        return between<R>(from, in, b, place_of(y, in.h, own.h, few, reciprocal(2 * own.h, R(0))), place_of(x, in.w, own.w, few, reciprocal(2 * own.w, R(0))));
    auto p = from(b, 0, 0);
    for (int c = 0; c < (int)(sizeof p.v / sizeof p.v[0]); c++)
        p.v[c] = background.v[c];
    return p;
}
