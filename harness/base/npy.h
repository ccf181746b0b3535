/* base/npy: NumPy's .npy files: arrays of numbers with a shape. */
#pragma once

#include "base/dtype.h"
#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NPY_MAX_RANK 8
struct npy {
    int rank; /* 0: a single number */
    int64_t dim[NPY_MAX_RANK];
    size_t count;
    double *value;  /* in C order; a file in Fortran order is refused */
    uint64_t *bits; /* of whole numbers of 8 bytes, which a double does not hold exactly; NULL: other elements */
    bool natural;   /* they have no sign */
};
/* Little-endian floats of 2, 4 and 8 bytes, whole numbers of 1 to 8 and bool. Free with npy_free. */
bool npy_read(const char *path, struct npy *out, struct error *err);
void npy_free(struct npy *a);
/* The same, and the shape must be this one. */
bool npy_read_shape(const char *path, const int64_t *dim, int rank, struct npy *out, struct error *err);
/* As f32. */
bool npy_write(const char *path, const int64_t *dim, int rank, const float *values, struct error *err);
/* In the values' own type; bf16, which NumPy lacks, as f32. */
bool npy_write_as(const char *path, const int64_t *dim, int rank, enum dtype type, const void *values, struct error *err);
