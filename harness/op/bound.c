#include "op/bound.h"
#include <math.h>
#include <string.h>

/* Share of the sum of magnitudes that the roundings of the sum may cost. */
double bound_share(enum math math, double terms)
{
    double u = math == MATH_F16_ACC16 ? 0x1p-11 : 0x1p-24;
    double tensor = math == MATH_TF32 || math == MATH_F16_ACC32 || math == MATH_BF16_ACC32 ? 2 : 1;
    double gu = tensor * fmin(terms + 2, 6 * sqrt(terms + 2)) * u;
    return gu < 0.5 ? gu / (1 - gu) : 2 * gu;
}

double bound_rounded_filter(enum math math, double terms, double u)
{
    return 1 + fmin(6 / sqrt(terms), 1) * u / bound_share(math, terms);
}

double bound_sum(enum math math, double terms, double least, double y, double magnitudes)
{
    if (math == MATH_I8_ACC32)
        return 0x1p-23 * fabs(y); /* exact in 32 bits; turned into f32 once, and room for one further rounding */
    double error = bound_share(math, terms) * magnitudes;
    if (math == MATH_TF32)
        error += 0x1p-10 * (2 * fabs(y) + fmin(6 / sqrt(least), 2) * magnitudes);
    return error;
}

double bound_factor(const char *algorithm, const struct work *w)
{
    if (algorithm && !strcmp(algorithm, "collapsed"))
        return bound_rounded_filter(w->math, (double)(w->c * w->r * w->s), dtype_unit_roundoff(w->dtype));
    static const struct {
        const char *name;
        double factor;
    } factors[] = {{"direct", 1}, {"implicit_gemm", 1}, {"split3", 2}, {"winograd", 16}, {"fft", 16}, {"library", 16}};
    for (size_t i = 0; algorithm && i < sizeof factors / sizeof factors[0]; i++)
        if (!strcmp(algorithm, factors[i].name))
            return factors[i].factor;
    return 1; /* an unknown word earns no slack */
}
