/* What the tests of measure/verify share: an output as a right kernel leaves it, to be broken. */
#ifndef BENCH_TESTS_UNIT_VERIFY_BENCH_H
#define BENCH_TESTS_UNIT_VERIFY_BENCH_H

#include "works.h"
#include "op/shape.h"
#include "op/reference/data.h"
#include "measure/verify/verify_private.h"

/* A work, its data, and the storage that a correct kernel leaves: the reference rounded to the dtype. */
struct bench {
    struct work w;
    struct op_data d;
    struct program p;
    struct tensor o;
    char *storage;
    struct verdict v;
};

static inline struct bench *start(struct work w, enum data_part part)
{
    struct bench *b = calloc(1, sizeof *b);
    finish(&w);
    b->w = w;
    make_data(&w, part, &b->d);
    b->p = program_of(&w);
    b->o = b->p.tensors[program_tensor(&b->p, "output")];
    b->storage = malloc(tensor_bytes(&b->o));
    for (size_t i = 0; i < b->d.at[SLOT_OUTPUT].elements; i++)
        dtype_set(b->o.dtype, b->storage, tensor_index(&b->o, i), b->d.at[SLOT_OUTPUT].reference[i]);
    return b;
}

static inline void stop(struct bench *b)
{
    op_data_free(&b->d);
    program_free(&b->p);
    free(b->storage);
    free(b);
}

static inline void look(struct bench *b)
{
    verify_tensor(&b->p, program_tensor(&b->p, "output"), &b->d, b->storage, &b->v);
}

static inline size_t at_index(const struct bench *b, int64_t n, int64_t c, int64_t h, int64_t w)
{
    return tensor_index(&b->o, (size_t)(((n * b->o.dim[1] + c) * b->o.dim[2] + h) * b->o.dim[3] + w));
}
static inline void put(struct bench *b, int64_t n, int64_t c, int64_t h, int64_t w, double v)
{
    dtype_set(b->o.dtype, b->storage, at_index(b, n, c, h, w), v);
}
static inline double get(const struct bench *b, int64_t n, int64_t c, int64_t h, int64_t w)
{
    return dtype_get(b->o.dtype, b->storage, at_index(b, n, c, h, w));
}
static inline void poison(struct bench *b, int64_t n, int64_t c, int64_t h, int64_t w)
{
    uint32_t bits = VERIFY_POISON;
    memcpy(b->storage + at_index(b, n, c, h, w) * dtype_bytes(b->o.dtype), &bits, dtype_bytes(b->o.dtype));
}

static inline void passes(struct bench *b)
{
    look(b);
    if (!b->v.ok)
        fail_msg("refused: %s", b->v.text);
    assert_true(b->v.wrong == 0 && b->v.elements == (int64_t)b->d.at[SLOT_OUTPUT].elements && !b->v.pattern[0]);
}

static inline void fails(struct bench *b, int64_t wrong, const char *pattern)
{
    look(b);
    assert_false(b->v.ok);
    if (b->v.wrong != wrong || !strstr(b->v.pattern, pattern))
        fail_msg("%ld wrong, '%s'; wanted %ld, '%s' (%s)", (long)b->v.wrong, b->v.pattern, (long)wrong, pattern, b->v.text);
    assert_non_null(strstr(b->v.text, b->v.pattern));
}

static inline struct work small(enum dtype t, enum layout l)
{
    struct work w = conv_work(8, 16, 24, 40, 3);
    w.n = 2, w.dtype = t, w.layout = l;
    return w;
}

#endif
