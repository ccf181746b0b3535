/* emu/run/convert: cvt in its general form: every lane through one exact intermediate and one rounding. */
#include "base/dtype.h"
#include "emu/convert.h"
#include "emu/handlers.h"
#include <fenv.h>
#include <math.h>
#include <string.h>

/* kind = source form, size = bytes of the source's lanes, count = bytes of the destination's lanes, aux = destination form,
 * imm = bits of convert.h. For packed results (f16x2, bf16x2, e4m3x2, e2m1x2 ...) a goes to the upper half, b to the lower. */

struct number { /* exact: integers as i or u, floats as f */
    enum { IS_SIGNED, IS_UNSIGNED, IS_FLOAT } is;
    int64_t i;
    uint64_t u;
    double f;
};

static const int64_t FROM_F64 = (int64_t)1 << 16; /* beside the bits of CONVERT_ */

static bool form_is_float(int form)
{
    return form >= FORM_F16;
}
static int form_bits(int form)
{
    return form <= FORM_S8 ? 8 : form <= FORM_S16 ? 16 : form <= FORM_S32 ? 32 : form <= FORM_S64 ? 64 : 0;
}

/* Floats of at most 8 bits. */
static const struct narrow_float *narrow_form(int form)
{
    static const struct narrow_float e2m3 = {3, 1, 0x20, 7.5}, e3m2 = {2, 3, 0x20, 28};
    return form == FORM_E4M3   ? &narrow_e4m3
           : form == FORM_E5M2 ? &narrow_e5m2
           : form == FORM_E2M1 ? &narrow_e2m1
           : form == FORM_E2M3 ? &e2m3
                               : &e3m2;
}

double narrow_value(uint8_t v, int form)
{
    return form == FORM_UE8M0  ? dtype_get(DTYPE_E8M0, &v, 0)
           : form == FORM_S2F6 ? (int8_t)v / 64.0 /* a fixed point with 6 bits behind it */
                               : narrow_get(narrow_form(form), v);
}

/* As .satfinite (the only form there is). A NaN becomes all ones except the sign, or the largest number if the type has no NaN. A power of
 * two is rounded by its mode, from the magnitude. */
static uint8_t narrow_round(double d, int form, int64_t flags)
{
    if (form == FORM_UE8M0) {
        int exponent;
        double m = frexp(fmax(fabs(d), 0x1p-127), &exponent);
        exponent += 126 + ((flags & CONVERT_MODE) == ROUND_P && m > 0.5);
        return d != d ? 255 : (uint8_t)(exponent < 255 ? exponent : flags & CONVERT_FINITE ? 254 : 255);
    }
    if (form == FORM_S2F6) /* that -2 stays and is not the largest magnitude's -127/64 is assumed */
        return (uint8_t)(int)rint(d != d ? 127 : fmin(fmax(d * 64, -128), 127));
    const struct narrow_float *f = narrow_form(form);
    return d != d ? (uint8_t)(f->sign - 1) : narrow_from_f64(f, d);
}

static struct number fetch(const uint8_t *lane, int form, uint32_t bits)
{
    struct number n = {IS_UNSIGNED, 0, 0, 0};
    uint64_t v = 0;
    float f;
    memcpy(&v, lane, bits);
    switch (form) {
    case FORM_U8: n.u = (uint8_t)v; break;
    case FORM_U16: n.u = (uint16_t)v; break;
    case FORM_U32: n.u = (uint32_t)v; break;
    case FORM_U64: n.u = v; break;
    case FORM_S8: n.is = IS_SIGNED, n.i = (int8_t)v; break;
    case FORM_S16: n.is = IS_SIGNED, n.i = (int16_t)v; break;
    case FORM_S32: n.is = IS_SIGNED, n.i = (int32_t)v; break;
    case FORM_S64: n.is = IS_SIGNED, n.i = (int64_t)v; break;
    case FORM_F16: n.is = IS_FLOAT, n.f = (double)f16_to_f32((uint16_t)v); break;
    case FORM_BF16: n.is = IS_FLOAT, n.f = (double)bf16_to_f32((uint16_t)v); break;
    case FORM_E4M3:
    case FORM_E5M2:
    case FORM_E2M1:
    case FORM_E2M3:
    case FORM_E3M2:
    case FORM_S2F6:
    case FORM_UE8M0: n.is = IS_FLOAT, n.f = narrow_value((uint8_t)v, form); break;
    case FORM_F64: n.is = IS_FLOAT, memcpy(&n.f, &v, 8); break;
    default: n.is = IS_FLOAT, memcpy(&f, &v, 4), n.f = (double)f; break;
    }
    return n;
}

static double round_integral(double x, int mode)
{
    switch (mode) {
    case ROUND_Z: return trunc(x);
    case ROUND_M: return floor(x);
    case ROUND_P: return ceil(x);
    default: return rint(x);
    }
}

/* To an integer of so many bits; floats saturate, integers wrap unless .sat. */
static uint64_t to_integer(struct number n, int form, int64_t flags)
{
    int bits = form_bits(form);
    bool is_signed = form == FORM_S8 || form == FORM_S16 || form == FORM_S32 || form == FORM_S64;
    double low = is_signed ? -ldexp(1, bits - 1) : 0, high = ldexp(1, is_signed ? bits - 1 : bits); /* high: first value too large */
    uint64_t most = is_signed ? ((uint64_t)1 << (bits - 1)) - 1 : bits == 64 ? ~0ull : ((uint64_t)1 << bits) - 1;
    if (n.is == IS_FLOAT) {
        if (n.f != n.f)
            return flags & CONVERT_UNPACK ? 0 : ((flags & FROM_F64) || bits == 64) ? (uint64_t)1 << (bits - 1) : 0;
        double r = round_integral(n.f, (int)(flags & CONVERT_MODE));
        if (r >= high)
            return most;
        if (r < low)
            return is_signed ? (uint64_t)1 << (bits - 1) : 0;
        return is_signed ? (uint64_t)(int64_t)r : (uint64_t)r;
    }
    if (!(flags & CONVERT_SAT))
        return n.is == IS_SIGNED ? (uint64_t)n.i : n.u;
    if (n.is == IS_SIGNED) {
        if (!is_signed && n.i < 0)
            return 0;
        if (n.i >= 0 && (uint64_t)n.i > most)
            return most;
        if (is_signed && n.i < -(int64_t)most - 1)
            return (uint64_t)(-(int64_t)most - 1);
        return (uint64_t)n.i;
    }
    return n.u > most ? most : n.u;
}

/* One rounding of an exact number to float or double, in the mode. */
static const int fe_modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD, FE_TONEAREST};
static float to_float(struct number n, int mode)
{
    if (fe_modes[mode] == FE_TONEAREST)
        return n.is == IS_FLOAT ? (float)n.f : n.is == IS_SIGNED ? (float)n.i : (float)n.u;
    volatile double d = n.f;
    volatile int64_t i = n.i;
    volatile uint64_t u = n.u;
    fesetround(fe_modes[mode]);
    volatile float f = n.is == IS_FLOAT ? (float)d : n.is == IS_SIGNED ? (float)i : (float)u;
    fesetround(FE_TONEAREST);
    return f;
}
static double to_double(struct number n, int mode)
{
    if (n.is == IS_FLOAT)
        return n.f;
    volatile int64_t i = n.i;
    volatile uint64_t u = n.u;
    fesetround(fe_modes[mode]);
    volatile double d = n.is == IS_SIGNED ? (double)i : (double)u;
    fesetround(FE_TONEAREST);
    return d;
}

/* To a short float of p significant bits, least exponent e (of the lowest normal), in any mode; exact numbers in. */
static double round_short(double d, int p, int e, int mode)
{
    int exponent;
    if (d == 0 || d != d || isinf(d))
        return d;
    frexp(d, &exponent);
    exponent--;
    if (exponent < e)
        exponent = e;
    double scaled = ldexp(d, p - 1 - exponent);
    double r = mode == ROUND_A ? copysign(floor(fabs(scaled) + 0.5), scaled) : round_integral(scaled, mode);
    return ldexp(r, exponent - p + 1);
}

/* .satfinite: no further than the largest number of the type */
static double within(double d, double most, int64_t flags)
{
    return (flags & CONVERT_FINITE) && fabs(d) > most ? copysign(most, d) : d;
}

/* Rounded to odd where a double cannot hold it, so that a further rounding to fewer bits is the only one that shows. */
static double odd_double(uint64_t u)
{
    return (double)(u >> 53 ? (u & ~0xfffull) | (u & 0xfff ? 0x800 : 0) : u);
}

static uint64_t to_half(struct number n, bool bf16, int64_t flags)
{
    double d = n.is == IS_FLOAT    ? n.f
               : n.is == IS_SIGNED ? (n.i < 0 ? -odd_double(-(uint64_t)n.i) : odd_double((uint64_t)n.i))
                                   : odd_double(n.u);
    int mode = (int)(flags & CONVERT_MODE);
    if (d != d)
        return 0x7fff;
    if ((flags & CONVERT_RELU) && d <= 0) /* -0 too becomes 0 */
        d = 0;
    d = within(d, bf16 ? 0x1.fep127 : 65504, flags);
    if (bf16) {
        double r = round_short(d, 8, -126, mode);
        float f = (float)r;
        uint32_t u;
        if (isinf(f) && !isinf(d) && (mode == ROUND_Z || (mode == ROUND_M && d > 0) || (mode == ROUND_P && d < 0)))
            return (signbit(d) ? 0x8000 : 0) | 0x7f7f;
        memcpy(&u, &f, 4);
        return u >> 16;
    }
    double r = round_short(d, 11, -14, mode);
    if (fabs(r) > 65504.0 && !isinf(d) && (mode == ROUND_Z || (mode == ROUND_M && d > 0) || (mode == ROUND_P && d < 0)))
        return (signbit(d) ? 0x8000 : 0) | 0x7bff;
    return f16_from_f64(r);
}

static float flush_small(float f)
{
    return fabsf(f) < 0x1p-126f ? copysignf(0, f) : f;
}

static uint64_t convert_one(struct number n, int form, int64_t flags)
{
    uint64_t v = 0;
    float f;
    double d;
    int mode = (int)(flags & CONVERT_MODE);
    if ((flags & CONVERT_FTZ) && !(flags & FROM_F64) && n.is == IS_FLOAT && fabs(n.f) < 0x1p-126)
        n.f = copysign(0, n.f);
    if (!form_is_float(form))
        return to_integer(n, form, flags);
    if ((flags & CONVERT_INTEGRAL) && n.is == IS_FLOAT)
        n.f = round_integral(n.f, mode);
    if (flags & CONVERT_SAT) /* to [0, 1] */
        n = (struct number){n.is, n.i > 0, n.u > 0, n.f > 0 ? (n.f < 1 ? n.f : 1) : 0};
    switch (form) {
    case FORM_F16: return to_half(n, false, flags);
    case FORM_BF16: return to_half(n, true, flags);
    case FORM_E4M3:
    case FORM_E5M2:
    case FORM_E2M1:
    case FORM_E2M3:
    case FORM_E3M2:
    case FORM_S2F6:
    case FORM_UE8M0:
        if ((flags & CONVERT_RELU) && n.f <= 0)
            n.f = 0;
        return narrow_round(n.f, form, flags);
    case FORM_TF32:
        if ((flags & CONVERT_RELU) && n.f <= 0)
            n.f = 0;
        f = (float)round_short(within(n.f, 0x1.ffcp127, flags), 11, -126, mode);
        memcpy(&v, &f, 4);
        return n.f != n.f ? 0x7fffffff : v;
    case FORM_F64:
        d = to_double(n, mode);
        memcpy(&v, &d, 8);
        return v;
    default:
        f = to_float(n, flags & CONVERT_INTEGRAL ? ROUND_N : mode);
        if (flags & CONVERT_FTZ)
            f = flush_small(f);
        memcpy(&v, &f, 4);
        return f != f ? 0x7fffffff : v;
    }
}

static uint8_t *lane_at(struct warp *w, uint32_t ref, uint32_t bytes, int i)
{
    return SLOT(uint8_t, w, ref) + (size_t)i * bytes;
}

/* One of the two sources: k is 1 for the one that becomes the upper half. */
static struct number packed_source(struct warp *w, const struct insn *ip, int i, int k)
{
    const uint8_t *a = lane_at(w, ip->a, ip->size, i);
    if (ip->imm & CONVERT_UNPACK) { /* e4m3x2 -> f16x2: lower to lower */
        uint8_t v = ip->kind == FORM_E2M1 ? a[0] >> 4 * k & 15 : a[k];
        return fetch(&v, ip->kind, 1);
    }
    if (ip->b == NO_REF) /* f16x2 -> e4m3x2 */
        return fetch(a + 2 * k, ip->kind, 2);
    return fetch(k ? a : lane_at(w, ip->b, ip->size, i), ip->kind, ip->size);
}

static void convert_packed(struct warp *w, const struct insn *ip, int i)
{
    bool up = ip->imm & CONVERT_UNPACK;
    int width = up ? 16 : ip->aux == FORM_E2M1 ? 4 : ip->aux >= FORM_E4M3 ? 8 : 16;
    uint64_t v = 0;
    for (int k = 0; k < 2; k++) {
        struct number n = packed_source(w, ip, i, k);
        if (ip->imm & CONVERT_SCALED) {
            double scale = narrow_value(lane_at(w, ip->c, 2, i)[k], FORM_UE8M0);
            n.f = up ? n.f * scale : n.f / scale;
        }
        v |= convert_one(n, ip->aux, ip->imm & ~(int64_t)CONVERT_UNPACK) << k * width;
    }
    memcpy(lane_at(w, ip->d, ip->count, i), &v, ip->count);
}

/* Away from zero if the random bits, added to what is cut off, carry: both have their highest bit below the last one that is kept. */
static double round_random(double d, int p, int e, double random)
{
    int exponent;
    if (d == 0 || d != d || isinf(d))
        return d;
    frexp(d, &exponent);
    exponent = exponent - 1 < e ? e : exponent - 1;
    double scaled = ldexp(fabs(d), p - 1 - exponent), kept = floor(scaled);
    return copysign(ldexp(kept + (scaled - kept >= 1 - random), exponent - p + 1), d);
}

static uint32_t reversed_16(uint32_t v)
{
    uint32_t r = 0;
    for (int k = 0; k < 16; k++)
        r |= (v >> k & 1) << (15 - k);
    return r;
}

/* PTX ISA, cvt: 13 random bits for each f16, 16 for each bf16. Of four results two share 16 bits: the lower uses them as they are, the
 * upper in reverse order (FlashInfer's authors verified that for e4m3 on sm_100a; the manual shows one layout for all four types of 8 and 6
 * bits). For e2m1 each of two results uses a byte of the 16 bits, which the authors of quack found for every value of these bytes on a
 * B300. */
static void convert_random(struct warp *w, const struct insn *ip, int i)
{
    bool half = ip->aux == FORM_F16 || ip->aux == FORM_BF16;
    const struct narrow_float *f = narrow_form(ip->aux);
    int count = half ? 2 : 4,
        p = ip->aux == FORM_F16    ? 11
            : ip->aux == FORM_BF16 ? 8
                                   : f->mantissa + 1,
        e = ip->aux == FORM_F16    ? -14
            : ip->aux == FORM_BF16 ? -126
                                   : 1 - f->bias;
    uint32_t all, v = 0;
    memcpy(&all, lane_at(w, ip->c, 4, i), 4);
    for (int k = 0; k < count; k++) { /* the first source goes to the top */
        bool top = 2 * k < count;
        uint32_t bits = ip->aux == FORM_E2M1 ? (all >> (top ? 16 : 8) & 0xff00) | (all >> (top ? 8 : 0) & 0xff)
                                             : all >> (top ? 16 : 0) & (ip->aux == FORM_F16 ? 0x1fff : 0xffff);
        if (!half && k % 2 == 0)
            bits = reversed_16(bits);
        struct number n = fetch(lane_at(w, ip->list[k], 4, i), FORM_F32, 4);
        n.f = round_random((ip->imm & CONVERT_RELU) && n.f <= 0 ? 0 : n.f, p, e, ldexp(bits, ip->aux == FORM_F16 ? -13 : -16));
        v |= (uint32_t)convert_one(n, ip->aux, ip->imm & ~(int64_t)CONVERT_RANDOM) << 8 * ip->count / count * (count - 1 - k);
    }
    memcpy(lane_at(w, ip->d, ip->count, i), &v, ip->count);
}

void emu_convert(struct warp *w, const struct insn *ip)
{
    int64_t flags = ip->imm | (ip->kind == FORM_F64 ? FROM_F64 : 0);
    for (uint32_t rest = w->mask; rest; rest &= rest - 1) {
        int i = __builtin_ctz(rest);
        if (flags & CONVERT_RANDOM) {
            convert_random(w, ip, i);
            continue;
        }
        if (flags & (CONVERT_PACK | CONVERT_UNPACK)) {
            convert_packed(w, ip, i);
            continue;
        }
        uint64_t v = convert_one(fetch(lane_at(w, ip->a, ip->size, i), ip->kind, ip->size), ip->aux, flags);
        int bits = form_bits(ip->aux);
        if (bits && bits < 64) { /* sign or zero extended into a wider register */
            bool is_signed = ip->aux == FORM_S8 || ip->aux == FORM_S16 || ip->aux == FORM_S32;
            v = is_signed ? (uint64_t)((int64_t)(v << (64 - bits)) >> (64 - bits)) : v & (((uint64_t)1 << bits) - 1);
        }
        memcpy(lane_at(w, ip->d, ip->count, i), &v, ip->count);
    }
}
