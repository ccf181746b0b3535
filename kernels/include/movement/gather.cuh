/* movement/gather: an output pixel depends on TAPS x TAPS pixels of the input, whose position the op defines: resizing and padding.
 *
 * A head defines ELEMENT_T, NHWC, VEC, LANES, TAPS, WIDE (1: 64-bit indices) and place_of(output, axis): its first tap and the weights. */
#pragma once
#include "element/element.cuh"

#if WIDE
typedef long long whole;
#else
typedef int whole;
#endif

/* Of the height or the width. */
struct axis {
    int size;
    whole mul, add, div;
};
/* The inputs of one output along an axis; outside 0 .. size - 1: the edge is meant. */
struct place {
    int first;
    float weight[TAPS];
};
static __device__ __forceinline__ whole floor_of(whole a, whole b) { return a / b - (a % b < 0); }
static __device__ __forceinline__ int inside(whole at, int size) { return (int)(at < 0 ? 0 : at < size ? at : size - 1); }

#ifdef RESIZE
/* Output o is at (o * mul + add) / div of the input: whole numbers decide, so no rounding moves a pixel to its neighbour. */
static __device__ __forceinline__ place place_of(int o, const axis &a)
{
    whole at = o * a.mul + a.add, low = floor_of(at, a.div);
    float f = (float)(at - low * a.div) / (float)a.div;
    place p;
#if TAPS == 1
    whole twice = 2 * at + SHIFT * a.div;
    p.first = inside(UPWARD ? -floor_of(-twice, 2 * a.div) : floor_of(twice, 2 * a.div), a.size);
#elif TAPS == 2
    p.first = (int)low;
    p.weight[0] = 1 - f;
    p.weight[1] = f;
#else
    float g = 1 - f;
    p.first = (int)low - 1;
    p.weight[0] = CUBIC * f * g * g;
    p.weight[1] = ((CUBIC + 2) * f - (CUBIC + 3)) * f * f + 1;
    p.weight[2] = ((CUBIC + 2) * g - (CUBIC + 3)) * g * g + 1;
    p.weight[3] = CUBIC * g * f * f;
#endif
    return p;
}
#else
enum { CONSTANT, REFLECT, EDGE, WRAP };
/* add: the pad before the image. -1: the constant. */
static __device__ __forceinline__ place place_of(int o, const axis &a)
{
    int at = o - (int)a.add, far = abs(at);
    return {FILL == REFLECT ? a.size - 1 - abs(a.size - 1 - far)
            : FILL == WRAP  ? (at % a.size + a.size) % a.size
            : FILL == EDGE  ? inside(at, a.size)
                            : (at >= 0 && at < a.size ? at : -1)};
}
#endif

/* VEC channels of an output pixel. input: of the image, at the first of these channels; step: elements from pixel to pixel. */
static __device__ __forceinline__ pack<ELEMENT_T, VEC> gathered(const ELEMENT_T *input, const place &y, const place &x, int H, int W, int step, float value)
{
#if TAPS == 1
    if (y.first >= 0 && x.first >= 0)
        return load_pack<ELEMENT_T, VEC>(input + ((size_t)y.first * W + x.first) * step);
    pack<ELEMENT_T, VEC> all;
#pragma unroll
    for (int e = 0; e < VEC; e++)
        all.item[e] = from_f32<ELEMENT_T>(value);
    return all;
#else
    float sum[VEC] = {0.0f};
#pragma unroll
    for (int i = 0; i < TAPS; i++) {
        float row[VEC] = {0.0f};
        const ELEMENT_T *line = input + (size_t)inside(y.first + i, H) * W * step;
#pragma unroll
        for (int j = 0; j < TAPS; j++) {
            pack<ELEMENT_T, VEC> v = load_pack<ELEMENT_T, VEC>(line + (size_t)inside(x.first + j, W) * step);
#pragma unroll
            for (int e = 0; e < VEC; e++)
                row[e] += x.weight[j] * to_f32(v.item[e]);
        }
#pragma unroll
        for (int e = 0; e < VEC; e++)
            sum[e] += y.weight[i] * row[e];
    }
    return rounded<ELEMENT_T>(sum);
#endif
}
