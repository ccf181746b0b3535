/* stage 1
what: the rectangles of the tensor `boxes`, `each` of them from every image
kind: boxes
params: {most_h: whole, most_w: whole, each: whole}
batch: n * each
size: [most_h, most_w]
reads: {rows: y, columns: x} # of its rectangle
flop: 0
*/
#pragma once
#include "stage/pixel.cuh"

template <class R, class From>
__device__ __forceinline__ auto crop(const From &from, const int *box, image in, image out, int b, int y, int x, int, int, int each)
{
    return from(b / each, y + box[1], x + box[0]);
}
