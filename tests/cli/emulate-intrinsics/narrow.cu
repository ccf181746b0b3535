/* Conversions of 4-bit, 6-bit and 8-bit floats against their tables. */
#include "common.cuh"
__device__ float e2m1(unsigned b)
{
    const float v[8] = {0, .5f, 1, 1.5f, 2, 3, 4, 6};
    return b & 8 ? -v[b & 7] : v[b & 7];
}
__device__ float e3m2(unsigned b)
{
    int e = b >> 2 & 7, m = b & 3;
    float v = e ? ldexpf(4 + m, e - 5) : ldexpf(m, -4);
    return b & 32 ? -v : v;
}
__device__ float e2m3(unsigned b)
{
    int e = b >> 3 & 3, m = b & 7;
    float v = e ? ldexpf(8 + m, e - 4) : ldexpf(m, -3);
    return b & 32 ? -v : v;
}
/* The nearest of n codes, of two the even one. */
template <class F> __device__ unsigned nearest(float x, unsigned n, F of)
{
    unsigned best = 0;
    float least = 1e30f;
    for (unsigned i = 0; i < n / 2; i++) {
        float away = fabsf(fabsf(x) - of(i));
        if (away < least || (away == least && i % 2 == 0))
            least = away, best = i;
    }
    return signbit(x) ? best | n / 2 : best;
}
__device__ float of_half(__half_raw h) { return __half2float(__half(h)); }

KERNEL narrow(unsigned *out)
{
    for (int i = threadIdx.x; i < 256; i += blockDim.x) {
        float a = value(i, 1 / 4096.f), b = value(i + 9999, 1 / 2048.f), s = ldexpf(1 + (mix(i + 5) & 1023) / 1024.f, (int)(mix(i) % 200) - 100);
        unsigned p = __nv_cvt_float2_to_fp4x2(make_float2(a, b), __NV_E2M1, cudaRoundNearest), exponent = __float_as_uint(s) >> 23;
        check(out, (p & 15) == nearest(a, 16, e2m1) && p >> 4 == nearest(b, 16, e2m1));
        __half2_raw h = __nv_cvt_fp4x2_to_halfraw2(p, __NV_E2M1);
        check(out, of_half(__half_raw{h.x}) == e2m1(p & 15) && of_half(__half_raw{h.y}) == e2m1(p >> 4));
        check(out, __nv_cvt_float_to_fp6(a, __NV_E3M2, cudaRoundNearest) == nearest(a, 64, e3m2));
        check(out, __nv_cvt_float_to_fp6(b, __NV_E2M3, cudaRoundNearest) == nearest(b, 64, e2m3));
        check(out, of_half(__nv_cvt_fp6_to_halfraw(i & 63, __NV_E3M2)) == e3m2(i & 63) && of_half(__nv_cvt_fp6_to_halfraw(i & 63, __NV_E2M3)) == e2m3(i & 63));
        check(out, __nv_cvt_float_to_e8m0(s, __NV_SATFINITE, cudaRoundZero) == exponent);
        check(out, __nv_cvt_float_to_e8m0(s, __NV_SATFINITE, cudaRoundPosInf) == exponent + ((__float_as_uint(s) & 0x7fffff) != 0));
        check(out, __bfloat162float(__nv_bfloat16(__nv_cvt_e8m0_to_bf16raw(exponent))) == ldexpf(1, (int)exponent - 127));
    }
}
