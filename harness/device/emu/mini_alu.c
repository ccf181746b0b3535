/* What instructions compute: integers, floats of three widths, conversions, bits, and what a warp does together. */
#include "base/dtype.h"
#include "base/text.h"
#include "device/emu/mini.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint32_t mini_pred(const struct warp *w, int slot) { return *(const uint32_t *)(const void *)(w->frame + slot); }
static void set_pred(struct warp *w, int slot, uint32_t mask, uint32_t value)
{
    if (slot >= 0) {
        uint32_t *p = (uint32_t *)(void *)(w->frame + slot);
        *p = (*p & ~mask) | (value & mask);
    }
}

/* Registers of 16 bits lie in 32-bit lanes. */
static inline float half_in(enum ptx_type t, uint32_t v)
{
    if (t == T_BF16 || t == T_BF16X2)
        return bf16_to_f32((uint16_t)v);
    _Float16 h; /* the compiler's own conversion, exact */
    uint16_t bits = (uint16_t)v;
    memcpy(&h, &bits, 2);
    return (float)h;
}
static uint16_t half_out(enum ptx_type t, double v)
{
    uint16_t h;
    dtype_set(t == T_BF16 || t == T_BF16X2 ? DTYPE_BF16 : DTYPE_F16, &h, 0, v);
    return h;
}

static float flush32(float x, bool ftz) { return ftz && fabsf(x) < 0x1p-126f ? copysignf(0, x) : x; }
static float saturate(float x, bool sat) { return !sat ? x : x > 0 ? (x < 1 ? x : 1) : 0; }

static bool compare_float(int c, double a, double b)
{
    bool un = isnan(a) || isnan(b);
    switch (c) {
    case 0: return a == b; case 1: return !un && a != b; case 2: return a < b; case 3: return a <= b; case 4: return a > b; case 5: return a >= b;
    case 6: return un || a == b; case 7: return un || a != b; case 8: return un || a < b; case 9: return un || a <= b; case 10: return un || a > b; case 11: return un || a >= b;
    case 12: return !un; default: return un;
    }
}
#define COMPARE_INT(a, b) (in->compare == 0 ? a == b : in->compare == 1 ? a != b : in->compare == 2 ? a < b : in->compare == 3 ? a <= b : in->compare == 4 ? a > b : a >= b)

static bool is_half(enum ptx_type t) { return t == T_F16 || t == T_F16X2 || t == T_BF16 || t == T_BF16X2; }

static void setp(struct warp *w, const struct ins *in, uint32_t mask)
{
    uint32_t r = 0;
    enum ptx_type t = (enum ptx_type)in->type;
    LANES {
        bool v;
        if (t == T_F32) v = compare_float(in->compare, flush32(S(float, 0)[l], in->ftz), flush32(S(float, 1)[l], in->ftz));
        else if (t == T_F64) v = compare_float(in->compare, S(double, 0)[l], S(double, 1)[l]);
        else if (is_half(t)) v = compare_float(in->compare, half_in(t, S(uint32_t, 0)[l]), half_in(t, S(uint32_t, 1)[l]));
        else if (ptx_type_bytes(t) == 8) v = ptx_type_signed(t) ? COMPARE_INT(S(int64_t, 0)[l], S(int64_t, 1)[l]) : COMPARE_INT(S(uint64_t, 0)[l], S(uint64_t, 1)[l]);
        else if (ptx_type_bytes(t) == 4) v = ptx_type_signed(t) ? COMPARE_INT(S(int32_t, 0)[l], S(int32_t, 1)[l]) : COMPARE_INT(S(uint32_t, 0)[l], S(uint32_t, 1)[l]);
        else v = ptx_type_signed(t) ? COMPARE_INT((int16_t)S(uint32_t, 0)[l], (int16_t)S(uint32_t, 1)[l]) : COMPARE_INT((uint16_t)S(uint32_t, 0)[l], (uint16_t)S(uint32_t, 1)[l]);
        r |= (uint32_t)v << l;
    }
    uint32_t q = ~r;
    if (in->join) {
        uint32_t c = mini_pred(w, in->src[2]);
        if (in->vec)
            c = ~c;
        r = in->join == 1 ? r & c : in->join == 2 ? r | c : r ^ c;
        q = in->join == 1 ? q & c : in->join == 2 ? q | c : q ^ c;
    }
    set_pred(w, in->dst[0], mask, r);
    if (in->ndst == 2)
        set_pred(w, in->dst[1], mask, q);
}

static double round_to(double x, int round)
{
    switch (round & 7) {
    case 1: return trunc(x);
    case 2: return floor(x);
    case 3: return ceil(x);
    default: return nearbyint(x);
    }
}

/* f16 -> f32, the most frequent conversion by far */
__attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"))) static void cvt_widen(struct warp *w, const struct ins *in, uint32_t mask)
{
    float r[32];
    for (int l = 0; l < 32; l++) {
        _Float16 h;
        uint16_t bits = (uint16_t)S(uint32_t, 0)[l];
        memcpy(&h, &bits, 2);
        r[l] = (float)h;
    }
    LANES D(float)[l] = r[l];
}

static void cvt(struct warp *w, const struct ins *in, uint32_t mask)
{
    enum ptx_type to = (enum ptx_type)in->type, from = (enum ptx_type)in->type2;
    if (to == T_F32 && from == T_F16 && !in->sat && !in->ftz) {
        cvt_widen(w, in, mask);
        return;
    }
    LANES {
        double f = 0;
        int64_t i = 0;
        bool is_float = ptx_type_float(from);
        uint64_t raw = in->wide ? S(uint64_t, 0)[l] : S(uint32_t, 0)[l];
        switch (from) {
        case T_F32: f = flush32(S(float, 0)[l], in->ftz); break;
        case T_F64: f = S(double, 0)[l]; break;
        case T_F16: case T_BF16: f = half_in(from, S(uint32_t, 0)[l]); break;
        case T_S8: i = (int8_t)raw; break;
        case T_U8: case T_B8: i = (uint8_t)raw; break;
        case T_S16: i = (int16_t)raw; break;
        case T_U16: case T_B16: i = (uint16_t)raw; break;
        case T_S32: i = (int32_t)raw; break;
        case T_U32: case T_B32: i = (uint32_t)raw; break;
        default: i = S(int64_t, 0)[l]; break;
        }
        if (ptx_type_float(to)) {
            bool u64 = from == T_U64;
            if (is_float && in->round & 8) f = round_to(f, in->round);
            if (to == T_F64) D(double)[l] = is_float ? f : u64 ? (double)(uint64_t)i : (double)i;
            else if (to == T_F32) {
                float r = is_float ? (float)f : u64 ? (float)(uint64_t)i : (float)i;
                if (is_float && (in->round & 7) == 1 && !(in->round & 8) && fabs((double)r) > fabs(f)) r = nextafterf(r, 0);
                if (is_float && (in->round & 7) == 2 && !(in->round & 8) && (double)r > f) r = nextafterf(r, -INFINITY);
                if (is_float && (in->round & 7) == 3 && !(in->round & 8) && (double)r < f) r = nextafterf(r, INFINITY);
                D(float)[l] = saturate(flush32(r, in->ftz), in->sat);
            } else
                D(uint32_t)[l] = half_out(to, in->sat ? (f > 0 ? (f < 1 ? f : 1) : 0) : is_float ? f : u64 ? (double)(uint64_t)i : (double)i);
            continue;
        }
        int bits = ptx_type_bytes(to) * 8;
        bool sign = ptx_type_signed(to);
        if (is_float) {
            double r = isnan(f) ? 0 : round_to(f, in->round & 8 ? in->round : 1);
            double low = sign ? -ldexp(1, bits - 1) : 0, high = sign ? ldexp(1, bits - 1) : ldexp(1, bits);
            if (r <= low) i = sign ? (bits == 64 ? INT64_MIN : -(INT64_C(1) << (bits - 1))) : 0;
            else if (r >= high) i = sign ? (bits == 64 ? INT64_MAX : (INT64_C(1) << (bits - 1)) - 1) : bits == 64 ? -1 : (INT64_C(1) << bits) - 1;
            else i = sign || bits < 64 ? (int64_t)r : (int64_t)(uint64_t)r;
        } else if (in->sat) {
            int64_t low = sign ? (bits == 64 ? INT64_MIN : -(INT64_C(1) << (bits - 1))) : 0, high = bits == 64 ? INT64_MAX : sign ? (INT64_C(1) << (bits - 1)) - 1 : (INT64_C(1) << bits) - 1;
            if (from == T_U64 && i < 0) i = high;
            i = i < low ? low : i > high ? high : i;
        }
        i = bits == 64 ? i : bits == 32 ? sign ? (int64_t)(int32_t)i : (int64_t)(uint32_t)i : bits == 16 ? sign ? (int64_t)(int16_t)i : (int64_t)(uint16_t)i
            : sign ? (int64_t)(int8_t)i : (int64_t)(uint8_t)i;
        if (in->volatile_) D(int64_t)[l] = i;
        else D(uint32_t)[l] = (uint32_t)i;
    }
}

static float op_float(const struct ins *in, float a, float b, float c)
{
    switch (in->code) {
    case C_ADD: return a + b;
    case C_SUB: return a - b;
    case C_MUL: return a * b;
    case C_FMA: return fmaf(a, b, c);
    case C_DIV: return a / b;
    case C_MIN: return isnan(a) ? b : isnan(b) ? a : a < b || (a == b && signbit(a)) ? a : b;
    case C_MAX: return isnan(a) ? b : isnan(b) ? a : a > b || (a == b && !signbit(a)) ? a : b;
    case C_ABS: return fabsf(a);
    case C_NEG: return -a;
    case C_RCP: return 1 / a;
    case C_SQRT: return sqrtf(a);
    case C_RSQRT: return (float)(1 / sqrt((double)a));
    case C_EX2: return (float)exp2((double)a);
    case C_LG2: return (float)log2((double)a);
    case C_SIN: return (float)sin((double)a);
    case C_COS: return (float)cos((double)a);
    case C_TANH: return (float)tanh((double)a);
    case C_COPYSIGN: return copysignf(b, a);
    default: return 0;
    }
}

static double op_double(const struct ins *in, double a, double b, double c)
{
    switch (in->code) {
    case C_ADD: return a + b;
    case C_SUB: return a - b;
    case C_MUL: return a * b;
    case C_FMA: return fma(a, b, c);
    case C_DIV: return a / b;
    case C_MIN: return fmin(a, b);
    case C_MAX: return fmax(a, b);
    case C_ABS: return fabs(a);
    case C_NEG: return -a;
    case C_RCP: return 1 / a;
    case C_SQRT: return sqrt(a);
    case C_RSQRT: return 1 / sqrt(a);
    case C_COPYSIGN: return copysign(b, a);
    default: return 0;
    }
}

__attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"))) static void alu_float(struct warp *w, const struct ins *in, uint32_t mask)
{
    enum ptx_type t = (enum ptx_type)in->type;
    int n = in->nsrc;
    if (t == T_F32 && in->code == C_FMA && !in->ftz && !in->sat) {
        const float *a = S(float, 0), *b = S(float, 1), *c = S(float, 2);
        float *d = D(float);
        float r[32];
        for (int l = 0; l < 32; l++) r[l] = fmaf(a[l], b[l], c[l]);
        if (mask == ~0u) {
            memcpy(d, r, sizeof r);
        } else {
            LANES d[l] = r[l];
        }
        return;
    }
    LANES {
        if (t == T_F64) D(double)[l] = op_double(in, S(double, 0)[l], n > 1 ? S(double, 1)[l] : 0, n > 2 ? S(double, 2)[l] : 0);
        else if (t == T_F32) {
            float a = flush32(S(float, 0)[l], in->ftz), b = n > 1 ? flush32(S(float, 1)[l], in->ftz) : 0, c = n > 2 ? flush32(S(float, 2)[l], in->ftz) : 0;
            D(float)[l] = saturate(flush32(op_float(in, a, b, c), in->ftz), in->sat);
        } else {
            uint32_t r = 0;
            int halves = t == T_F16X2 || t == T_BF16X2 ? 2 : 1;
            for (int h = 0; h < halves; h++) {
                double a = half_in(t, S(uint32_t, 0)[l] >> 16 * h), b = n > 1 ? half_in(t, S(uint32_t, 1)[l] >> 16 * h) : 0, c = n > 2 ? half_in(t, S(uint32_t, 2)[l] >> 16 * h) : 0;
                double v = in->code == C_MIN || in->code == C_MAX || in->code == C_EX2 || in->code == C_TANH ? op_float(in, (float)a, (float)b, 0) : op_double(in, a, b, c);
                if (in->sat) v = v > 0 ? (v < 1 ? v : 1) : 0;
                r |= (uint32_t)half_out(t, v) << 16 * h;
            }
            D(uint32_t)[l] = r;
        }
    }
}

#define INT_OP(U, I, WIDE)                                                                                                                          \
    LANES {                                                                                                                                         \
        U a = (U)S(WIDE, 0)[l], b = in->nsrc > 1 && in->code != C_SHL && in->code != C_SHR ? (U)S(WIDE, 1)[l] : 0, c = in->nsrc > 2 ? (U)S(WIDE, 2)[l] : 0, r = 0;                                                                        \
        int bits = (int)sizeof(U) * 8;                                                                                                              \
        uint32_t n = in->code == C_SHL || in->code == C_SHR ? S(uint32_t, 1)[l] : 0;                                                                \
        switch (in->code) {                                                                                                                         \
        case C_MOV: r = a; break;                                                                                                                   \
        case C_ADD: r = (U)(a + b); break;                                                                                                          \
        case C_SUB: r = (U)(a - b); break;                                                                                                          \
        case C_MUL: r = (U)((uint64_t)a * b); break;                                                                                                \
        case C_MAD: r = (U)((uint64_t)a * b + c); break;                                                                                            \
        case C_DIV: r = !b ? (U)~(U)0 : sign ? (b == (U)~(U)0 ? (U)(0 - a) : (U)((I)a / (I)b)) : a / b; break;                                       \
        case C_REM: r = !b ? a : sign ? (b == (U)~(U)0 ? 0 : (U)((I)a % (I)b)) : a % b; break;                                                       \
        case C_MIN: r = sign ? (U)((I)a < (I)b ? a : b) : a < b ? a : b; break;                                                                      \
        case C_MAX: r = sign ? (U)((I)a > (I)b ? a : b) : a > b ? a : b; break;                                                                      \
        case C_ABS: r = (I)a < 0 ? (U)(0 - a) : a; break;                                                                                           \
        case C_NEG: r = (U)(0 - a); break;                                                                                                          \
        case C_AND: r = a & b; break;                                                                                                               \
        case C_OR: r = a | b; break;                                                                                                                \
        case C_XOR: r = a ^ b; break;                                                                                                               \
        case C_NOT: r = (U)~a; break;                                                                                                               \
        case C_SHL: r = n >= (uint32_t)bits ? 0 : (U)(a << n); break;                                                                               \
        case C_SHR: r = sign ? (U)((I)a >> (n >= (uint32_t)bits ? bits - 1 : (int)n)) : n >= (uint32_t)bits ? 0 : (U)(a >> n); break;               \
        default: break;                                                                                                                             \
        }                                                                                                                                           \
        ((WIDE *)(void *)(w->frame + in->dst[0]))[l] = sizeof(U) == 2 ? (sign ? (WIDE)(int32_t)(int16_t)r : (WIDE)r) : (WIDE)r;                     \
    }

__attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"))) static void alu_int(struct warp *w, const struct ins *in, uint32_t mask)
{
    enum ptx_type t = (enum ptx_type)in->type;
    bool sign = ptx_type_signed(t);
    if (t == T_PRED) {
        uint32_t a = in->src[0] >= 0 ? mini_pred(w, in->src[0]) : 0, b = in->nsrc > 1 ? mini_pred(w, in->src[1]) : 0;
        if (in->src_neg[0]) a = ~a;
        if (in->src_neg[1]) b = ~b;
        set_pred(w, in->dst[0], mask, in->code == C_MOV ? a : in->code == C_AND ? a & b : in->code == C_OR ? a | b : in->code == C_XOR ? a ^ b : ~a);
        return;
    }
    switch (ptx_type_bytes(t)) {
    case 8: INT_OP(uint64_t, int64_t, uint64_t) break;
    case 2: INT_OP(uint16_t, int16_t, uint32_t) break;
    case 1: INT_OP(uint8_t, int8_t, uint32_t) break;
    default: INT_OP(uint32_t, int32_t, uint32_t) break;
    }
}

static void mul_wide(struct warp *w, const struct ins *in, uint32_t mask)
{
    enum ptx_type t = (enum ptx_type)in->type;
    bool sign = ptx_type_signed(t);
    int bytes = ptx_type_bytes(t);
    LANES {
        if (in->code == C_MUL_HI || in->code == C_MAD_HI) {
            if (bytes == 8) {
                uint64_t h = sign ? (uint64_t)(((__int128)S(int64_t, 0)[l] * S(int64_t, 1)[l]) >> 64) : (uint64_t)(((unsigned __int128)S(uint64_t, 0)[l] * S(uint64_t, 1)[l]) >> 64);
                D(uint64_t)[l] = h + (in->nsrc > 2 ? S(uint64_t, 2)[l] : 0);
            } else {
                uint32_t h = sign ? (uint32_t)(((int64_t)S(int32_t, 0)[l] * S(int32_t, 1)[l]) >> 32) : (uint32_t)(((uint64_t)S(uint32_t, 0)[l] * S(uint32_t, 1)[l]) >> 32);
                D(uint32_t)[l] = h + (in->nsrc > 2 ? S(uint32_t, 2)[l] : 0);
            }
        } else if (bytes == 4) {
            uint64_t p = sign ? (uint64_t)((int64_t)S(int32_t, 0)[l] * S(int32_t, 1)[l]) : (uint64_t)S(uint32_t, 0)[l] * S(uint32_t, 1)[l];
            D(uint64_t)[l] = p + (in->nsrc > 2 ? S(uint64_t, 2)[l] : 0);
        } else {
            uint32_t p = sign ? (uint32_t)((int16_t)S(uint32_t, 0)[l] * (int16_t)S(uint32_t, 1)[l]) : (uint32_t)(uint16_t)S(uint32_t, 0)[l] * (uint16_t)S(uint32_t, 1)[l];
            D(uint32_t)[l] = p + (in->nsrc > 2 ? S(uint32_t, 2)[l] : 0);
        }
    }
}

static void bits(struct warp *w, const struct ins *in, uint32_t mask)
{
    bool wide = ptx_type_bytes((enum ptx_type)in->type) == 8, sign = ptx_type_signed((enum ptx_type)in->type);
    LANES {
        uint64_t a = wide ? S(uint64_t, 0)[l] : S(uint32_t, 0)[l], r = 0;
        int size = wide ? 64 : 32;
        switch (in->code) {
        case C_POPC: D(uint32_t)[l] = (uint32_t)__builtin_popcountll(a); continue;
        case C_CLZ: D(uint32_t)[l] = (uint32_t)(a ? __builtin_clzll(a) - (64 - size) : size); continue;
        case C_BFIND: {
            uint64_t v = sign && (a >> (size - 1) & 1) ? ~a & (wide ? ~0ull : 0xffffffffull) : a;
            uint32_t at = v ? (uint32_t)(63 - __builtin_clzll(v)) : ~0u;
            D(uint32_t)[l] = in->compare && v ? (uint32_t)size - 1 - at : at;
            continue;
        }
        case C_BREV:
            for (int i = 0; i < size; i++) r |= (a >> i & 1) << (size - 1 - i);
            break;
        case C_BFE: {
            uint32_t pos = S(uint32_t, 1)[l] & 255, len = S(uint32_t, 2)[l] & 255;
            uint64_t s = sign && len ? a >> (pos + len - 1 < (uint32_t)size ? pos + len - 1 : (uint32_t)size - 1) & 1 : 0;
            for (int i = 0; i < size; i++) r |= ((uint32_t)i < len && pos + (uint32_t)i < (uint32_t)size ? a >> (pos + (uint32_t)i) & 1 : s) << i;
            break;
        }
        case C_BFI: {
            uint64_t b = wide ? S(uint64_t, 1)[l] : S(uint32_t, 1)[l];
            uint32_t pos = S(uint32_t, 2)[l] & 255, len = S(uint32_t, 3)[l] & 255;
            r = b;
            for (uint32_t i = 0; i < len && pos + i < (uint32_t)size; i++) r = (r & ~(1ull << (pos + i))) | (a >> i & 1) << (pos + i);
            break;
        }
        case C_PRMT: {
            uint64_t both = a | (uint64_t)S(uint32_t, 1)[l] << 32;
            uint32_t sel = S(uint32_t, 2)[l];
            for (int i = 0; i < 4; i++) {
                uint32_t s = sel >> 4 * i & 15, byte = (uint32_t)(both >> 8 * (s & 7)) & 255;
                if (s & 8) byte = byte & 128 ? 255 : 0;
                r |= (uint64_t)byte << 8 * i;
            }
            break;
        }
        case C_SHF: {
            uint64_t both = a | (uint64_t)S(uint32_t, 1)[l] << 32;
            uint32_t n = S(uint32_t, 2)[l];
            n = in->compare & 2 ? n & 31 : n > 32 ? 32 : n;
            r = in->compare & 1 ? (uint32_t)(both >> n) : (uint32_t)(both << n >> 32);
            break;
        }
        case C_LOP3: {
            uint32_t b = S(uint32_t, 1)[l], c = S(uint32_t, 2)[l], table = S(uint32_t, 3)[l];
            for (int i = 0; i < 32; i++) r |= (uint64_t)(table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1)) & 1) << i;
            break;
        }
        default: break;
        }
        if (wide) D(uint64_t)[l] = r; else D(uint32_t)[l] = (uint32_t)r;
    }
}

static void shfl(struct warp *w, const struct ins *in, uint32_t mask)
{
    uint32_t from[32], valid = 0;
    memcpy(from, w->frame + in->src[0], sizeof from);
    LANES {
        int b = (int)(S(uint32_t, 1)[l] & 31), c = (int)S(uint32_t, 2)[l], segment = c >> 8 & 31, clamp = c & 31;
        int max = (l & segment) | (clamp & ~segment), j = in->compare == 0 ? l - b : in->compare == 1 ? l + b : in->compare == 2 ? l ^ b : (l & segment) | (b & ~segment);
        bool ok = in->compare == 0 ? j >= max : j <= max;
        if (!ok) j = l;
        valid |= (uint32_t)ok << l;
        D(uint32_t)[l] = from[j];
    }
    if (in->ndst == 2) set_pred(w, in->dst[1], mask, valid);
}

static void special(const struct block *b, struct warp *w, const struct ins *in, uint32_t mask)
{
    const uint32_t *grid = b->launch->grid, *block = b->launch->block;
    LANES {
        uint32_t t = (uint32_t)(w->id * 32 + l), v = 0;
        switch (in->imm - 1) {
        case 0: v = t % block[0]; break;
        case 1: v = t / block[0] % block[1]; break;
        case 2: v = t / (block[0] * block[1]); break;
        case 3: case 4: case 5: v = block[in->imm - 4]; break;
        case 6: case 7: case 8: v = b->index[in->imm - 7]; break;
        case 9: case 10: case 11: v = grid[in->imm - 10]; break;
        case 12: v = (uint32_t)l; break;
        case 13: v = (uint32_t)w->id; break;
        case 14: v = (1u << l) - 1; break;
        case 15: v = (2u << l) - 1; break;
        case 16: v = 1u << l; break;
        case 17: v = ~((1u << l) - 1); break;
        case 18: v = ~((2u << l) - 1); break;
        case 20: v = (uint32_t)b->steps; break;
        case 21: case 22: D(uint64_t)[l] = b->steps; continue;
        case 23: v = b->launch->smem; break;
        default: break;
        }
        D(uint32_t)[l] = v;
    }
}

static void pack(struct warp *w, const struct ins *in, uint32_t mask)
{
    int part = ptx_type_bytes((enum ptx_type)in->type) * 8 / in->vec;
    LANES {
        if (in->code == C_PACK) {
            uint64_t r = 0;
            for (int i = 0; i < in->vec; i++)
                r |= ((uint64_t)((const uint32_t *)(const void *)(w->frame + in->src[i]))[l] & (part == 32 ? 0xffffffffull : (1ull << part) - 1)) << part * i;
            if (part * in->vec == 64) D(uint64_t)[l] = r; else D(uint32_t)[l] = (uint32_t)r;
        } else {
            uint64_t v = part * in->vec == 64 ? S(uint64_t, 0)[l] : S(uint32_t, 0)[l];
            for (int i = 0; i < in->vec; i++)
                if (in->dst[i] >= 0)
                    ((uint32_t *)(void *)(w->frame + in->dst[i]))[l] = (uint32_t)(v >> part * i & (part == 32 ? 0xffffffffull : (1ull << part) - 1));
        }
    }
}

static void selp(struct warp *w, const struct ins *in, uint32_t mask)
{
    uint32_t p = mini_pred(w, in->src[2]);
    if (ptx_type_bytes((enum ptx_type)in->type) == 8) {
        LANES D(uint64_t)[l] = p >> l & 1 ? S(uint64_t, 0)[l] : S(uint64_t, 1)[l];
    } else {
        LANES D(uint32_t)[l] = p >> l & 1 ? S(uint32_t, 0)[l] : S(uint32_t, 1)[l];
    }
}

void mini_alu(struct block *b, struct warp *w, const struct ins *in, uint32_t mask)
{
    enum ptx_type t = (enum ptx_type)in->type;
    switch (in->code) {
    case C_SETP: setp(w, in, mask); return;
    case C_CVT: cvt(w, in, mask); return;
    case C_SELP: selp(w, in, mask); return;
    case C_PACK: case C_UNPACK: pack(w, in, mask); return;
    case C_SPECIAL: special(b, w, in, mask); return;
    case C_MUL_WIDE: case C_MAD_WIDE: case C_MUL_HI: case C_MAD_HI: mul_wide(w, in, mask); return;
    case C_POPC: case C_CLZ: case C_BREV: case C_BFIND: case C_BFE: case C_BFI: case C_PRMT: case C_SHF: case C_LOP3: bits(w, in, mask); return;
    case C_SHFL: shfl(w, in, mask); return;
    case C_ACTIVEMASK: LANES D(uint32_t)[l] = mask; return;
    case C_VOTE: {
        uint32_t p = mini_pred(w, in->src[0]);
        if (in->src_neg[0]) p = ~p;
        p &= mask;
        if (in->compare == 3) { LANES D(uint32_t)[l] = p; }
        else set_pred(w, in->dst[0], mask, (in->compare == 0 ? p == mask : in->compare == 1 ? p != 0 : p == 0 || p == mask) ? ~0u : 0);
        return;
    }
    case C_CVTA: {
        uint64_t window = in->space == SPACE_SHARED ? SHARED_WINDOW : in->space == SPACE_LOCAL ? LOCAL_WINDOW : in->space == SPACE_PARAM ? PARAM_WINDOW : 0;
        LANES D(uint64_t)[l] = in->compare ? S(uint64_t, 0)[l] - window : S(uint64_t, 0)[l] + window;
        return;
    }
    default: break;
    }
    if (ptx_type_float(t) && in->code != C_MOV)
        alu_float(w, in, mask);
    else
        alu_int(w, in, mask);
    return;
}
