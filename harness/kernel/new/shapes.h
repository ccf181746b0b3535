/* kernel/new/shapes: guesses the shapes of a kernel's tensors from its subscripts. `x[(token * heads + head) * dim + i]` is a tensor of the
 * shape [tokens, heads, dim]; the bound of a loop or of a test (`row < rows`) is the size of an axis. What the text does not show is not
 * guessed. */
#pragma once

#include "base/signature.h"

#define SHAPE_AXES 8
#define SHAPE_TEXT 96
#define SHAPE_NUMBERS 64
#define SHAPE_THREADS "blockDim"
/* A number that a kernel takes: a parameter, or a member of a parameter that is a struct of the same file. */
struct shape_number {
    char name[64], of[64]; /* of: the struct's parameter; "": none */
    bool real;
    int bytes; /* of a member; 0: not known */
};
struct shape_guess {
    char axes[SHAPE_AXES][SHAPE_TEXT]; /* expressions over the numbers, in lower case, outermost first */
    int count;                         /* 0: not known */
    bool read;                         /* its elements are read */
    char selects[64];                  /* its elements are indices below this size; "": they are not */
};
struct shapes {
    struct shape_number numbers[SHAPE_NUMBERS];
    int number_count;
    bool opaque[SIGNATURE_MAX];           /* by parameter: a struct with functions, pointers or arrays */
    struct shape_guess of[SIGNATURE_MAX]; /* by parameter */
    struct {
        char name[64],
            axis[16]; /* a size that no number gives: the blocks of the grid along "blockIdx.x"; "": of a tensor that indices select from */
    } grid[SHAPE_AXES];
    int grid_count;
    struct {
        char size[SHAPE_TEXT], each[SHAPE_TEXT]; /* size "": not known; each: of a block, "blockDim" standing for its threads; "": 1 */
    } launch[3];                                 /* what the blocks along x, y and z cover */
    char shared[64];                             /* an `extern __shared__` array; "": there is none */
    size_t shared_bytes;                         /* of one of its elements */
    char threads[64];       /* the step of a loop that begins at threadIdx.x: a name, a number, "blockDim"; "": no such loop */
    char terms[SHAPE_TEXT]; /* what the loops around a `+=` count to; "": there is none */
};
/* `source`: the whole file, in which `s` was found. */
void shapes_read(const char *source, const struct signature *s, struct shapes *out);
