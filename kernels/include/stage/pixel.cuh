/* stage/pixel: the language of stages: pixels of channels, a type R in which they compute (float in kernels, `truth` in the reference), and the
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

/* The compiler's a / b of floats is a reciprocal, refined, and the remainder a - b q, 8 instructions, then a test and a call for operands near the ends of the
 * range, or 0. Positions and constants are not near them: these functions are the 8 instructions or fewer, and round like the compiler's. */
__device__ __forceinline__ float reciprocal(int b, float) /* off by at most a unit of the last place, less than 2^-23 of itself */
{
    float r;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"((float)b));
    return r;
}
__device__ __forceinline__ float quotient(float a, float b, float r)
{
    r = fmaf(fmaf(-b, r, 1.0f), r, r);
    float q = a * r;
    return fmaf(fmaf(q, -b, a), r, q);
}
/* a / b of values, where b is a number that the compiler knows. An infinite q leaves nothing over that counts. */
__device__ __forceinline__ float over(float a, float b)
{
    if (!(fabsf(b) >= 0x1p-64f && fabsf(b) <= 0x1p64f))
        return a / b;
    float r = 1 / b, q = a * r, rest = fmaf(q, -b, a);
    return fabsf(rest) <= 0x1p127f ? fmaf(rest, r, q) : q;
}
/* a / b of whole numbers, for positions: rounded once. */
__device__ __forceinline__ float share(int a, int b, float) { return (float)a / (float)b; }

/* floor(a / b) of whole numbers, b > 0 and a > -b; r is the reciprocal of b. FEW: b and |a| are below 2^21. Then a + 1/2 is a float, (a + 1/2) / b is at least 1 / (2 b)
 * from every whole number, and (a + 1/2) r is off by at most half of that. Floats near 3 x 2^22 are whole numbers: adding that and rounding down gives the floor. */
__device__ __forceinline__ int floor_of(int a, int b, bool few, float r)
{
    return few ? __float_as_int(__fmaf_rd((float)a + 0.5f, r, 0x3p22f)) - __float_as_int(0x3p22f) : a >= 0 ? a / b : -1;
}
/* Is the product of any two sides below 2^20? So compared, the compiler can tell of sizes whose range it knows. */
__device__ __forceinline__ bool few_of(image in, image out)
{
    int most = ((1 << 20) - 1) / (out.h > out.w ? out.h : out.w);
    return in.h <= most && in.w <= most;
}

/* The position of output x of `out` among `in` inputs, (2 x + 1) in / (2 out) - 1/2, as a whole number and a fraction. Whole-number arithmetic, which does not round,
 * decides which pixels are read, so every kernel and the reference read the same; the fraction is rounded once. */
template <class R> struct place { int at; R part; };
__device__ __forceinline__ place<float> place_of(int x, int in, int out, bool few, float r)
{
    int twice = (2 * x + 1) * in - out, over = 2 * out;
    int at = floor_of(twice, over, few, r);
    return {at, quotient((float)(twice - at * over), (float)over, r)};
}
__device__ __forceinline__ int inside(int x, int size) { return x < 0 ? 0 : x < size ? x : size - 1; }
/* Between four pixels around y, x, whose places are -1 to the size - 1; beyond the edge the edge. */
template <class R, class From> __device__ __forceinline__ auto between(const From &from, image in, int b, place<R> y, place<R> x)
{
    int y0 = y.at < 0 ? 0 : y.at, y1 = y.at + 1 < in.h ? y.at + 1 : in.h - 1, x0 = x.at < 0 ? 0 : x.at, x1 = x.at + 1 < in.w ? x.at + 1 : in.w - 1;
    auto p = from(b, y0, x0), q = from(b, y0, x1), r = from(b, y1, x0), s = from(b, y1, x1);
    for (int c = 0; c < (int)(sizeof p.v / sizeof p.v[0]); c++) {
        R upper = p.v[c] + (q.v[c] - p.v[c]) * x.part, lower = r.v[c] + (s.v[c] - r.v[c]) * x.part;
        p.v[c] = upper + (lower - upper) * y.part;
    }
    return p;
}
