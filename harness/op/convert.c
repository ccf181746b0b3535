#include "op/convert.h"
#include <math.h>
#include <string.h>

/* binary16 -> binary32: shift the fields into place, then multiply by 2^112 to move the exponent's bias; subnormals come out right
 * because the multiplication normalises them. Only infinity and NaN need the exponent forced. */
static inline float half_to_float(uint16_t h)
{
    uint32_t bits = (uint32_t)(h & 0x7fff) << 13, sign = (uint32_t)(h & 0x8000) << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    f *= 0x1p112f;
    memcpy(&bits, &f, sizeof bits);
    bits |= (h & 0x7c00) == 0x7c00 ? 0x7f800000u : 0;
    bits |= sign;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* binary32 -> binary16, ties to even. Normal results: add half a unit less one plus the kept bit, then shift. Subnormal results: adding
 * 0.5 puts the unit 2^-24 at the last place of the sum, whose rounding the processor does. */
static inline uint16_t half_from_float(float x)
{
    uint32_t bits, small;
    memcpy(&bits, &x, sizeof bits);
    uint32_t sign = bits >> 16 & 0x8000, a = bits & 0x7fffffff;
    float magnitude;
    memcpy(&magnitude, &a, sizeof magnitude);
    magnitude += 0.5f;
    memcpy(&small, &magnitude, sizeof small);
    uint32_t normal = (a - 0x38000000u + 0xfff + (a >> 13 & 1)) >> 13;
    uint32_t result = a < 0x38800000u ? small - 0x3f000000u : normal;
    result = a >= 0x477ff000u ? 0x7c00 : result; /* 65520 and above */
    result = a > 0x7f800000u ? 0x7e00 : result;
    return (uint16_t)(result | sign);
}

#define CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), optimize("O3")))

CLONES static void halves_to_float(const uint16_t *from, float *to, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = half_to_float(from[i]);
}

CLONES static void halves_from_float(const float *from, uint16_t *to, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = half_from_float(from[i]);
}

CLONES static void halves_round(float *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        values[i] = half_to_float(half_from_float(values[i]));
}

void convert_to_float(enum dtype t, const void *from, float *to, size_t count)
{
    if (t == DTYPE_F32) {
        memcpy(to, from, count * sizeof *to);
    } else if (t == DTYPE_F16) {
        halves_to_float(from, to, count);
    } else if (t == DTYPE_BF16) {
        const uint16_t *b = from;
        for (size_t i = 0; i < count; i++)
            to[i] = bf16_to_f32(b[i]);
    } else {
        for (size_t i = 0; i < count; i++)
            to[i] = (float)dtype_get(t, from, i);
    }
}

void convert_from_float(enum dtype t, const float *from, void *to, size_t count)
{
    if (t == DTYPE_F32) {
        memcpy(to, from, count * sizeof *from);
    } else if (t == DTYPE_F16) {
        halves_from_float(from, to, count);
    } else if (t == DTYPE_BF16) {
        uint16_t *b = to;
        for (size_t i = 0; i < count; i++)
            b[i] = bf16_from_f32(from[i]);
    } else {
        for (size_t i = 0; i < count; i++)
            dtype_set(t, to, i, from[i]);
    }
}

void convert_round(enum dtype t, float *values, size_t count)
{
    if (t == DTYPE_F16)
        halves_round(values, count);
    else if (t == DTYPE_BF16)
        for (size_t i = 0; i < count; i++)
            values[i] = bf16_to_f32(bf16_from_f32(values[i]));
    else if (t == DTYPE_I8)
        for (size_t i = 0; i < count; i++)
            values[i] = fmaxf(-127, fminf(127, rintf(values[i])));
    else if (t == DTYPE_E4M3 || t == DTYPE_E5M2 || t == DTYPE_E2M1 || t == DTYPE_E8M0 || t == DTYPE_BOOL)
        for (size_t i = 0; i < count; i++) {
            uint8_t stored = 0;
            dtype_set(t, &stored, 0, values[i]);
            values[i] = (float)dtype_get(t, &stored, 0);
        }
    else if (dtype_is_whole(t)) { /* of 32 and 64 bits: as far as a float counts; + 0: there is no negative 0 */
        float low = t == DTYPE_I32 || t == DTYPE_I64 ? -0x1p24f : 0, high = t == DTYPE_U8 ? 255 : t == DTYPE_U16 ? 65535 : 0x1p24f;
        for (size_t i = 0; i < count; i++)
            values[i] = fmaxf(low, fminf(high, rintf(values[i]))) + 0.0f;
    }
}
