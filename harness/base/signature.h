/* base/signature: the parameters of a __global__ function, from its source. */
#pragma once

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
    bool qualified;              /* a name of a namespace: std::int8_t */
    bool added_to;               /* the kernel adds into it with atomics */
};
/* A parameter of a template: a type, or a value with the value that the file's own launches or its default give it ("": none). */
struct signature_choice {
    char name[64], value[64];
    bool type;
};
struct signature {
    char name[KERNEL_NAME], scope[KERNEL_NAME]; /* scope: "" or its namespaces, "ns::" */
    char bounds[64];                            /* of __launch_bounds__, first argument; "" when there is none */
    bool external_c, template;
    struct signature_choice choices[SIGNATURE_MAX]; /* of the template */
    int choice_count;
    size_t at; /* where `__global__` stands in the text */
    struct signature_param params[SIGNATURE_MAX];
    int count;
    int axes; /* how many axes of the grid or the block its body uses: 1 to 3 */
};
/* The kernel called `name`, or the first one (NULL). The text may be anything. */
bool signature_read(const char *text, const char *name, struct signature *out, struct error *err);
