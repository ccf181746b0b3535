/* measure/verify_private: what one look at an output collects, shared by verify*.c. */
#ifndef BENCH_MEASURE_VERIFY_PRIVATE_H
#define BENCH_MEASURE_VERIFY_PRIVATE_H

#include "measure/verify.h"

#define VERIFY_SAMPLES_PER_ROW 8
struct verify_sample { /* a wrong element */
    int64_t at[4];
    double got;
};
struct verify_look {
    const struct program *program;
    const struct op_data *data;
    const void *storage;
    struct tensor t;
    double factor;
    const float *mask; /* data->mask_out, or NULL */
    int64_t block;     /* output pixels per mask pixel, each direction */
    /* collected */
    int64_t *wrong_at[4];          /* histograms of wrong elements by n, c, h, w */
    int64_t border;                /* largest distance of a wrong element from the nearest image edge */
    struct verify_sample *samples; /* up to VERIFY_SAMPLES_PER_ROW for each (n, h) */
    int64_t *row_wrong;            /* wrong elements of each (n, h) */
};

/* What the element may differ by from data->reference[i]; 0: it must be the reference rounded to the dtype. */
double verify_tolerance(const struct verify_look *look, size_t logical);
/* Is this the value of logical element i? Success form: NaN is not. */
bool verify_right(const struct verify_look *look, size_t logical, double got);
/* Names what the wrong elements have in common, in words. */
void verify_pattern(const struct verify_look *look, const struct verdict *v, char *out, size_t bytes);
/* "1,234,567" */
void verify_add_count(struct text *t, int64_t n);

#endif
