#include "op/reference/bound.h"
#include "op/op_file.h"
#include <math.h>
#include <string.h>

#define ROUNDED 12.0 /* g of a sum that is rounded to nearest: 7.4 at most was seen in 59 million outputs */
#define TRANSFORMED 16.0
#define HALVED \
    4.0 /* of Winograd in 16-bit operands: F(2x2, 3x3) shows 2.1 at most in 300,000 outputs, 0.27 to 0.42 in the root mean square */
/* Behind a mask the bound is larger by this factor: the only active pixels of a window may have small values, and others of its tile large
 * ones. F(2x2, 3x3) and F(4, 3) need at most 4.3 times the bound without a mask with 8 channels, 1.4 times with 64 and 1.3 with 256. */
#define HALVED_MASKED(terms) (1.7 + 432 / (terms))
#define PARTS 48.0 /* of split3: three times 2^-20, of which parts that are cut off leave each operand and the dropped product one */
#define BEGUN 3.0  /* half a unit in the last place is 0.58 u in the root mean square at most: five of that */
#define CUT 2.0    /* of split3, whose sums are cut off: this times sqrt(n + 2) more */

/* Bound on the rounding error of a sum, as a share of the sum of the magnitudes of its terms. */
double bound_share(enum math math, double terms)
{
    double u = math == MATH_F16_ACC16 ? 0x1p-11 : 0x1p-24;
    bool cuts = math == MATH_TF32 || math == MATH_F16_ACC32 || math == MATH_BF16_ACC32;
    double gu = (cuts ? 2 * fmin(terms + 2, 6 * sqrt(terms + 2)) : fmin(terms + 2, ROUNDED)) * u;
    return gu < 0.5 ? gu / (1 - gu) : 2 * gu;
}

double bound_one_sign(enum math math, double terms)
{
    return fmax(1, fmin(terms + 2, 6 * sqrt(terms + 2)) * (math == MATH_F16_ACC16 ? 0x1p-11 : 0x1p-24) / bound_share(math, terms));
}

double bound_roundoff(enum math math)
{
    return math == MATH_F16_ACC16 ? 0x1p-11 : 0x1p-24;
}

double bound_finer(enum dtype result)
{
    return result == DTYPE_F64 ? 0x1p-29 : 1;
}

double bound_sum_error(enum math math, double terms)
{
    return bound_share(math, terms) * bound_one_sign(math, terms);
}

double bound_rounded_filter(enum math math, double terms, double u)
{
    return 1 + fmin(6 / sqrt(terms), 1) * u / bound_share(math, terms);
}

double bound_begun(enum math math, double terms)
{
    bool rounds = math == MATH_F32 || math == MATH_F16_ACC16;
    return rounds ? fmin(terms + 2, BEGUN * sqrt(terms + 2)) * (math == MATH_F16_ACC16 ? 0x1p-11 : 0x1p-24) : 0;
}

double bound_sum(enum math math, double terms, double least, double y, double magnitudes)
{
    if (math == MATH_I8_ACC32)
        return 0x1p-23 * fabs(y); /* exact in 32 bits; one conversion to f32, and room for one more rounding */
    double error = bound_share(math, terms) * magnitudes;
    if (math == MATH_TF32)
        error += 0x1p-10 * (2 * fabs(y) + fmin(6 / sqrt(least), 2) * magnitudes);
    return error;
}

/* Transforms mix the values of a tile, so an output has errors of the size of adjacent outputs', however small its own products are. The
 * fewer terms, the larger the effect. Bounds of truncated sums have enough slack for it. */
static double transform_factor(enum math math, double terms)
{
    bool rounds = math == MATH_F32 || math == MATH_F16_ACC16;
    return rounds ? TRANSFORMED * (1 + 6 / sqrt(terms)) * ROUNDED / fmin(terms + 2, ROUNDED) : TRANSFORMED;
}

/* Tensor cores take transformed inputs and filters in the operands' type: both are rounded once or twice more, at random. */
static double halved_factor(const struct work *w, double terms)
{
    double few = w->mask.pattern == MASK_NONE || w->mask.pattern == MASK_FULL ? 1 : HALVED_MASKED(terms);
    return HALVED * few * (1 + fmin(6 / sqrt(terms), 1) * dtype_unit_roundoff(w->dtype) / bound_share(w->math, terms));
}

static bool is_transform(const char *algorithm)
{
    return !strcmp(algorithm, "winograd") || !strcmp(algorithm, "fft") || !strcmp(algorithm, "library");
}

double bound_roundings(const char *algorithm)
{
    return algorithm && !strcmp(algorithm, "library") ? 2 : 1;
}

double bound_factor(const char *algorithm, const struct work *w)
{
    double terms = (double)((w->c > 0 ? w->c : 1) / (w->groups > 0 ? w->groups : 1) * work_filter_taps(w)), most = 1;
    for (int i = 0; w->chain && i < w->chain->count; i++)
        most = fmax(most, bound_factor(algorithm, &w->chain->links[i].work));
    if (w->chain || !algorithm)
        return most;
    if (!strcmp(algorithm, "collapsed") && work_collapsed_share(w) < 1) /* without taps on the same pixel nothing is added beforehand */
        return bound_rounded_filter(w->math, (double)(w->c * w->r * w->s), dtype_unit_roundoff(w->dtype));
    if (!strcmp(algorithm, "split3") && w->math == MATH_F32) /* other modes have that slack, or no parts */
        return 1 + (CUT * sqrt(terms + 2) + PARTS * fmin(6 / sqrt(terms), 1)) / fmin(terms + 2, ROUNDED);
    if (is_transform(algorithm) && (!strcmp(algorithm, "library") || work_filter_taps(w) > 1)) /* one tap has no transform */
        return !strcmp(algorithm, "winograd") && (w->math == MATH_F16_ACC32 || w->math == MATH_BF16_ACC32)
                   ? halved_factor(w, terms)
                   : transform_factor(w->math, terms);
    return 1; /* an unknown word earns no slack */
}

double bound_factor_rounded(const char *algorithm, const struct work *w)
{
    double factor = bound_factor(algorithm, w), terms = (double)work_terms(w);
    struct work rounded = *w;
    if (w->chain || w->epilogue_count || !algorithm || is_transform(algorithm) || !(terms > 0) || !work_is_exact(w) ||
        (w->op->file && w->op->file->tolerance > 0) || (w->math != MATH_F16_ACC32 && w->math != MATH_BF16_ACC32))
        return factor;
    rounded.math = MATH_F32;
    if (!strcmp(algorithm, "collapsed"))
        factor = bound_factor(algorithm, &rounded);
    return factor * bound_share(MATH_F32, terms) / bound_share(w->math, terms);
}

unsigned bound_factors(enum math math, const char *algorithm)
{
    bool split = algorithm && !strcmp(algorithm, "split3");
    switch (math) {
    case MATH_F32: return split ? FACTOR_F64 | FACTOR_TF32 | FACTOR_F16 | FACTOR_BF16 : FACTOR_F64;
    case MATH_TF32: return FACTOR_F64 | FACTOR_TF32 | FACTOR_F16;
    case MATH_F16_ACC32: return FACTOR_F64 | FACTOR_TF32 | FACTOR_F16;
    case MATH_F16_ACC16: return FACTOR_F64 | FACTOR_TF32 | FACTOR_F16 | FACTOR_SUM_F16;
    case MATH_BF16_ACC32: return FACTOR_F64 | FACTOR_TF32 | FACTOR_BF16;
    case MATH_I8_ACC32: return FACTOR_F64 | FACTOR_TF32 | FACTOR_F16 | FACTOR_I8;
    case MATH_NONE:
    case MATH_COUNT: break;
    }
    return ~0u;
}
