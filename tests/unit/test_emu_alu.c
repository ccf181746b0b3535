/* Single PTX operations against the C of their definition, bit for bit, on random and awkward operands, with every set of handlers
 * (portable, AVX2, AVX-512) this processor has, with full and with partly active warps. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "emu_run.h"

/* d, a, b, c are registers of so many bits; the instruction names them. */
struct operation {
    const char *text;
    int d, a, b, c;
    uint64_t (*reference)(uint64_t a, uint64_t b, uint64_t c);
};

union number {
    uint64_t u;
    float f;
    double d;
};
static float f32(uint64_t v)
{
    return (union number){v}.f;
}
static uint64_t u32(float f)
{
    return f != f ? 0x7fffffff : (uint32_t)(union number){.f = f}.u;
}
static double f64(uint64_t v)
{
    return (union number){v}.d;
}
static uint64_t u64(double d)
{
    return (union number){.d = d}.u;
}
#define S32(v) ((int32_t)(v))
#define S64(v) ((int64_t)(v))
#define REF(name, ...) \
    static uint64_t name(uint64_t a, uint64_t b, uint64_t c) \
    { \
        (void)a, (void)b, (void)c; \
        return (uint64_t)(__VA_ARGS__); \
    }
REF(r_add, a + b)
REF(r_sub, a - b)
REF(r_mul, a *b)
REF(r_mad, a *b + c)
REF(r_mulhi_s32, (uint32_t)((int64_t)S32(a) * S32(b) >> 32))
REF(r_mulhi_u32, (a & 0xffffffff) * (b & 0xffffffff) >> 32)
REF(r_mulhi_u64, (unsigned __int128)a *b >> 64)
REF(r_mulhi_s64, (__int128)S64(a) * S64(b) >> 64)
REF(r_wide_s32, (int64_t)S32(a) * S32(b))
REF(r_wide_u16, (uint32_t)(uint16_t)a *(uint16_t)b)
REF(r_madwide_s32, (uint64_t)((int64_t)S32(a) * S32(b)) + c)
REF(r_min_s32, S32(a) < S32(b) ? a : b)
REF(r_max_u64, a > b ? a : b)
REF(r_min_s16, (int16_t)a < (int16_t)b ? a : b)
REF(r_div_s32, (uint32_t)b == 0 ? 0xffffffffu : S32(b) == -1 ? 0u - (uint32_t)a : (uint32_t)(S32(a) / S32(b)))
REF(r_div_u32, (uint32_t)b == 0 ? 0xffffffff : (uint32_t)a / (uint32_t)b)
REF(r_rem_s32, (uint32_t)b == 0 ? ~0u : S32(b) == -1 ? 0 : (uint32_t)(S32(a) % S32(b)))
REF(r_rem_u64, b == 0 ? ~0ull : a % b)
REF(r_div_s64, b == 0 ? ~0ull : S64(b) == -1 ? 0 - a : (uint64_t)(S64(a) / S64(b)))
REF(r_shl_32, (uint32_t)b > 31 ? 0 : (uint32_t)a << (b & 31))
REF(r_shr_s32, (uint32_t)(S32(a) >> ((uint32_t)b > 31 ? 31 : b)))
REF(r_shr_u64, (uint32_t)b > 63 ? 0 : a >> (b & 63))
REF(r_shr_s64, S64(a) >> ((uint32_t)b > 63 ? 63 : b))
REF(r_shf_l, (uint32_t)((((b & 0xffffffff) << 32 | (a & 0xffffffff)) << (c & 31)) >> 32))
REF(r_shf_r_clamp, (uint32_t)c > 31 ? (uint32_t)b : (uint32_t)(((b & 0xffffffff) << 32 | (a & 0xffffffff)) >> (c & 31)))
REF(r_popc, __builtin_popcount((uint32_t)a))
REF(r_clz64, a ? __builtin_clzll(a) : 64)
REF(r_bfind, (uint32_t)a ? (uint32_t)(31 - __builtin_clz((uint32_t)a)) : 0xffffffffu)
static uint64_t r_brev(uint64_t a, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    uint32_t r = 0;
    for (int i = 0; i < 32; i++)
        r |= (uint32_t)(a >> i & 1) << (31 - i);
    return r;
}
/* bfe as the PTX manual writes it */
static uint64_t r_bfe_s32(uint64_t a, uint64_t b, uint64_t c)
{
    int pos = (int)(b & 0xff), len = (int)(c & 0xff), msb = 31;
    uint32_t d = 0, x = (uint32_t)a;
    uint32_t sbit = len == 0 ? 0 : x >> (pos + len - 1 < msb ? pos + len - 1 : msb) & 1;
    for (int i = 0; i <= msb; i++)
        d |= (uint32_t)((i < len && pos + i <= msb) ? x >> (pos + i) & 1 : sbit) << i;
    return d;
}
static uint64_t r_bfe_u32(uint64_t a, uint64_t b, uint64_t c)
{
    int pos = (int)(b & 0xff), len = (int)(c & 0xff);
    uint32_t d = 0;
    for (int i = 0; i <= 31; i++)
        d |= (uint32_t)((i < len && pos + i <= 31) ? (uint32_t)a >> (pos + i) & 1 : 0) << i;
    return d;
}
static uint64_t r_bfi(uint64_t a, uint64_t b, uint64_t c) /* position 5, length c */
{
    uint32_t f = (uint32_t)b;
    int pos = 5, len = (int)(c & 0xff);
    for (int i = 0; i < len && pos + i <= 31; i++)
        f = (f & ~(1u << (pos + i))) | (uint32_t)(a >> i & 1) << (pos + i);
    return f;
}
static uint64_t r_prmt(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t v = (b & 0xffffffff) << 32 | (a & 0xffffffff);
    uint32_t d = 0;
    for (int i = 0; i < 4; i++) {
        int s = (int)(c >> 4 * i & 15);
        uint32_t byte = (uint32_t)(v >> 8 * (s & 7)) & 0xff;
        d |= (s & 8 ? (byte & 0x80 ? 0xffu : 0) : byte) << 8 * i;
    }
    return d;
}
static uint64_t r_lop3(uint64_t a, uint64_t b, uint64_t c) /* 0x6a */
{
    uint32_t d = 0;
    for (int i = 0; i < 32; i++) {
        int index = (int)((a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1));
        d |= (uint32_t)(0x6a >> index & 1) << i;
    }
    return d;
}
static uint64_t r_dp4a(uint64_t a, uint64_t b, uint64_t c)
{
    uint32_t d = (uint32_t)c;
    for (int i = 0; i < 4; i++)
        d += (uint32_t)((int8_t)(a >> 8 * i) * (int8_t)(b >> 8 * i));
    return d;
}
static double half_value(uint16_t h)
{
    int e = h >> 10 & 31, m = h & 1023;
    double v = e ? ldexp(m + 1024, e - 25) : ldexp(m, -24);
    if (e == 31)
        v = m ? NAN : INFINITY;
    return h & 0x8000 ? -v : v;
}
#define F16(v) ((float)half_value((uint16_t)(v)))
REF(r_fadd_f16, u32(F16(a) + f32(b)))
REF(r_fsub_f16, u32(F16(a) - f32(b)))
REF(r_fsub_bf16, u32(f32((a & 0xffff) << 16) - f32(b)))
REF(r_ffma_f16, u32(fmaf(F16(a), F16(b), f32(c))))
REF(r_fadd_bf16_sat, u32(fminf(fmaxf(f32((a & 0xffff) << 16) + f32(b), 0), 1) + 0.0f))
REF(r_fadd, u32(f32(a) + f32(b)))
REF(r_fsub, u32(f32(a) - f32(b)))
REF(r_fmul, u32(f32(a) * f32(b)))
REF(r_ffma, u32(fmaf(f32(a), f32(b), f32(c))))
REF(r_fdiv, u32(f32(a) / f32(b)))
REF(r_fsqrt, u32(sqrtf(f32(a))))
REF(r_frcp, u32(1.0f / f32(a)))
static float zap(float f)
{
    return fabsf(f) < FLT_MIN ? copysignf(0, f) : f;
}
REF(r_fadd_ftz, u32(zap(zap(f32(a)) + zap(f32(b)))))
REF(r_ffma_ftz, u32(zap(fmaf(zap(f32(a)), zap(f32(b)), zap(f32(c))))))
REF(r_dadd, u64(f64(a) + f64(b)))
REF(r_dfma, u64(fma(f64(a), f64(b), f64(c))))
REF(r_neg, (uint32_t)a ^ 0x80000000u)
/* -0 < +0; NaN loses */
static uint64_t r_fmin(uint64_t a, uint64_t b, uint64_t c)
{
    (void)c;
    float x = f32(a), y = f32(b);
    if (x != x)
        return u32(y);
    if (y != y)
        return u32(x);
    if (x == 0 && y == 0)
        return signbit(x) || signbit(y) ? 0x80000000u : 0;
    return u32(x < y ? x : y);
}
REF(r_sat, u32(f32(a) + f32(b) > 0 ? (f32(a) + f32(b) < 1 ? f32(a) + f32(b) : 1) : 0))
/* directed rounding by way of long double: sums and products of floats are exact or nearly so there; the nearest float is then moved */
static uint64_t directed(long double exact, int direction)
{
    float f = (float)exact;
    if (direction < 0 && (long double)f > exact)
        f = nextafterf(f, -INFINITY);
    if (direction > 0 && (long double)f < exact)
        f = nextafterf(f, INFINITY);
    return u32(f);
}
static uint64_t r_fmul_rm(uint64_t a, uint64_t b, uint64_t c)
{
    (void)c;
    return directed((long double)f32(a) * f32(b), -1);
}
static uint64_t r_fmul_rp(uint64_t a, uint64_t b, uint64_t c)
{
    (void)c;
    return directed((long double)f32(a) * f32(b), 1);
}
REF(r_cvt_s32_rzi, f32(a) != f32(a) ? 0u
                                    : (uint32_t)(f32(a) >= 2147483648.0f   ? INT32_MAX
                                                 : f32(a) < -2147483648.0f ? INT32_MIN
                                                                           : (int32_t)f32(a)))
REF(r_cvt_u8, (uint8_t)a)
REF(r_cvt_s8, (uint32_t)(int8_t)a)
REF(r_cvt_sat_u8, S32(a) < 0 ? 0u : S32(a) > 255 ? 255u : (uint32_t)a)
REF(r_cvt_s64, (int64_t)S32(a))
REF(r_cvt_f32_s32, u32((float)S32(a)))
REF(r_cvt_f32_u64, u32((float)a))
REF(r_cvt_f64_f32, u64((double)f32(a)))
REF(r_cvt_rm_f32_s32, directed((long double)S32(a), -1))
REF(r_cvt_rp_f32_u64, directed((long double)a, 1))
REF(r_cvt_rz_f32_s32, directed((long double)S32(a), S32(a) < 0 ? 1 : -1))
REF(r_cvt_rm_f32_f64, directed((long double)f64(a), -1))
REF(r_cvt_rp_f32_f64, directed((long double)f64(a), 1))
/* 64 bits of mantissa hold every u64; the nearest double may lie below it */
REF(r_cvt_rp_f64_u64, u64((long double)(double)a < (long double)a ? nextafter((double)a, INFINITY) : (double)a))
REF(r_cvt_rm_f64_u64, u64((long double)(double)a > (long double)a ? nextafter((double)a, -INFINITY) : (double)a))
REF(r_cvt_rni, u32(rintf(f32(a))))
REF(r_selp, S32(a) < S32(b) ? c : a)
REF(r_slct, S32(c) >= 0 ? a : b)
REF(r_slct_ftz, fabsf(f32(c)) < FLT_MIN || f32(c) >= 0 ? a : b)
static uint64_t r_slow_half(uint64_t a, uint64_t b,
                            uint64_t c) /* cvt.rn.f16.f32 from the definition: the nearest of all 65,536 by bisection of the order */
{
    (void)b, (void)c;
    float x = f32(a), m = fabsf(x);
    uint16_t sign = signbit(x) ? 0x8000 : 0;
    if (x != x)
        return 0x7fff;
    if (m >= 65520.0f)
        return sign | 0x7c00;
    int e;
    frexpf(m, &e);
    e = e - 1 < -14 ? -14 : e - 1;
    double q = rint(ldexp((double)m, 10 - e));
    if (q < 1024)
        return sign | (uint16_t)q;
    return (uint16_t)(sign | (((e + 15) << 10) + ((int)q - 1024)));
}
static uint64_t r_bf16(uint64_t a, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    uint32_t u = (uint32_t)a;
    if (f32(a) != f32(a))
        return 0x7fff;
    uint32_t low = u & 0xffff, up = u >> 16;
    return up + (low > 0x8000 || (low == 0x8000 && (up & 1)));
}

/* Bits 47 to 16 of the product of the operands' low 24 bits. */
static uint64_t r_mul24_hi_u(uint64_t a, uint64_t b, uint64_t c)
{
    return (uint32_t)((a & 0xffffff) * (b & 0xffffff) >> 16);
}
static int64_t low_24(uint64_t v)
{
    return (int64_t)(v & 0xffffff) - ((v & 0x800000) ? 0x1000000 : 0);
}
static uint64_t r_mul24_hi_s(uint64_t a, uint64_t b, uint64_t c)
{
    return (uint32_t)((uint64_t)(low_24(a) * low_24(b)) >> 16);
}
static uint64_t r_sad_u64(uint64_t a, uint64_t b, uint64_t c)
{
    return c + (a < b ? b - a : a - b);
}
static uint64_t r_sad_s64(uint64_t a, uint64_t b, uint64_t c)
{
    return c + ((int64_t)a < (int64_t)b ? b - a : a - b);
}
static uint64_t r_vshr_add(uint64_t a, uint64_t b, uint64_t c)
{
    return (uint32_t)((b > 31 ? 0 : (uint32_t)a >> b) + c);
}
static uint64_t r_vshr_signed(uint64_t a, uint64_t b, uint64_t c)
{
    return (uint32_t)((int32_t)a >> (b > 31 ? 31 : b));
}
static uint64_t r_vshr_min(uint64_t a, uint64_t b, uint64_t c)
{
    int32_t v = (int32_t)a >> (b & 31);
    return (uint32_t)(v < (int32_t)c ? v : (int32_t)c);
}
static uint64_t r_vshl_sat(uint64_t a, uint64_t b, uint64_t c)
{
    double v = (double)(uint32_t)a * (double)(1ull << (b > 32 ? 32 : b));
    return v > 4294967295.0 ? 0xffffffff : (uint32_t)v;
}
static uint64_t r_vshl_max(uint64_t a, uint64_t b, uint64_t c)
{
    uint32_t v = (uint32_t)a << (b & 31);
    return v > (uint32_t)c ? v : (uint32_t)c;
}
static const struct operation operations[] = {
    {"vshr.u32.u32.u32.clamp.add %d, %a, %b, %c", 32, 32, 32, 32, r_vshr_add},
    {"vshr.s32.s32.u32.clamp %d, %a, %b", 32, 32, 32, 0, r_vshr_signed},
    {"vshr.s32.s32.u32.wrap.min %d, %a, %b, %c", 32, 32, 32, 32, r_vshr_min},
    {"vshl.u32.u32.u32.sat.clamp %d, %a, %b", 32, 32, 32, 0, r_vshl_sat},
    {"vshl.u32.u32.u32.wrap.max %d, %a, %b, %c", 32, 32, 32, 32, r_vshl_max},
    {"mul24.hi.u32 %d, %a, %b", 32, 32, 32, 0, r_mul24_hi_u},
    {"mul24.hi.s32 %d, %a, %b", 32, 32, 32, 0, r_mul24_hi_s},
    {"sad.u64 %d, %a, %b, %c", 64, 64, 64, 64, r_sad_u64},
    {"sad.s64 %d, %a, %b, %c", 64, 64, 64, 64, r_sad_s64},
    {"add.s32 %d, %a, %b", 32, 32, 32, 0, r_add},
    {"sub.s64 %d, %a, %b", 64, 64, 64, 0, r_sub},
    {"add.s16 %d, %a, %b", 16, 16, 16, 0, r_add},
    {"mul.lo.s32 %d, %a, %b", 32, 32, 32, 0, r_mul},
    {"mul.lo.s64 %d, %a, %b", 64, 64, 64, 0, r_mul},
    {"mad.lo.s32 %d, %a, %b, %c", 32, 32, 32, 32, r_mad},
    {"mul.hi.s32 %d, %a, %b", 32, 32, 32, 0, r_mulhi_s32},
    {"mul.hi.u32 %d, %a, %b", 32, 32, 32, 0, r_mulhi_u32},
    {"mul.hi.u64 %d, %a, %b", 64, 64, 64, 0, r_mulhi_u64},
    {"mul.hi.s64 %d, %a, %b", 64, 64, 64, 0, r_mulhi_s64},
    {"mul.wide.s32 %d, %a, %b", 64, 32, 32, 0, r_wide_s32},
    {"mul.wide.u16 %d, %a, %b", 32, 16, 16, 0, r_wide_u16},
    {"mad.wide.s32 %d, %a, %b, %c", 64, 32, 32, 64, r_madwide_s32},
    {"min.s32 %d, %a, %b", 32, 32, 32, 0, r_min_s32},
    {"max.u64 %d, %a, %b", 64, 64, 64, 0, r_max_u64},
    {"min.s16 %d, %a, %b", 16, 16, 16, 0, r_min_s16},
    {"div.s32 %d, %a, %b", 32, 32, 32, 0, r_div_s32},
    {"div.u32 %d, %a, %b", 32, 32, 32, 0, r_div_u32},
    {"rem.s32 %d, %a, %b", 32, 32, 32, 0, r_rem_s32},
    {"rem.u64 %d, %a, %b", 64, 64, 64, 0, r_rem_u64},
    {"div.s64 %d, %a, %b", 64, 64, 64, 0, r_div_s64},
    {"shl.b32 %d, %a, %b", 32, 32, 32, 0, r_shl_32},
    {"shr.s32 %d, %a, %b", 32, 32, 32, 0, r_shr_s32},
    {"shr.u64 %d, %a, %b", 64, 64, 32, 0, r_shr_u64},
    {"shr.s64 %d, %a, %b", 64, 64, 32, 0, r_shr_s64},
    {"shf.l.wrap.b32 %d, %a, %b, %c", 32, 32, 32, 32, r_shf_l},
    {"shf.r.clamp.b32 %d, %a, %b, %c", 32, 32, 32, 32, r_shf_r_clamp},
    {"popc.b32 %d, %a", 32, 32, 0, 0, r_popc},
    {"clz.b64 %d, %a", 32, 64, 0, 0, r_clz64},
    {"bfind.u32 %d, %a", 32, 32, 0, 0, r_bfind},
    {"brev.b32 %d, %a", 32, 32, 0, 0, r_brev},
    {"bfe.s32 %d, %a, %b, %c", 32, 32, 32, 32, r_bfe_s32},
    {"bfe.u32 %d, %a, %b, %c", 32, 32, 32, 32, r_bfe_u32},
    {"bfi.b32 %d, %a, %b, 5, %c", 32, 32, 32, 32, r_bfi},
    {"prmt.b32 %d, %a, %b, %c", 32, 32, 32, 32, r_prmt},
    {"lop3.b32 %d, %a, %b, %c, 0x6a", 32, 32, 32, 32, r_lop3},
    {"dp4a.s32.s32 %d, %a, %b, %c", 32, 32, 32, 32, r_dp4a},
    {"add.f32 %d, %a, %b", 32, 32, 32, 0, r_fadd},
    {"sub.rn.f32 %d, %a, %b", 32, 32, 32, 0, r_fsub},
    {"mul.f32 %d, %a, %b", 32, 32, 32, 0, r_fmul},
    {"fma.rn.f32 %d, %a, %b, %c", 32, 32, 32, 32, r_ffma},
    {"add.f32.f16 %d, %a, %b", 32, 16, 32, 0, r_fadd_f16},
    {"sub.rn.f32.f16 %d, %a, %b", 32, 16, 32, 0, r_fsub_f16},
    {"sub.f32.bf16 %d, %a, %b", 32, 16, 32, 0, r_fsub_bf16},
    {"add.rn.sat.f32.bf16 %d, %a, %b", 32, 16, 32, 0, r_fadd_bf16_sat},
    {"fma.rn.f32.f16 %d, %a, %b, %c", 32, 16, 16, 32, r_ffma_f16},
    {"div.rn.f32 %d, %a, %b", 32, 32, 32, 0, r_fdiv},
    {"sqrt.rn.f32 %d, %a", 32, 32, 0, 0, r_fsqrt},
    {"rcp.rn.f32 %d, %a", 32, 32, 0, 0, r_frcp},
    {"add.ftz.f32 %d, %a, %b", 32, 32, 32, 0, r_fadd_ftz},
    {"fma.rn.ftz.f32 %d, %a, %b, %c", 32, 32, 32, 32, r_ffma_ftz},
    {"add.f64 %d, %a, %b", 64, 64, 64, 0, r_dadd},
    {"fma.rn.f64 %d, %a, %b, %c", 64, 64, 64, 64, r_dfma},
    {"neg.f32 %d, %a", 32, 32, 0, 0, r_neg},
    {"min.f32 %d, %a, %b", 32, 32, 32, 0, r_fmin},
    {"add.sat.f32 %d, %a, %b", 32, 32, 32, 0, r_sat},
    {"mul.rm.f32 %d, %a, %b", 32, 32, 32, 0, r_fmul_rm},
    {"mul.rp.f32 %d, %a, %b", 32, 32, 32, 0, r_fmul_rp},
    {"cvt.rzi.s32.f32 %d, %a", 32, 32, 0, 0, r_cvt_s32_rzi},
    {"cvt.u32.u8 %d, %a", 32, 32, 0, 0, r_cvt_u8},
    {"cvt.s32.s8 %d, %a", 32, 32, 0, 0, r_cvt_s8},
    {"cvt.sat.u8.s32 %d, %a", 32, 32, 0, 0, r_cvt_sat_u8},
    {"cvt.s64.s32 %d, %a", 64, 32, 0, 0, r_cvt_s64},
    {"cvt.rn.f32.s32 %d, %a", 32, 32, 0, 0, r_cvt_f32_s32},
    {"cvt.rn.f32.u64 %d, %a", 32, 64, 0, 0, r_cvt_f32_u64},
    {"cvt.f64.f32 %d, %a", 64, 32, 0, 0, r_cvt_f64_f32},
    {"cvt.rni.f32.f32 %d, %a", 32, 32, 0, 0, r_cvt_rni},
    {"cvt.rn.f16.f32 %d, %a", 16, 32, 0, 0, r_slow_half},
    {"cvt.rn.bf16.f32 %d, %a", 16, 32, 0, 0, r_bf16},
    {"cvt.rm.f32.s32 %d, %a", 32, 32, 0, 0, r_cvt_rm_f32_s32},
    {"cvt.rp.f32.u64 %d, %a", 32, 64, 0, 0, r_cvt_rp_f32_u64},
    {"cvt.rz.f32.s32 %d, %a", 32, 32, 0, 0, r_cvt_rz_f32_s32},
    {"cvt.rm.f32.f64 %d, %a", 32, 64, 0, 0, r_cvt_rm_f32_f64},
    {"cvt.rp.f32.f64 %d, %a", 32, 64, 0, 0, r_cvt_rp_f32_f64},
    {"cvt.rp.f64.u64 %d, %a", 64, 64, 0, 0, r_cvt_rp_f64_u64},
    {"cvt.rm.f64.u64 %d, %a", 64, 64, 0, 0, r_cvt_rm_f64_u64},
    {"setp.lt.s32 %p, %a, %b; selp.b32 %d, %c, %a, %p", 32, 32, 32, 32, r_selp},
    {"slct.b64.s32 %d, %a, %b, %c", 64, 64, 64, 32, r_slct},
    {"slct.ftz.u32.f32 %d, %a, %b, %c", 32, 32, 32, 32, r_slct_ftz},
};

/* All 1,024 threads: values by index; the second half of the test runs the odd lanes only. */
static char *kernel_text(const struct operation *o, bool odd)
{
    struct text t = {0};
    text_add(&t, ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, "
                 ".param .u64 pd)\n{\n.reg .b64 %x<9>;\n.reg "
                 ".b32 %t<4>;\n.reg .pred %p, %q;\n");
    text_addf(&t, ".reg .b%d %%d;\n.reg .b%d %%a;\n.reg .b%d %%b;\n.reg .b%d %%c;\n", o->d, o->a, o->b ? o->b : 32, o->c ? o->c : 32);
    text_add(&t, "mov.u32 %t1, %tid.x;\nand.b32 %t2, %t1, 1;\nsetp.eq.s32 %q, %t2, 0;\nmul.wide.u32 %x1, %t1, 8;\n");
    if (odd)
        text_add(&t, "@%q bra END;\n");
    const char *names = "abcd";
    for (int i = 0; i < 4; i++)
        text_addf(&t, "ld.param.u64 %%x%d, [p%c];\nadd.s64 %%x%d, %%x%d, %%x1;\n", i + 2, names[i], i + 2, i + 2);
    text_addf(&t, "ld.global.b%d %%a, [%%x2];\nld.global.b%d %%b, [%%x3];\nld.global.b%d %%c, [%%x4];\n", o->a, o->b ? o->b : 32,
              o->c ? o->c : 32);
    text_addf(&t, "%s;\nst.global.b%d [%%x5], %%d;\nEND: ret;\n}\n", o->text, o->d);
    return text_take(&t);
}

#define N 1024
static uint64_t random_state = 88172645463325252ull;
static uint64_t random_64(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}

/* Numbers near each other, small ones, the awkward ones of each type. */
static uint64_t operand(int i, int which)
{
    static const uint32_t awkward[] = {0,          0x80000000, 1,          0xffffffff, 0x7fffffff, 0x7f800000, 0xff800000, 0x7fc00000,
                                       0x3f800000, 0xbf800000, 0x00800000, 0x007fffff, 0x7f7fffff, 0x80000001, 0x477fe000, 0x33000000,
                                       0x38800000, 0x4f000000, 0xcf000000, 31,         32,         33,         64};
    int n = sizeof awkward / sizeof *awkward;
    if (i < n * n)
        return awkward[(which ? i / n : i) % n] | (uint64_t)awkward[(i + which * 7) % n] << 32;
    uint64_t r = random_64();
    switch (i % 4) {
    case 0: return r & 0xff;
    case 1: return (r & 0x807fffff807fffffull) | 0x3f0000003f000000ull; /* floats around one */
    default: return r;
    }
}

static uint64_t mask_of(int bits)
{
    return bits == 64 ? ~0ull : ((uint64_t)1 << bits) - 1;
}

static void run_operation(const struct operation *o, bool odd)
{
    static uint64_t a[N], b[N], c[N], d[N];
    for (int i = 0; i < N; i++) {
        a[i] = operand(i, 0), b[i] = operand(i, 1), c[i] = operand((i * 3 + 1) % N, 1);
        d[i] = 0x1111111111111111ull;
    }
    char *ptx = kernel_text(o, odd);
    struct emu_test t;
    emu_test_text(&t, o->text, ptx, "k");
    free(ptx);
    uint64_t out = 0;
    emu_test_pointer(&t, emu_test_buffer(&t, "a", a, sizeof a));
    emu_test_pointer(&t, emu_test_buffer(&t, "b", b, sizeof b));
    emu_test_pointer(&t, emu_test_buffer(&t, "c", c, sizeof c));
    emu_test_pointer(&t, out = emu_test_buffer(&t, "d", d, sizeof d));
    t.launch.block[0] = N;
    emu_test_run(&t);
    emu_test_read(&t, out, d, sizeof d);
    for (int i = 0; i < N; i++) {
        uint64_t want =
            o->reference(a[i] & mask_of(o->a), b[i] & mask_of(o->b ? o->b : 32), c[i] & mask_of(o->c ? o->c : 32)) & mask_of(o->d);
        if (odd && i % 2 == 0)
            want = 0x1111111111111111ull & mask_of(o->d);
        if ((d[i] & mask_of(o->d)) != want)
            fail_msg("%s: a %llx b %llx c %llx: %llx, want %llx", o->text, (unsigned long long)a[i], (unsigned long long)b[i],
                     (unsigned long long)c[i], (unsigned long long)(d[i] & mask_of(o->d)), (unsigned long long)want);
    }
    assert_int_equal(emu_test_reports(&t), 0);
    emu_test_close(&t);
}

static void run_all(const char *isa)
{
    setenv("BENCH_EMU_ISA", isa, 1);
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        run_operation(&operations[i], false);
        run_operation(&operations[i], true);
    }
    unsetenv("BENCH_EMU_ISA");
}
#define WITH(isa) \
    static void isa(void **state) \
    { \
        run_all(#isa); \
    }
WITH(portable)
WITH(v3)
WITH(v4)
WITH(jit)

/* f16 and bf16 fused multiply-add: one rounding, against double-double arithmetic. Every lane of f16x2. */
static void half_fma(void **state)
{
    static uint32_t a[N], b[N], c[N], d[N];
    for (int i = 0; i < N; i++)
        a[i] = (uint32_t)random_64(), b[i] = (uint32_t)random_64(), c[i] = (uint32_t)random_64();
    struct operation o = {"fma.rn.f16x2 %d, %a, %b, %c", 32, 32, 32, 32, NULL};
    char *ptx = kernel_text(&o, false);
    static uint64_t pa[N], pb[N], pc[N], pd[N];
    for (int i = 0; i < N; i++)
        pa[i] = a[i], pb[i] = b[i], pc[i] = c[i];
    struct emu_test t;
    emu_test_text(&t, o.text, ptx, "k");
    free(ptx);
    uint64_t out;
    emu_test_pointer(&t, emu_test_buffer(&t, "a", pa, sizeof pa));
    emu_test_pointer(&t, emu_test_buffer(&t, "b", pb, sizeof pb));
    emu_test_pointer(&t, emu_test_buffer(&t, "c", pc, sizeof pc));
    emu_test_pointer(&t, out = emu_test_buffer(&t, "d", pd, sizeof pd));
    t.launch.block[0] = N;
    emu_test_run(&t);
    emu_test_read(&t, out, pd, sizeof pd);
    for (int i = 0; i < N; i++) {
        d[i] = (uint32_t)pd[i];
        for (int h = 0; h < 2; h++) {
            double exact = half_value((uint16_t)(a[i] >> 16 * h)) * half_value((uint16_t)(b[i] >> 16 * h)) +
                           half_value((uint16_t)(c[i] >> 16 * h)); /* exact: at most 41 bits */
            double got = half_value((uint16_t)(d[i] >> 16 * h));
            if (exact != exact) {
                assert_int_equal((uint16_t)(d[i] >> 16 * h), 0x7fff);
                continue;
            }
            if (fabs(exact) >= 65520.0) {
                assert_true(got == copysign(INFINITY, exact));
                continue;
            }
            int e;
            frexp(exact, &e);
            e = e - 1 < -14 ? -14 : e - 1;
            double want = ldexp(rint(ldexp(exact, 10 - e)), e - 10);
            if (got != want)
                fail_msg("fma.f16 %04x %04x %04x: %g, want %g", a[i] >> 16 * h & 0xffff, b[i] >> 16 * h & 0xffff, c[i] >> 16 * h & 0xffff,
                         got, want);
        }
    }
    emu_test_close(&t);
}

/* One-operand f32 instruction over x[N], N values. */
static void approximate(const char *text, const float *x, double *y)
{
    static uint64_t px[N], py[N];
    struct operation o = {text, 32, 32, 32, 32, NULL};
    char *ptx = kernel_text(&o, false);
    struct emu_test t;
    uint64_t out;
    for (int i = 0; i < N; i++)
        px[i] = u32(x[i]);
    emu_test_text(&t, text, ptx, "k");
    free(ptx);
    for (int i = 0; i < 3; i++)
        emu_test_pointer(&t, emu_test_buffer(&t, "x", px, sizeof px));
    emu_test_pointer(&t, out = emu_test_buffer(&t, "y", py, sizeof py));
    t.launch.block[0] = N;
    emu_test_run(&t);
    emu_test_read(&t, out, py, sizeof py);
    for (int i = 0; i < N; i++)
        y[i] = f32(py[i]);
    emu_test_close(&t);
}

/* Errors of tanh, sine and cosine reach the limits of the PTX manual (tanh 2^-11 of its value; sine and cosine 2^-20.5 up to 2 pi and
 * 2^-14.7 up to 100 pi) and almost all of them. So a kernel that relies on higher accuracy fails here, as on a GPU. */
static void approximations(void **state)
{
    static float x[N];
    static double y[N];
    const double pi = 3.14159265358979323846;
    double most = 0;
    for (int i = 0; i < N; i++)
        x[i] = (float)(6.0 * (i + 0.37) / N - 3);
    approximate("tanh.approx.f32 %d, %a", x, y);
    for (int i = 0; i < N; i++)
        most = fmax(most, fabs(y[i] / tanh(x[i]) - 1));
    assert_true(most <= 0x1p-11 && most > 0x1p-13);
    const float odd[] = {0, -0.0f, 20, -20, INFINITY, -INFINITY};
    memcpy(x, odd, sizeof odd);
    x[6] = NAN;
    approximate("tanh.approx.f32 %d, %a", x, y);
    for (int i = 0; i < 6; i++)
        assert_true(y[i] == tanh(odd[i]) && !signbit(y[i]) == !signbit(odd[i]));
    assert_true(isnan(y[6]));
    for (int far = 0; far < 2; far++)
        for (int cosine = 0; cosine < 2; cosine++) {
            for (int i = 0; i < N; i++)
                x[i] = (float)((far ? 200 : 4) * pi * ((i + 0.37) / N - 0.5));
            approximate(cosine ? "cos.approx.ftz.f32 %d, %a" : "sin.approx.f32 %d, %a", x, y);
            most = 0;
            for (int i = 0; i < N; i++)
                most = fmax(most, fabs(y[i] - (cosine ? cos(x[i]) : sin(x[i]))));
            assert_true(far ? most < pow(2, -14.7) && most > 0x1p-20 : most < pow(2, -20.5));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(portable), cmocka_unit_test(v3),       cmocka_unit_test(v4),
                                       cmocka_unit_test(jit),      cmocka_unit_test(half_fma), cmocka_unit_test(approximations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
