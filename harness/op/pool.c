/* Pooling: pool_max and pool_average of a window, and pool_max_change, which pools changes: the largest value of a window after the changes
 * less the one before, from the values that are stored (DeltaCNN's rule). The mean is linear, so pool_average of changes is the change of
 * the mean: it takes a mask as it is. Outside the image: nothing for a maximum, zeros for a mean, which always divides by all r * s. */
#include "op/shape.h"
#include <math.h>

static bool pool_finish(struct work *w, struct error *err)
{
    if (w->pad >= w->r || w->pad >= w->s)
        return error_set(err, ERROR_USAGE, "%s: pad %ld is not smaller than the window %ldx%ld: an output would see nothing", w->op->name,
                         (long)w->pad, (long)w->r, (long)w->s);
    if (w->r > w->h + 2 * w->pad || w->s > w->w + 2 * w->pad)
        return error_set(err, ERROR_USAGE, "%s: the window %ldx%ld is larger than the padded input", w->op->name, (long)w->r, (long)w->s);
    w->p = (w->h + 2 * w->pad - w->r) / w->stride + 1;
    w->q = (w->w + 2 * w->pad - w->s) / w->stride + 1;
    return true;
}

/* A comparison or an addition for each value of a window. */
static double pool_flop(const struct work *w)
{
    return (double)w->n * (double)w->k * (double)w->p * (double)w->q * (double)w->r * (double)w->s;
}
static double flop_change(const struct work *w)
{
    return 3 * pool_flop(w);
}

static int64_t pool_reads(const struct work *w, enum axis_of axis, int64_t output, int64_t tap)
{
    return output * w->stride - w->pad + tap;
}

#define WINDOW_MOST (16 * 16)
/* The inputs of an output's window that lie inside the image, as indices into a logical n,c,h,w array. Returns how many. */
static int window_of(const struct work *w, int64_t n, int64_t c, int64_t p, int64_t q, size_t at[WINDOW_MOST])
{
    int count = 0;
    for (int64_t tap = 0; tap < w->r * w->s; tap++) {
        int64_t y = pool_reads(w, AXIS_ROWS, p, tap / w->s), x = pool_reads(w, AXIS_COLUMNS, q, tap % w->s);
        if (y >= 0 && y < w->h && x >= 0 && x < w->w)
            at[count++] = (size_t)(((n * w->c + c) * w->h + y) * w->w + x);
    }
    return count;
}

static void row_max(const struct work *w, const struct op_data *data, int64_t n, int64_t p, double *y, double *a)
{
    size_t at[WINDOW_MOST];
    (void)a; /* a value is moved: no rounding */
    for (int64_t i = 0; i < w->c * w->q; i++) {
        int count = window_of(w, n, i / w->q, p, i % w->q, at);
        y[i] = op_data_input(data, at[0]);
        for (int j = 1; j < count; j++)
            y[i] = fmax(y[i], op_data_input(data, at[j]));
    }
}

static void row_average(const struct work *w, const struct op_data *data, int64_t n, int64_t p, double *y, double *a)
{
    size_t at[WINDOW_MOST];
    for (int64_t i = 0; i < w->c * w->q; i++) {
        double sum = 0, magnitudes = 0;
        int count = window_of(w, n, i / w->q, p, i % w->q, at);
        for (int j = 0; j < count; j++) {
            sum += op_data_input(data, at[j]);
            magnitudes += fabs(op_data_input(data, at[j]));
        }
        y[i] = sum / (double)(w->r * w->s);
        if (a)
            a[i] = magnitudes / (double)(w->r * w->s);
    }
}

static void row_max_change(const struct work *w, const struct op_data *data, int64_t n, int64_t p, double *y, double *a)
{
    size_t at[WINDOW_MOST];
    for (int64_t i = 0; i < w->c * w->q; i++) {
        double before = -INFINITY, after = -INFINITY;
        int count = window_of(w, n, i / w->q, p, i % w->q, at);
        for (int j = 0; j < count; j++) {
            double stored = data->at[SLOT_STORED].value[at[j]];
            before = fmax(before, stored);
            after = fmax(after, stored + op_data_input(data, at[j]));
        }
        y[i] = after - before;
        if (a)
            a[i] = fabs(after) + fabs(before);
    }
}

#define FIELDS_POOL(window) \
    FIELDS_NCHW, FIELD("kernel", r, 1, 16, window ": a number, or [r, s]"), \
        FIELD_OR("stride", stride, 1, 1, 255, "pixels between neighbouring outputs"), \
        FIELD_OR("pad", pad, 0, 0, 15, "pixels beyond the edge that windows may reach"), \
    { \
        .name = NULL \
    }
static const struct op_field fields[] = {FIELDS_POOL("window, pixels")};
static const struct op_symbol symbols[] = {SYMBOLS_SHAPE,
                                           SYMBOL(r, "window height"),
                                           SYMBOL(s, "window width"),
                                           SYMBOL(stride, "pixels between neighbouring outputs"),
                                           SYMBOL(pad, "pixels beyond the edge"),
                                           {NULL, 0, NULL}};

#define POOL \
    .fields = fields, .symbols = symbols, .row0 = "copy", .dtypes = DTYPES_ALL, .layouts = LAYOUTS_ALL, .finish = pool_finish, \
    .raw_output = shape_raw_output, .tap_sums = true

extern const struct op op_pool_max, op_pool_average, op_pool_max_change;
const struct op op_pool_max = {
    .name = "pool_max",
    .naive = "element",
    .trial = "layers:\n" TRIAL_TWO("pool_max", "c: 64, h: 720, w: 1280, kernel: 3, stride: 2, pad: 1"),
    .passes_changes = true,
    .of_changes = "pool_max_change",
    .about = "The largest value of each r x s window; output n,c,p,q. Of values, not of changes: those take pool_max_change.",
    .roles = shape_plain_roles,
    .tensors = shape_tensors,
    .flop = pool_flop,
    .reference_row = row_max,
    .on_card = REFERENCE_LARGEST,
    POOL,
};
const struct op op_pool_average = {
    .name = "pool_average",
    .naive = "element",
    .trial = "layers:\n" TRIAL_TWO("pool_average", "c: 64, h: 720, w: 1280, kernel: 3, stride: 2, pad: 1"),
    .masks = TRIAL_MASKS,
    .passes_changes = true,
    .about = "The mean of each r x s window, zeros outside the image included; output n,c,p,q. With a mask it pools changes.",
    .roles = shape_plain_roles,
    .tensors = shape_tensors,
    .flop = pool_flop,
    .reference_row = row_average,
    .on_card = REFERENCE_MEAN,
    .reads = pool_reads,
    .terms = 1,
    POOL,
};
const struct op op_pool_max_change = {
    .name = "pool_max_change",
    .naive = "element",
    .trial = "layers:\n" TRIAL_TWO("pool_max_change", "c: 64, h: 720, w: 1280, kernel: 3, stride: 2, pad: 1"),
    .masks = TRIAL_MASKS,
    .about = "Max pooling by changes: of each window max(stored + input) - max(stored), where input holds the changes since `stored`, "
             "n,c,h,w both.",
    .roles = shape_stored_roles,
    .tensors = shape_tensors,
    .flop = flop_change,
    .reference_row = row_max_change,
    .reads = pool_reads,
    .terms = 2,
    POOL,
};
