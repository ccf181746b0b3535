/* measure/verify/verify_private: the data that one check of an output collects, shared by verify*.c. */
#pragma once

#include "base/text.h"
#include "measure/verify/verify.h"

#define VERIFY_SAMPLES_PER_ROW 8
struct verify_sample { /* a wrong element, in coordinates of tensor_fold */
    int64_t at[4];
    double got;
};
struct verify_look {
    const struct program *program;
    const struct op_data *data;
    const void *storage;
    const struct op_values *want;
    struct tensor t;
    int64_t fold[4];          /* its shape as images of channels of rows */
    bool image;               /* it has images and channels */
    double factor, roundings; /* op/reference/bound.h */
    bool ranged;              /* an activation at the end has a least and a largest value: no rounding leads beyond them */
    double least, most;
    bool narrow;           /* suspects are values that no correct sum rounds to (verify_errors.c) */
    double large;          /* suspects are errors above this share of the tolerance; INFINITY: none */
    bool odd;              /* suspects count as wrong */
    const float *mask;     /* data->mask_out if it decides which elements count, else NULL */
    unsigned char *spared; /* by output of the mask: inactive, but in a tile that the kernel processes as a whole; NULL: none */
    int64_t block;         /* output pixels per mask pixel, each direction */
    /* collected */
    int64_t *wrong_at[TENSOR_MAX_RANK]; /* histograms of wrong elements by axis */
    size_t first_wrong;                 /* the first wrong element's place in the storage */
    int64_t border;                     /* largest distance of a wrong element from the nearest image edge */
    struct verify_sample *samples;      /* up to VERIFY_SAMPLES_PER_ROW for each row of all channels */
    int64_t *row_wrong;                 /* wrong elements of each such row */
};

/* Prepares the check of a tensor. */
void verify_begin(struct verify_look *look, const struct program *program, int tensor, const struct op_data *data, const void *storage);
/* The tolerance of an element with this reference, bound and carried error; 0: it must be the reference rounded to the dtype. */
double verify_tolerance_of(const struct verify_look *look, double want, double bound, double carried);
/* The same for logical element i. */
double verify_tolerance(const struct verify_look *look, size_t i);
/* A value as the dtype stores it; an integer is stored exactly or not at all. */
double verify_rounded(enum dtype t, double v);
bool verify_is_poison(enum dtype t, const void *row, int64_t i);
/* If the kernel wrote inactive outputs, checks whether they are those of whole tiles. If so, *tile is the smallest such tile and the
 * returned array marks the outputs of active tiles (malloc'd); else NULL. */
unsigned char *verify_find_tile(const struct verify_look *look, struct tile *tile, bool *skipped);
/* Writes the sentence of a verdict that is right. */
void verify_describe_right(struct verdict *v);
/* True if this is the value of logical element i. Success form: false for NaN. */
bool verify_right(const struct verify_look *look, size_t logical, double got);
/* False for a value that the activation at the end cannot leave. */
bool verify_in_range(const struct verify_look *look, double got);
/* Suspects (verify_errors.c): elements within the tolerance whose error correct arithmetic leaves rarely or never. */
void verify_errors_begin(struct verify_look *look);
bool verify_is_suspect(const struct verify_look *look, size_t logical, double got);
/* True if their number and places cannot be chance. */
bool verify_errors_are_odd(const struct verify_look *look);
void verify_describe_odd(const struct verify_look *look, struct text *t);
/* True if this number of suspects is at least the share: VERIFY_SUSPECTS makes an output wrong if they are in enough rows; from half of it
 * on, the device asks the CPU to check. */
#define VERIFY_SUSPECTS 0.01
bool verify_suspects_matter(int64_t suspects, int64_t all, double share);
/* The limit of an index of 32 bits at which an output with this first wrong place begins to be wrong, in words; NULL: at none. */
const char *verify_overflow(size_t first_wrong, size_t element_bytes, size_t elements);
/* Describes in words what the wrong elements have in common. */
void verify_pattern(const struct verify_look *look, const struct verdict *v, char *out, size_t bytes);
