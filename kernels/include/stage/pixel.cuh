/* stage/pixel: what stages are written in: pixels of channels, a type R that they compute in (float in kernels, `truth` in the reference), and the
 * few operations that are not operators. */
#pragma once
#include <cuda_fp16.h>

template <class R, int C> struct pixel { R v[C]; };
/* A parameter that has one value a channel. */
template <class R> struct quad {
    R v[4];
    __device__ quad(R a, R b, R c, R d) : v{a, b, c, d} {}
};
/* Says which element type is meant: kind_of<unsigned char>(). */
template <class T> struct kind_of {};
struct image { int h, w; };

/* What an element type holds of R. Whole numbers: the nearest, at the ends of the range the end. */
template <class T> struct range_of;
template <> struct range_of<unsigned char> { static constexpr float least = 0, most = 255; };
template <> struct range_of<unsigned short> { static constexpr float least = 0, most = 65535; };
__device__ __forceinline__ float cast_to(float x, kind_of<float>) { return x; }
__device__ __forceinline__ float cast_to(float x, kind_of<__half>) { return __half2float(__float2half_rn(x)); }
template <class T> __device__ __forceinline__ float cast_to(float x, kind_of<T>)
{
    return rintf(fminf(fmaxf(x, range_of<T>::least), range_of<T>::most));
}
__device__ __forceinline__ float least_of(float a, float b) { return fminf(a, b); }
__device__ __forceinline__ float most_of(float a, float b) { return fmaxf(a, b); }
/* a / b of whole numbers, for positions: rounded once. */
__device__ __forceinline__ float share(int a, int b, float) { return (float)a / (float)b; }

/* Where output x of `out` lies among `in` inputs, as a whole number and a rest over 2 out: (2 x + 1) in / (2 out) - 1/2. Whole numbers have no rounding, so
 * every kernel, and the reference, reads the same pixels. */
struct place { int at, rest, over; };
__device__ __forceinline__ place place_of(int x, int in, int out)
{
    int twice = (2 * x + 1) * in - out, over = 2 * out, at = twice >= 0 ? twice / over : -1;
    return {at, twice - at * over, over};
}
__device__ __forceinline__ int inside(int x, int size) { return x < 0 ? 0 : x < size ? x : size - 1; }
/* Between four pixels around y, x; beyond the edge the edge. */
template <class R, class From> __device__ __forceinline__ auto between(const From &from, image in, int b, place y, place x)
{
    int y0 = inside(y.at, in.h), y1 = inside(y.at + 1, in.h), x0 = inside(x.at, in.w), x1 = inside(x.at + 1, in.w);
    auto p = from(b, y0, x0), q = from(b, y0, x1), r = from(b, y1, x0), s = from(b, y1, x1);
    R fy = share(y.rest, y.over, R(0)), fx = share(x.rest, x.over, R(0));
    for (int c = 0; c < (int)(sizeof p.v / sizeof p.v[0]); c++) {
        R upper = p.v[c] + (q.v[c] - p.v[c]) * fx, lower = r.v[c] + (s.v[c] - r.v[c]) * fx;
        p.v[c] = upper + (lower - upper) * fy;
    }
    return p;
}
