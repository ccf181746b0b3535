/* stage 1
what: a border of so many pixels on every side; `mode` 0 repeats the edge, 1 mirrors the image without repeating the edge, 2 is `value`
kind: sample
params: {by: whole, mode: {type: whole, default: 0}, value: {type: reals, default: 0}}
size: [h + 2 * by, w + 2 * by]
reads: {rows: y - by, columns: x - by}
flop: 0
*/
#pragma once
#include "stage/pixel.cuh"

/* -1 -> 1, size -> size - 2; an image of one pixel has only that. */
__device__ __forceinline__ int mirrored(int x, int size)
{
    int period = size > 1 ? 2 * (size - 1) : 1, at = (x % period + period) % period;
    return at < size ? at : period - at;
}
template <class R, class From>
__device__ __forceinline__ auto border(const From &from, image in, image out, int b, int y, int x, int by, int mode, quad<R> value)
{
    y -= by;
    x -= by;
    bool own = y >= 0 && y < in.h && x >= 0 && x < in.w;
    auto p = mode == 1 ? from(b, mirrored(y, in.h), mirrored(x, in.w)) : from(b, inside(y, in.h), inside(x, in.w));
    for (int c = 0; c < (int)(sizeof p.v / sizeof p.v[0]); c++)
        p.v[c] = own || mode != 2 ? p.v[c] : value.v[c];
    return p;
}
