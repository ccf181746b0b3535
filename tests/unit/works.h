/* What the tests of op/ and measure/ share: works to start from, and a program that holds a work's tensors. */
#ifndef BENCH_TESTS_UNIT_WORKS_H
#define BENCH_TESTS_UNIT_WORKS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "op/op.h"
#include "op/program.h"
#include "op/reference/data.h"
#include "op/file/ops.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static inline struct work conv_work(int64_t c, int64_t k, int64_t h, int64_t w, int64_t kernel)
{
    return (struct work){.op = op_find("conv2d"),
                         .n = 1,
                         .c = c,
                         .h = h,
                         .w = w,
                         .k = k,
                         .r = kernel,
                         .s = kernel,
                         .stride = 1,
                         .pad = kernel / 2,
                         .dilation = 1,
                         .groups = 1,
                         .dtype = DTYPE_F16,
                         .layout = LAYOUT_NHWC,
                         .seed = 1};
}

static inline struct work simple_work(const char *op, int64_t c, int64_t h, int64_t w)
{
    struct work made = {.op = op_find(op), .n = 1, .c = c, .h = h, .w = w, .dtype = DTYPE_F16, .layout = LAYOUT_NHWC, .seed = 1};
    for (const struct op_field *f = made.op->fields; f->name; f++)
        if (f->kind == FIELD_INT && f->fallback != OP_REQUIRED)
            memcpy((char *)&made + f->offset, &f->fallback, sizeof f->fallback);
    return made;
}

/* Draws the fields that some ops without a filter have. */
static inline void draw_fields(struct work *w, int64_t (*below)(int64_t))
{
    static const struct {
        const char *name;
        int least, range;
    } own[] = {{"block", 2, 1}, {"up", 3, 5},          {"down", 1, 4},
               {"up_x", 0, 4},  {"coordinates", 0, 6}, {"rounding", 0, 4},
               {"fill", 0, 4},  {"ceil_mode", 0, 2},   {"count_include_pad", 0, 2}};
    for (const struct op_field *f = w->op->fields; f->name; f++)
        for (size_t i = 0; i < sizeof own / sizeof *own; i++)
            if (!strcmp(f->name, own[i].name))
                *(int64_t *)(void *)((char *)w + f->offset) = own[i].least + below(own[i].range);
    w->apart[SIDE_pad_right] = !strcmp(w->op->name, "pad") ? below(3) : 0;
}

static inline void add_item(struct work *w, enum epilogue_kind kind)
{
    w->epilogue[w->epilogue_count++] =
        (struct epilogue){.kind = kind, .alpha = 0.1, .most = 2, .block = 2, .mode = D2S_CRD, .layout = LAYOUT_NCHW};
}

static inline void finish(struct work *w)
{
    struct error err = {0};
    if (!work_finish(w, &err))
        fail_msg("%s", err.text);
}

/* work_finish must refuse, and say `words`. */
static inline void refused(struct work w, const char *words)
{
    struct error err = {0};
    if (work_finish(&w, &err))
        fail_msg("accepted, wanted: %s", words);
    if (!strstr(err.text, words))
        fail_msg("said '%s', wanted '%s'", err.text, words);
    assert_int_equal(err.kind, ERROR_USAGE);
}

static inline void make_data(const struct work *w, enum data_part part, struct op_data *data)
{
    struct error err = {0};
    if (!op_data_make(w, part, data, &err))
        fail_msg("%s", err.text);
}

static inline struct program program_of(const struct work *w)
{
    struct program p = {.work = *w, .algorithm = strdup("direct"), .feasible = true, .exact = true, .checked = true};
    p.tensors = calloc(OP_MAX_TENSORS, sizeof *p.tensors);
    p.tensor_count = w->op->tensors(w, p.tensors);
    return p;
}

#endif
