#include "base/dtype.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *name, *cuda;
    size_t bytes;
    double roundoff, exact, underflow;
} types[DTYPE_COUNT] = {
    [DTYPE_F32] = {"f32", "float", 4, 0x1p-24, 0x1p24, 0x1p-150},
    [DTYPE_F16] = {"f16", "__half", 2, 0x1p-11, 0x1p11, 0x1p-25},
    [DTYPE_BF16] = {"bf16", "__nv_bfloat16", 2, 0x1p-8, 0x1p8, 0x1p-134},
    [DTYPE_F64] = {"f64", "double", 8, 0x1p-53, 0x1p53},
    [DTYPE_I8] = {"i8", "signed char", 1, 0, 127},
    [DTYPE_U8] = {"u8", "unsigned char", 1, 0, 255},
    [DTYPE_I32] = {"i32", "int", 4, 0, 0x1p31 - 1},
    [DTYPE_U32] = {"u32", "unsigned", 4, 0, 0x1p32 - 1},
    [DTYPE_U16] = {"u16", "unsigned short", 2, 0, 65535},
    [DTYPE_E4M3] = {"e4m3", "__nv_fp8_e4m3", 1, 0x1p-4, 0x1p4, 0x1p-10},
    [DTYPE_E5M2] = {"e5m2", "__nv_fp8_e5m2", 1, 0x1p-3, 0x1p3, 0x1p-17},
    [DTYPE_I64] = {"i64", "long long", 8, 0, 0x1p53},
    [DTYPE_U64] = {"u64", "unsigned long long", 8, 0, 0x1p53},
    [DTYPE_BOOL] = {"bool", "bool", 1, 0, 1},
    [DTYPE_E2M1] = {"e2m1", "__nv_fp4x2_e2m1", 1, 0x1p-2, 4, 0x1p-2},
    [DTYPE_E8M0] = {"e8m0", "__nv_fp8_e8m0", 1, 0x1p-2, 2, 0},
};
const char *const dtype_names[] = {"f32",  "f16",  "bf16", "f64", "i8",   "u8",   "i32",  "u32", "u16",
                                   "e4m3", "e5m2", "i64",  "u64", "bool", "e2m1", "e8m0", NULL};
const char *const layout_names[] = {"NCHW", "NHWC", "KCRS", "KRSC", "RSCK", "CRSK", "bits", "linear", NULL};
const char *const math_names[] = {"f32", "tf32", "f16_acc32", "f16_acc16", "bf16_acc32", "i8_acc32", NULL};

static int dtype_find(const char *name, const char *const *names)
{
    for (int i = 0; name && names[i]; i++)
        if (!strcmp(name, names[i]))
            return i + 1; /* 0 is NONE in each enum */
    return 0;
}

enum dtype dtype_parse(const char *name)
{
    return (enum dtype)dtype_find(name, dtype_names);
}
const char *dtype_name(enum dtype t)
{
    return t > DTYPE_NONE && t < DTYPE_COUNT ? types[t].name : "none";
}
enum dtype dtype_of_c(const char *type, bool no_sign)
{
    static const char *const words[DTYPE_COUNT] = {
        [DTYPE_F32] = " float float2 float3 float4 ",
        [DTYPE_F16] = " half __half half2 __half2 half_t Half float16_t ",
        [DTYPE_BF16] = " __nv_bfloat16 nv_bfloat16 __nv_bfloat162 nv_bfloat162 bfloat16_t BFloat16 ",
        [DTYPE_F64] = " double double2 double4 ",
        [DTYPE_I8] = " int8_t char signed_char char2 char3 char4 ",
        [DTYPE_U8] = " uint8_t uchar unsigned_char uchar2 uchar3 uchar4 ",
        [DTYPE_U16] = " uint16_t ushort unsigned_short ushort2 ushort3 ushort4 ",
        [DTYPE_I32] = " int32_t int signed int2 int3 int4 ",
        [DTYPE_U32] = " uint32_t uint unsigned unsigned_int uint2 uint3 uint4 ",
        [DTYPE_I64] = " int64_t long longlong long2 longlong2 longlong4 ",
        [DTYPE_U64] = " uint64_t ulong unsigned_long size_t ulonglong ulong2 ulonglong2 ulonglong4 ",
        [DTYPE_E4M3] = " __nv_fp8_e4m3 __nv_fp8x2_e4m3 __nv_fp8x4_e4m3 float_e4m3_t Float8_e4m3fn ",
        [DTYPE_E5M2] = " __nv_fp8_e5m2 __nv_fp8x2_e5m2 __nv_fp8x4_e5m2 float_e5m2_t Float8_e5m2 ",
        [DTYPE_BOOL] = " bool ",
        [DTYPE_E2M1] = " __nv_fp4x2_e2m1 __nv_fp4x4_e2m1 __nv_fp4x2_storage_t __nv_fp4x4_storage_t ",
        [DTYPE_E8M0] = " __nv_fp8_e8m0 __nv_fp8x2_e8m0 __nv_fp8x4_e8m0 float_ue8m0_t Float8_e8m0fnu ",
    };
    char word[80];
    snprintf(word, sizeof word, " %s%.60s ", no_sign && type[0] != 'u' ? "unsigned_" : "", type);
    for (int t = DTYPE_NONE + 1; t < DTYPE_COUNT; t++)
        if (strstr(words[t], word))
            return (enum dtype)t;
    return DTYPE_NONE;
}

size_t dtype_bytes(enum dtype t)
{
    return t > DTYPE_NONE && t < DTYPE_COUNT ? types[t].bytes : 0;
}
size_t dtype_size(enum dtype t, size_t elements)
{
    return t == DTYPE_E2M1 ? elements / 2 + elements % 2 : elements * dtype_bytes(t);
}
size_t dtype_offset(enum dtype t, size_t index)
{
    return t == DTYPE_E2M1 ? index / 2 : index * dtype_bytes(t);
}
size_t dtype_inside(enum dtype t, size_t index)
{
    return t == DTYPE_E2M1 ? index % 2 : 0;
}
const char *dtype_cuda(enum dtype t)
{
    return t > DTYPE_NONE && t < DTYPE_COUNT ? types[t].cuda : "void";
}
double dtype_unit_roundoff(enum dtype t)
{
    return t < DTYPE_COUNT ? types[t].roundoff : 0;
}
double dtype_underflow(enum dtype t)
{
    return t < DTYPE_COUNT ? types[t].underflow : 0;
}
bool dtype_is_whole(enum dtype t)
{
    return dtype_unit_roundoff(t) == 0;
}
void dtype_range(enum dtype t, double *below, double *above)
{
    *above = dtype_is_whole(t) ? dtype_exact_integer(t) + 1
             : t == DTYPE_F16  ? 65520
             : t == DTYPE_BF16 ? 0x1.ffp127
             : t == DTYPE_F32  ? 0x1.ffffffp127
             : t == DTYPE_E4M3 ? 464 /* half way from the largest number, 448, to the next one */
             : t == DTYPE_E5M2 ? 61440
             : t == DTYPE_E2M1 ? 7
             : t == DTYPE_E8M0 ? 0x1.8p127
                               : INFINITY;
    bool no_sign = t == DTYPE_U8 || t == DTYPE_U16 || t == DTYPE_U32 || t == DTYPE_U64 || t == DTYPE_BOOL;
    *below = t == DTYPE_E8M0 ? 0 : no_sign ? -1 : dtype_is_whole(t) ? -*above - 1 : -*above;
}
bool dtype_holds(enum dtype t, double value)
{
    double below, above;
    dtype_range(t, &below, &above);
    return (value > below && value < above) || (isinf(value) && !dtype_is_whole(t) && dtype_bytes(t) > 1);
}
double dtype_exact_integer(enum dtype t)
{
    return t < DTYPE_COUNT ? types[t].exact : 0;
}
enum layout layout_parse(const char *name)
{
    return (enum layout)dtype_find(name, layout_names);
}
const char *layout_name(enum layout l)
{
    return l > LAYOUT_NONE && l < LAYOUT_COUNT ? layout_names[l - 1] : "none";
}
enum math math_parse(const char *name)
{
    return (enum math)dtype_find(name, math_names);
}
const char *math_name(enum math m)
{
    return m > MATH_NONE && m < MATH_COUNT ? math_names[m - 1] : "none";
}

enum math math_default(enum dtype t)
{
    switch (t) {
    case DTYPE_F32: return MATH_F32;
    case DTYPE_F16: return MATH_F16_ACC32;
    case DTYPE_BF16: return MATH_BF16_ACC32;
    case DTYPE_I8: return MATH_I8_ACC32;
    default: return MATH_NONE;
    }
}

enum d2s_mode d2s_mode_parse(const char *name)
{
    return !name ? D2S_NONE : !strcmp(name, "DCR") ? D2S_DCR : !strcmp(name, "CRD") ? D2S_CRD : D2S_NONE;
}

const char *d2s_mode_name(enum d2s_mode m)
{
    return m == D2S_DCR ? "DCR" : m == D2S_CRD ? "CRD" : "none";
}

/* Rounds a double to a binary16 in one step: scale so that the unit in the last place of the result is 1, round to even. */
uint16_t f16_from_f64(double x)
{
    uint16_t sign = signbit(x) ? 0x8000 : 0;
    double a = fabs(x);
    if (isnan(x))
        return sign | 0x7e00;
    if (a >= 65520.0) /* numbers from halfway between the largest half and 65536 on round to infinity */
        return sign | 0x7c00;
    int e;
    frexp(a, &e); /* a = m * 2^e, m in [0.5, 1) */
    int ulp = e - 11 < -24 ? -24 : e - 11;
    uint32_t units = (uint32_t)nearbyint(ldexp(a, -ulp)); /* <= 2048 */
    if (units == 0)
        return sign;
    if (units == 2048) { /* carried into the next binade */
        units = 1024;
        ulp++;
    }
    if (units < 1024) /* subnormal: ulp is -24 */
        return sign | (uint16_t)units;
    return sign | (uint16_t)(((ulp + 25) << 10) + (int)(units - 1024));
}

uint16_t f16_from_f32(float x)
{
    return f16_from_f64(x);
}

float f16_to_f32(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = (h >> 10) & 31, mantissa = h & 1023, bits;
    if (exponent == 31) {
        bits = sign | 0x7f800000 | mantissa << 13;
    } else if (exponent) {
        bits = sign | (exponent + 112) << 23 | mantissa << 13;
    } else {
        float f = (float)mantissa * 0x1p-24f;
        return sign ? -f : f;
    }
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

uint16_t bf16_from_f32(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (isnan(x))
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float bf16_to_f32(uint16_t h)
{
    uint32_t bits = (uint32_t)h << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* double -> bf16 must not round twice: through float with round-to-odd. */
static uint16_t bf16_from_f64(double x)
{
    float f = (float)x;
    if (isfinite(f) && (double)f != x) {
        uint32_t bits;
        memcpy(&bits, &f, sizeof bits);
        if (fabs((double)f) > fabs(x))
            bits--; /* truncated towards zero */
        bits |= 1;
        memcpy(&f, &bits, sizeof f);
    }
    return bf16_from_f32(f);
}

const struct narrow_float narrow_e4m3 = {3, 7, 0x80, 448}, narrow_e5m2 = {2, 15, 0x80, 57344}, narrow_e2m1 = {1, 1, 8, 6};

double narrow_get(const struct narrow_float *f, uint8_t bits)
{
    int field = bits & (f->sign - 1), exponent = field >> f->mantissa, m = field & ((1 << f->mantissa) - 1);
    double v = exponent ? ldexp((1 << f->mantissa) + m, exponent - f->bias - f->mantissa) : ldexp(m, 1 - f->bias - f->mantissa);
    if (v > f->most)
        v = m ? NAN : INFINITY;
    return bits & f->sign ? -v : v;
}

uint8_t narrow_from_f64(const struct narrow_float *f, double x)
{
    uint8_t sign = signbit(x) ? (uint8_t)f->sign : 0;
    double a = fmin(fabs(x), f->most);
    int e, least = 1 - f->bias, one = 1 << f->mantissa;
    frexp(a, &e);
    e = e - 1 < least ? least : e - 1;                     /* the number's exponent, or that of subnormal numbers */
    int units = (int)nearbyint(ldexp(a, f->mantissa - e)); /* a carry goes into the exponent */
    return sign | (uint8_t)(units < one ? units : ((e + f->bias) << f->mantissa) + units - one);
}

static uint8_t float8_from_f64(const struct narrow_float *f, double x)
{
    return isnan(x) ? (uint8_t)(signbit(x) ? 0xff : 0x7f) : narrow_from_f64(f, x);
}

/* The nearest power of two; half way between two, the larger one. */
static uint8_t e8m0_from_f64(double x)
{
    int e;
    double m = frexp(fmax(fmin(fabs(x), 0x1p127), 0x1p-127), &e);
    return isnan(x) ? 255 : (uint8_t)(e - 1 + (m >= 0.75) + 127);
}

double dtype_get(enum dtype t, const void *array, size_t i)
{
    switch (t) {
    case DTYPE_F32: return ((const float *)array)[i];
    case DTYPE_F16: return f16_to_f32(((const uint16_t *)array)[i]);
    case DTYPE_BF16: return bf16_to_f32(((const uint16_t *)array)[i]);
    case DTYPE_F64: return ((const double *)array)[i];
    case DTYPE_I8: return ((const int8_t *)array)[i];
    case DTYPE_U8: return ((const uint8_t *)array)[i];
    case DTYPE_I32: return ((const int32_t *)array)[i];
    case DTYPE_U32: return ((const uint32_t *)array)[i];
    case DTYPE_U16: return ((const uint16_t *)array)[i];
    case DTYPE_E4M3: return narrow_get(&narrow_e4m3, ((const uint8_t *)array)[i]);
    case DTYPE_E5M2: return narrow_get(&narrow_e5m2, ((const uint8_t *)array)[i]);
    case DTYPE_I64: return (double)((const int64_t *)array)[i];
    case DTYPE_U64: return (double)((const uint64_t *)array)[i];
    case DTYPE_BOOL: return ((const uint8_t *)array)[i]; /* another value than 0 and 1 is wrong */
    case DTYPE_E2M1: return narrow_get(&narrow_e2m1, (uint8_t)(((const uint8_t *)array)[i / 2] >> 4 * (i % 2) & 15));
    case DTYPE_E8M0: return ((const uint8_t *)array)[i] == 255 ? NAN : ldexp(1, ((const uint8_t *)array)[i] - 127);
    case DTYPE_NONE:
    case DTYPE_COUNT: break;
    }
    return NAN;
}

void dtype_set(enum dtype t, void *array, size_t i, double v)
{
    switch (t) {
    case DTYPE_F32: ((float *)array)[i] = (float)v; break;
    case DTYPE_F16: ((uint16_t *)array)[i] = f16_from_f64(v); break;
    case DTYPE_BF16: ((uint16_t *)array)[i] = bf16_from_f64(v); break;
    case DTYPE_F64: ((double *)array)[i] = v; break;
    case DTYPE_I8: ((int8_t *)array)[i] = (int8_t)v; break;
    case DTYPE_U8: ((uint8_t *)array)[i] = (uint8_t)v; break;
    case DTYPE_I32: ((int32_t *)array)[i] = (int32_t)v; break;
    case DTYPE_U32: ((uint32_t *)array)[i] = (uint32_t)v; break;
    case DTYPE_U16: ((uint16_t *)array)[i] = (uint16_t)v; break;
    case DTYPE_E4M3: ((uint8_t *)array)[i] = float8_from_f64(&narrow_e4m3, v); break;
    case DTYPE_E5M2: ((uint8_t *)array)[i] = float8_from_f64(&narrow_e5m2, v); break;
    case DTYPE_I64: ((int64_t *)array)[i] = (int64_t)v; break;
    case DTYPE_U64: ((uint64_t *)array)[i] = (uint64_t)v; break;
    case DTYPE_BOOL: ((uint8_t *)array)[i] = v != 0; break;
    case DTYPE_E2M1: {
        uint8_t *at = (uint8_t *)array + i / 2;
        int shift = 4 * (int)(i % 2);
        *at = (uint8_t)((*at & (0xf0 >> shift)) | (isnan(v) ? 7 : narrow_from_f64(&narrow_e2m1, v)) << shift);
        break;
    }
    case DTYPE_E8M0: ((uint8_t *)array)[i] = e8m0_from_f64(v); break;
    case DTYPE_NONE:
    case DTYPE_COUNT: break;
    }
}

void factor_type_names(unsigned factors, char *out, size_t bytes)
{
    static const char *const names[] = {"f16", "bf16", "tf32", "f64", "i8", "fp8 or less", "i4 or bits", "f16 sums", "f16 or bf16"};
    size_t used = 0;
    out[0] = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if ((factors >> i & 1) && used < bytes)
            used += (size_t)snprintf(out + used, bytes - used, "%s%s", used ? ", " : "", names[i]);
}
