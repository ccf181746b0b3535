/* emu/run/tensor_sum: see tensor_sum.h. */
#include "emu/run/tensor_sum.h"
#include <math.h>
#include <stdint.h>

int tensor_least(enum tensor_type type)
{
    static const int least[] = {-14, -126, -126, -6, -14, 0, -2, 0};
    return least[type];
}

struct tensor_rule tensor_rule_of(int cc, enum tensor_unit unit, enum tensor_type type)
{
    bool fp8 = type == TENSOR_E4M3 || type == TENSOR_E5M2;
    if (unit == TENSOR_TCGEN05)
        return (struct tensor_rule){0, 25, 23, false};
    if (unit == TENSOR_WGMMA)
        return (struct tensor_rule){0, fp8 ? 13 : 25, fp8 ? 13 : 23, false};
    if (cc >= 90) /* sm_120 has fp8 units of its own */
        return (struct tensor_rule){0, 25, 23, fp8 && cc < 120};
    if (fp8)
        return (struct tensor_rule){16, 13, 13, false};
    return (struct tensor_rule){type == TENSOR_TF32 ? 4 : 8, 24, 23, false};
}

struct scaled {
    double value; /* significand: magnitude in [1, 2), less for a subnormal number */
    int exponent;
};

static struct scaled scaled_of(float v, int least)
{
    int exponent;
    frexp(v, &exponent);
    exponent = exponent - 1 < least ? least : exponent - 1;
    return (struct scaled){ldexp(v, -exponent), exponent};
}

/* Cuts off to f32 with that many fraction bits; a result of 0 is +0. */
static float cut_off(double v, int fraction)
{
    int exponent;
    if (fabs(v) >= 0x1p128)
        return copysignf(INFINITY, (float)v);
    frexp(v, &exponent);
    exponent = exponent - 1 < -126 ? -126 : exponent - 1;
    double r = ldexp(trunc(ldexp(v, fraction - exponent)), exponent - fraction);
    return r == 0 ? 0 : (float)r;
}

/* The nearest f16, ties to even; infinity beyond the largest; a result of 0 is +0. */
static float nearest_half(double v)
{
    int exponent;
    frexp(v, &exponent);
    exponent = exponent - 1 < -14 ? -14 : exponent - 1;
    double r = ldexp(nearbyint(ldexp(v, 10 - exponent)), exponent - 10);
    return r == 0 ? 0 : fabs(r) > 65504 ? copysignf(INFINITY, (float)r) : (float)r;
}

static float group_sum(const struct tensor_rule *rule, const struct scaled *addend, int n, bool half)
{
    int largest = n ? addend[0].exponent : 0;
    int64_t sum = 0;
    for (int i = 1; i < n; i++)
        if (addend[i].exponent > largest)
            largest = addend[i].exponent;
    for (int i = 0; i < n; i++)
        sum += (int64_t)trunc(ldexp(addend[i].value, rule->bits + addend[i].exponent - largest));
    double v = ldexp((double)sum, largest - rule->bits);
    return half ? nearest_half(v) : cut_off(v, rule->fraction);
}

/* One step: products [begin, end). An infinity or NaN decides by itself: finite factors stay far from the end of double. */
static float step(const struct tensor_rule *rule, const float *a, int least_a, const float *b, int least_b, int begin, int end, float c,
                  bool half)
{
    struct scaled addend[TENSOR_K_MAX + 1];
    double whole = c;
    int count = 0;
    for (int i = begin; i < end; i++)
        whole += (double)a[i] * b[i];
    if (!isfinite(whole))
        return isnan(whole) ? NAN : (float)whole;
    if (c != 0)
        addend[count++] = scaled_of(c, half ? -14 : -126);
    for (int i = begin; i < end; i++)
        if (a[i] != 0 && b[i] != 0) {
            struct scaled x = scaled_of(a[i], least_a), y = scaled_of(b[i], least_b);
            addend[count++] = (struct scaled){x.value * y.value, x.exponent + y.exponent};
        }
    return group_sum(rule, addend, count, half);
}

static float by_f16(const float *a, const float *b, int n, float c, bool half)
{
    const struct tensor_rule rule = {0, 25, 23, false};
    float x[TENSOR_K_MAX], y[TENSOR_K_MAX];
    int count = 0;
    for (int late = 0; late < 2; late++)
        for (int i = 0; i < n; i++)
            if ((i % 4 >= 2) == late) {
                x[count] = a[i];
                y[count++] = b[i];
            }
    float sum = step(&rule, x, -14, y, -14, 0, n / 2, 0, half);
    sum = step(&rule, x, -14, y, -14, n / 2, n, sum, half);
    if (half)
        return isfinite((double)c + sum) && (c != 0 || sum != 0) ? nearest_half((double)c + sum) : c + sum;
    return c + sum;
}

float tensor_sum(const struct tensor_rule *rule, const float *a, enum tensor_type ta, const float *b, enum tensor_type tb, int n, float c,
                 bool half)
{
    if (rule->by_f16)
        return by_f16(a, b, n, c, half);
    int group = rule->group ? rule->group : n;
    for (int begin = 0; begin < n; begin += group)
        c = step(rule, a, tensor_least(ta), b, tensor_least(tb), begin, begin + group < n ? begin + group : n, c, half);
    return c;
}
