/* kernel/new/signature: the parameters of a __global__ function, from its source. Private to kernel/. */
#ifndef BENCH_VARIANT_SIGNATURE_H
#define BENCH_VARIANT_SIGNATURE_H

#include "base/error.h"
#include "base/kernel_name.h"
#include <stdbool.h>
#include <stddef.h>

#define SIGNATURE_MAX 32
struct signature_param {
    char type[64]; /* without const, qualifiers and the star: "float", "INPUT_T", "int" */
    char name[64];
    bool pointer, constant, map; /* constant: points to const; map: a CUtensorMap by value */
    bool no_sign;                /* of whole numbers: "unsigned char", "uint8_t" */
};
struct signature {
    char name[KERNEL_NAME];
    char bounds[64]; /* of __launch_bounds__, first argument; "" when there is none */
    bool external_c, template;
    size_t at; /* where `__global__` stands in the text */
    struct signature_param params[SIGNATURE_MAX];
    int count;
};
/* The kernel called `name`, or the first one (NULL). The text may be anything. */
bool signature_read(const char *text, const char *name, struct signature *out, struct error *err);

#endif
