/* base/scales: finds numbers of very different sizes in one tensor, such as attention scores beside a mask of -1e9. An error of the large
 * ones says nothing about the small ones. A tensor has two scales if a gap of SCALE_GAP powers of two separates its magnitudes, or a gap
 * of SCALE_GAP_OF_MANY above many of them. Results of one kind fill such a gap. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SCALES_MOST 4
#define SCALE_GAP 12
#define SCALE_GAP_OF_MANY 6

struct scales {
    double below[SCALES_MOST]; /* ascending; magnitudes of scale i are less than below[i]. The last is infinity. Of count 0: one scale */
    int count;
};

/* How many magnitudes there are of each power of two; zeros, infinities and NaN are left out. Start with {0}. */
struct scale_counts {
    uint64_t of[2200], all;
};
void scale_count(struct scale_counts *counts, const double *values, size_t count);

/* The scale below a gap has at least 1 in 64 of the magnitudes, and at least 4; below the smaller gap 1 in 8, and 8. Fewer results that
 * nearly cancel are not a scale of their own. */
struct scales scales_of(const struct scale_counts *counts);

int scale_of(const struct scales *scales, double value);
/* The root mean square of the finite values of each scale and of those below it, which is what a value of that scale usually is. */
void scales_usual(const struct scales *scales, const double *values, size_t count, double usual[SCALES_MOST]);
