#include "op/bound.h"
#include <math.h>

/* Share of the sum of magnitudes that the roundings of the sum may cost. */
static double share_of(enum math math, double terms)
{
    double u = math == MATH_F16_ACC16 ? 0x1p-11 : 0x1p-24;
    double tensor = math == MATH_TF32 || math == MATH_F16_ACC32 || math == MATH_BF16_ACC32 ? 2 : 1;
    double gu = tensor * fmin(terms + 2, 6 * sqrt(terms + 2)) * u;
    return gu < 0.5 ? gu / (1 - gu) : 2 * gu;
}

double bound_rounded_filter(enum math math, double terms, double u)
{
    return 1 + fmin(6 / sqrt(terms), 1) * u / share_of(math, terms);
}

double bound_sum(enum math math, double terms, double least, double y, double magnitudes)
{
    if (math == MATH_I8_ACC32)
        return 0x1p-23 * fabs(y); /* exact in 32 bits; turned into f32 once, and room for one further rounding */
    double error = share_of(math, terms) * magnitudes;
    if (math == MATH_TF32)
        error += 0x1p-10 * (2 * fabs(y) + fmin(6 / sqrt(least), 2) * magnitudes);
    return error;
}
