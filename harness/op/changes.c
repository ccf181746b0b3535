/* What stands between the convolutions of a network that passes changes: truncate (an activation that holds small changes back), add,
 * concat and densify. Each is a function of its tensors; what a network keeps from frame to frame is `stored`, and densify is what adds to
 * it. */
#include "op/shape.h"
#include <math.h>

static bool changes_finish(struct work *w, struct error *err)
{
    return true; /* an output like the input */
}

static bool finish_concat(struct work *w, struct error *err)
{
    return w->k > w->c ||
           error_set(err, ERROR_USAGE, "concat: %ld channels in all are not more than the first tensor's %ld", (long)w->k, (long)w->c);
}

static const struct tensor_role *const second_roles[] = {ROLE(INPUT),  ROLE(SECOND), ROLE(MASK_SECOND), ROLE(MASK_IN), ROLE(MASK_OUT),
                                                         ROLE(OUTPUT), NULL};

static double flop_none(const struct work *w)
{
    return 0;
}
static double flop_one(const struct work *w)
{
    return (double)w->n * (double)w->c * (double)w->h * (double)w->w;
}
static double flop_truncate(const struct work *w)
{
    return 4 * flop_one(w);
}

static size_t row_at(const struct work *w, int64_t channels, int64_t n, int64_t c, int64_t p)
{
    return (size_t)(((n * channels + c) * w->h + p) * w->w);
}

/* input + other, element by element. */
static void changes_add_rows(const struct work *w, const struct op_data *data, enum shape_slot other, int64_t n, int64_t p, double *y,
                             double *a)
{
    for (int64_t c = 0; c < w->c; c++)
        for (int64_t x = 0; x < w->w; x++) {
            size_t from = row_at(w, w->c, n, c, p) + (size_t)x, to = (size_t)(c * w->w + x);
            double u = op_data_input(data, from), v = data->at[other].value[from];
            y[to] = u + v;
            if (a)
                a[to] = fabs(u) + fabs(v);
        }
}
static void row_add(const struct work *w, const struct op_data *data, int64_t n, int64_t p, double *y, double *a)
{
    changes_add_rows(w, data, SLOT_SECOND, n, p, y, a);
}
static void row_densify(const struct work *w, const struct op_data *data, int64_t n, int64_t p, double *y, double *a)
{
    changes_add_rows(w, data, SLOT_STORED, n, p, y, a);
}

static void row_concat(const struct work *w, const struct op_data *data, int64_t n, int64_t p, double *y, double *a)
{
    (void)a;
    for (int64_t k = 0; k < w->k; k++)
        for (int64_t x = 0; x < w->w; x++)
            y[k * w->w + x] = k < w->c ? op_data_input(data, row_at(w, w->c, n, k, p) + (size_t)x)
                                       : (double)data->at[SLOT_SECOND].value[row_at(w, w->k - w->c, n, k - w->c, p) + (size_t)x];
}

static double activated(const struct work *w, double v)
{
    return v < 0 ? v * w->slope : v;
}

/* What the activation makes of a change at one element. */
static double change_at(const struct work *w, const struct op_data *data, size_t at)
{
    double stored = data->at[SLOT_STORED].value[at];
    return activated(w, stored + op_data_input(data, at)) - activated(w, stored);
}

static void row_truncate(const struct work *w, const struct op_data *data, int64_t n, int64_t p, double *y, double *a)
{
    for (int64_t c = 0; c < w->c; c++)
        for (int64_t x = 0; x < w->w; x++) {
            size_t from = row_at(w, w->c, n, c, p) + (size_t)x, to = (size_t)(c * w->w + x);
            y[to] = change_at(w, data, from);
            if (a)
                a[to] = 2 * fabs((double)data->at[SLOT_STORED].value[from]) + fabs(op_data_input(data, from));
        }
}

/* The size of the change of pixel i (y * w + x): of all channels together. */
static double change_norm(const struct work *w, const struct op_data *data, int64_t n, int64_t i)
{
    double norm = 0;
    for (int64_t c = 0; c < w->c; c++) {
        double d = change_at(w, data, (size_t)((n * w->c + c) * w->h * w->w + i));
        norm = w->norm == TRUNCATE_MAX ? fmax(norm, fabs(d)) : norm + d * d;
    }
    return w->norm == TRUNCATE_MAX ? norm : w->norm == TRUNCATE_L2 ? sqrt(norm) : sqrt(norm / (double)w->c);
}

/* Which changes are passed on. Where rounding could decide that, the change is taken out of the data: every right kernel makes the same
 * mask. */
static void settle_truncate(const struct work *w, struct op_data *data)
{
    for (int64_t i = 0; i < w->n * w->h * w->w; i++) {
        int64_t n = i / (w->h * w->w), pixel = i % (w->h * w->w);
        if (data->mask_out[i] == 0)
            continue;
        double norm = change_norm(w, data, n, pixel);
        for (int64_t c = 0; c < w->c && fabs(norm - w->above) < 1e-3 * w->above; c++)
            data->at[SLOT_INPUT].value[(n * w->c + c) * w->h * w->w + pixel] = 0;
        data->mask_out[i] = norm - w->above >= 1e-3 * w->above && norm > 0;
    }
}

static const struct op_field fields_concat[] = {
    FIELDS_NCHW, FIELD("k", k, 2, 1 << 20, "channels of both tensors together"), {.name = NULL}};
static const struct op_field fields_plain[] = {FIELDS_NCHW, {.name = NULL}};
static const struct op_field fields_truncate[] = {
    FIELDS_NCHW,
    {.name = "norm",
     .kind = FIELD_WORD,
     .offset = offsetof(struct work, norm),
     .fallback = TRUNCATE_MAX,
     .words = truncate_names,
     .what = "how a pixel's change is measured over its channels: max, l2 or rms"},
    {.name = "above",
     .kind = FIELD_REAL,
     .offset = offsetof(struct work, above),
     .fallback = OP_REQUIRED,
     .max = 1000000,
     .what = "a change is passed on when it is larger"},
    {.name = "slope",
     .kind = FIELD_REAL,
     .offset = offsetof(struct work, slope),
     .fallback = 0,
     .max = 1,
     .what = "of the activation for negative values: 0 for relu, 1 for none"},
    {.name = NULL},
};
static const struct op_symbol symbols[] = {SYMBOLS_SHAPE, {NULL, 0, NULL}};
static const struct op_symbol symbols_truncate[] = {SYMBOLS_SHAPE, SYMBOL(norm, "0: max, 1: l2, 2: rms"), {NULL, 0, NULL}};

#define CHANGES .row0 = "copy", .dtypes = DTYPES_ALL, .layouts = LAYOUTS_ALL, .raw_output = shape_raw_output, .reads = shape_reads_same
extern const struct op op_truncate, op_add, op_concat, op_densify;
const struct op op_truncate = {
    .name = "truncate",
    .naive = "element",
    .trial = "layers:\n" TRIAL_TWO("truncate", "c: 64, h: 720, w: 1280, above: 1.5"),
    .masks = TRIAL_MASKS,
    .about = "An activation of changes that holds small ones back: f(stored + input) - f(stored), where input holds the changes since "
             "`stored` and f has a slope for "
             "negative values. With a mask a pixel is passed on (mask_out) only when its norm over the channels is above the threshold; "
             "without one all are.",
    .fields = fields_truncate,
    .symbols = symbols_truncate,
    .finish = changes_finish,
    .roles = shape_stored_roles,
    .tensors = shape_tensors,
    .flop = flop_truncate,
    .reference_row = row_truncate,
    .settle = settle_truncate,
    .terms = 3,
    CHANGES,
};
const struct op op_add = {
    .name = "add",
    .naive = "element",
    .trial = "layers:\n" TRIAL_TWO("add", "c: 64, h: 720, w: 1280"),
    .masks = TRIAL_MASKS,
    .passes_changes = true,
    .about = "input + second, each with a mask of its own: an output is active where either is, and what is not marked counts as 0.",
    .fields = fields_plain,
    .symbols = symbols,
    .finish = changes_finish,
    .roles = second_roles,
    .tensors = shape_tensors,
    .flop = flop_one,
    .reference_row = row_add,
    .terms = 2,
    CHANGES,
};
const struct op op_concat = {
    .name = "concat",
    .naive = "element",
    .trial = "layers:\n" TRIAL_TWO("concat", "c: 64, h: 720, w: 1280, k: 96"),
    .masks = TRIAL_MASKS,
    .passes_changes = true,
    .about = "The channels of input, then those of second (k in all), each with a mask of its own: an output is active where either is, "
             "and what is not marked is 0.",
    .fields = fields_concat,
    .symbols = symbols,
    .finish = finish_concat,
    .roles = second_roles,
    .tensors = shape_tensors,
    .flop = flop_none,
    .reference_row = row_concat,
    CHANGES,
};
const struct op op_densify = {
    .name = "densify",
    .naive = "element",
    .trial = "layers:\n" TRIAL_TWO("densify", "c: 64, h: 720, w: 1280"),
    .masks = TRIAL_MASKS,
    .about = "stored + input: the values after the changes. With a mask only what changed is computed and stored, as in a network that "
             "adds to its state in place.",
    .fields = fields_plain,
    .symbols = symbols,
    .finish = changes_finish,
    .roles = shape_stored_roles,
    .tensors = shape_tensors,
    .flop = flop_one,
    .reference_row = row_densify,
    .terms = 2,
    CHANGES,
};
