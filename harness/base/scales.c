#include "base/scales.h"
#include <math.h>
#include <stdbool.h>

#define LEAST_EXPONENT (-1080)
/* How many of the magnitudes lie below a gap at least: one in `share`, and `least`. */
static const struct {
    int gap;
    uint64_t share, least;
} kinds[] = {{SCALE_GAP, 64, 4}, {SCALE_GAP_OF_MANY, 8, 8}};

void scale_count(struct scale_counts *counts, const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int exponent;
        if (values[i] == 0 || !isfinite(values[i]))
            continue;
        frexp(values[i], &exponent);
        counts->of[exponent - LEAST_EXPONENT]++;
        counts->all++;
    }
}

static bool is_gap(int gap, uint64_t below, uint64_t all)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (gap > kinds[i].gap && below * kinds[i].share >= all && below >= kinds[i].least)
            return true;
    return false;
}

struct scales scales_of(const struct scale_counts *counts)
{
    struct scales s = {0};
    uint64_t below = 0;
    int last = -1, most = (int)(sizeof counts->of / sizeof *counts->of);
    for (int k = 0; k < most; k++) {
        if (!counts->of[k])
            continue;
        if (last >= 0 && is_gap(k - last, below, counts->all) && s.count < SCALES_MOST - 1)
            s.below[s.count++] = ldexp(1, last + LEAST_EXPONENT);
        last = k;
        below += counts->of[k];
    }
    s.below[s.count++] = INFINITY;
    return s;
}

int scale_of(const struct scales *scales, double value)
{
    int i = 0;
    while (i + 1 < scales->count && !(fabs(value) < scales->below[i]))
        i++;
    return i;
}

void scales_usual(const struct scales *scales, const double *values, size_t count, double usual[SCALES_MOST])
{
    for (int k = 0; k < scales->count || k == 0; k++) {
        double squares = 0, below = scales->count ? scales->below[k] : INFINITY;
        size_t finite = 0;
        for (size_t i = 0; i < count; i++)
            if (fabs(values[i]) < below) {
                squares += values[i] * values[i];
                finite++;
            }
        usual[k] = finite ? sqrt(squares / (double)finite) : 0;
    }
}
