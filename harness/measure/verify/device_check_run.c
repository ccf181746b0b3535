/* Memory and kernels of the device check. */
#include "measure/verify/device_check.h"
#include "base/file.h"
#include "base/text.h"
#include "device/compile/compile.h"
#include "measure/verify/device_check_private.h"
#include "op/reference/bound.h"
#include "op/epilogue.h"
#include "op/formula.h"
#include "op/shape.h"
#include "op/reference/data.h"
#include "op/reach.h"
#include <stdlib.h>
#include <string.h>

const char *const card_sources[] = {"kernels/reference/data.cu",
                                    "kernels/reference/conv.cu",
                                    "kernels/reference/compare.cu",
                                    "kernels/reference/chain.cu",
                                    "kernels/reference/settle.cu",
                                    "kernels/reference/conv_rest.cu",
                                    NULL};
static const struct {
    const char *kernel;
    int source;
} card_kernels[CARD_KERNELS] = {[CARD_NORMAL] = {"data_normal", 0},
                                [CARD_EXACT] = {"data_exact", 0},
                                [CARD_DRAWN] = {"data_drawn", 0},
                                [CARD_LINES] = {"data_lines", 0},
                                [CARD_SWEPT] = {"data_swept", 0},
                                [CARD_BLANK] = {"data_blank", 0},
                                [CARD_PACK] = {"data_pack", 0},
                                [CARD_SUM] = {"data_sum", 0},
                                [CARD_DIFFER] = {"data_differ", 0},
                                [CARD_ROWS_F64] = {"data_rows_f64", 0},
                                [CARD_ROWS_F32] = {"data_rows_f32", 0},
                                [CARD_CONV] = {"reference_conv", 1},
                                [CARD_CONV_WIDE] = {"reference_conv_wide", 5},
                                [CARD_FORMULA] = {"reference_formula", 5},
                                [CARD_FILTER] = {"reference_filter", 1},
                                [CARD_INPUT] = {"reference_input", 1},
                                [CARD_INPUT_WIDE] = {"reference_input_wide", 5},
                                [CARD_COMPARE] = {"compare_output", 2},
                                [CARD_COMPARE_BITS] = {"compare_bits", 2},
                                [CARD_WIDEN] = {"chain_widen", 3},
                                [CARD_FORGET] = {"chain_forget", 3},
                                [CARD_OWN] = {"chain_own", 3},
                                [CARD_SPREAD] = {"chain_spread", 3},
                                [CARD_SETTLE] = {"settle_rows", 4}};

static bool compile_source(const char *path, const char *arch, const char *compiler, struct compiled *c, struct error *err)
{
    struct compile_request request = {.path = path, .label = "reference", .arch = arch, .compiler = compiler};
    return compile(&request, c, err);
}

void card_compile(int source, const char *arch, const char *compiler)
{
    struct compiled c = {0};
    struct error ignored = {0}; /* the error recurs and is reported when the check is opened */
    for (int i = 0; i <= source; i++)
        if (!card_sources[i])
            return;
    SCOPED char *path = file_share(card_sources[source]);
    compile_source(path, arch, compiler, &c, &ignored);
    compiled_free(&c);
}

static bool card_load(struct card *card, int source, const char *compiler, struct error *err)
{
    SCOPED_BY(compiled_free) struct compiled c = {0};
    SCOPED char *path = file_share(card_sources[source]);
    bool ok = compile_source(path, card->dev->chip.arch, compiler, &c, err);
    struct device_image image = {
        .label = "reference", .path = path, .ptx = c.ptx, .ptx_bytes = c.ptx_bytes, .cubin = c.cubin, .cubin_bytes = c.cubin_bytes};
    ok = ok && card->dev->ops->load(card->dev, &image, &card->modules[source], err);
    for (int i = 0; ok && i < CARD_KERNELS; i++)
        if (card_kernels[i].source == source)
            ok = card->dev->ops->function(card->dev, card->modules[source], card_kernels[i].kernel, &card->functions[i], err);
    return ok || error_where(err, "%s", card_sources[source]);
}

bool card_open(struct device *dev, const char *compiler, struct card **out, struct error *err)
{
    struct card *card = xcalloc(1, sizeof *card);
    card->dev = dev;
    card->compiler = compiler;
    bool ok = dev->ops->alloc(dev, "counts of the device check", CARD_SUMS * sizeof(uint64_t), &card->counts, err);
    for (int i = 0; ok && card_sources[i]; i++)
        ok = card_load(card, i, compiler, err);
    if (!ok) {
        card_close(card);
        card = NULL;
    }
    *out = card;
    return ok;
}

void card_close(struct card *card)
{
    if (!card)
        return;
    for (int i = 0; card_sources[i]; i++)
        if (card->modules[i])
            card->dev->ops->unload(card->dev, card->modules[i]);
    if (card->counts)
        card->dev->ops->release(card->dev, card->counts);
    free(card);
}

union card_arg card_real(double v)
{
    return (union card_arg){.d = v};
}

union card_arg card_int(int64_t v)
{
    return (union card_arg){.i = v};
}

bool card_launch(const struct card *card, enum card_kernel kernel, int64_t count, const union card_arg *args, int arg_count,
                 struct error *err)
{
    const struct device_ops *ops = card->dev->ops;
    const struct param *params;
    unsigned char packed[256] = {0};
    size_t bytes;
    int wanted = ops->signature(card->dev, card->functions[kernel], &params, &bytes);
    if (wanted != arg_count || bytes > sizeof packed)
        return error_set(err, ERROR_INTERNAL, "kernel %s takes %d parameters of %zu bytes, not %d", card_kernels[kernel].kernel, wanted,
                         bytes, arg_count);
    for (int i = 0; i < arg_count; i++)
        memcpy(packed + params[i].offset, params[i].bytes > sizeof args[i] ? args[i].p : &args[i], params[i].bytes); /* little endian */
    int64_t blocks = (count + CARD_THREADS - 1) / CARD_THREADS,
            most = 16 * (int64_t)(card->dev->chip.sm_count > 0 ? card->dev->chip.sm_count : 100);
    struct device_launch launch = {.grid = {(uint32_t)(blocks < 1      ? 1
                                                       : blocks < most ? blocks
                                                                       : most),
                                            1, 1},
                                   .block = {CARD_THREADS, 1, 1},
                                   .carveout = -1,
                                   .params = packed,
                                   .param_bytes = bytes};
    return ops->launch(card->dev, card->functions[kernel], &launch, err) || error_where(err, "kernel %s", card_kernels[kernel].kernel);
}

bool card_room(struct card_data *d, const char *label, size_t bytes, uint64_t *address, struct error *err)
{
    return d->card->dev->ops->alloc(d->card->dev, label, bytes, address, err) || error_where(err, "the device check");
}

bool card_room_apart(struct card_data *d, const char *label, size_t bytes, uint64_t *address, struct error *err)
{
    const struct device_ops *ops = d->card->dev->ops;
    return ops->alloc_guarded ? ops->alloc_guarded(d->card->dev, label, bytes, address, err) || error_where(err, "the device check")
                              : card_room(d, label, bytes, address, err);
}

bool card_room_reference(struct card_data *d, size_t elements, bool bounds, struct card_values *at, struct error *err)
{
    size_t bytes = elements * sizeof(double);
    bool ok = card_room_apart(d, "reference", bytes + (bounds ? elements * sizeof(float) : 0), &at->reference, err);
    at->bound = ok && bounds ? at->reference + bytes : 0;
    at->joined = true;
    return ok;
}

bool card_reach(const struct card_data *d, int slot, struct error *err)
{
    struct device *dev = d->card->dev;
    const struct card_values *at = &d->at[slot];
    return !dev->ops->reach || ((!at->reference || dev->ops->reach(dev, at->reference, true, err)) &&
                                (!at->bound || at->joined || dev->ops->reach(dev, at->bound, true, err)));
}

bool card_leave(const struct card *card, struct error *err)
{
    const struct device_ops *ops = card->dev->ops;
    return !ops->reach || ops->reach(card->dev, 0, false, err);
}

bool card_upload(struct card_data *d, const char *label, const void *from, size_t bytes, uint64_t *address, struct error *err)
{
    return card_room(d, label, bytes, address, err) && d->card->dev->ops->write(d->card->dev, *address, from, bytes, err);
}

/* The tables behind a layer's numbers: the offsets of its taps, their weights, and the steps of its formula. */
struct tail {
    char *at;
    size_t bytes, room;
};

static uint64_t add_tail(struct tail *t, uint64_t base, const void *from, size_t bytes)
{
    uint64_t address = from ? base + t->bytes : 0;
    if (from)
        memcpy(t->at + t->bytes, from, bytes);
    t->bytes += from ? (bytes + 7) / 8 * 8 : 0;
    return address;
}

static void add_reach(struct tail *t, uint64_t base, const struct op_reach *r, uint64_t *at, uint64_t *weight)
{
    size_t count = (size_t)(r->outputs * r->taps);
    *at = add_tail(t, base, r->at, count * sizeof *r->at);
    *weight = add_tail(t, base, r->weight, count * sizeof *r->weight);
}

static void card_describe(const struct work *work, const struct op_bounds *is, struct card_layer *g)
{
    *g = (struct card_layer){.n = work->n,
                             .c = work->c,
                             .h = work->h,
                             .w = work->w,
                             .k = work->k,
                             .groups = work->groups ? work->groups : 1,
                             .p = work->p,
                             .q = work->q,
                             .row_taps = op_taps(work, AXIS_ROWS),
                             .column_taps = op_taps(work, AXIS_COLUMNS)};
    g->result_type = work_result_dtype(work);
    g->sum_type = work->math == MATH_F16_ACC16 ? DTYPE_F16 : DTYPE_F32;
    g->tf32 = work->math == MATH_TF32;
    g->whole = work->math == MATH_I8_ACC32;
    g->bounds = is->bounds;
    g->sums = is->sums;
    g->share = bound_share(work->math, (double)is->terms);
    g->terms = (double)is->terms;
    g->least = (double)is->least;
    g->begun = is->terms > 0 ? bound_begun(work->math, (double)is->terms) : 0;
    g->items = work->epilogue_count;
    for (int i = 0; i < work->epilogue_count; i++) {
        const struct epilogue *e = &work->epilogue[i];
        struct epilogue_shape s = epilogue_shape_at(work, i);
        g->item[i] =
            (struct card_item){e->kind, e->block, e->mode == D2S_CRD, e->alpha, e->most, e->scale != 0 ? e->scale : 1, s.c, s.h, s.w};
    }
    struct epilogue_shape last = epilogue_shape_at(work, work->epilogue_count);
    g->out_c = last.c, g->out_h = last.h, g->out_w = last.w;
}

bool card_layer_up(struct card_data *d, const struct work *work, const struct op_bounds *is, struct card_layer *g, uint64_t *at,
                   struct error *err)
{
    SCOPED_BY(op_reach_free) struct op_reach rows = op_reach(work, AXIS_ROWS), columns = op_reach(work, AXIS_COLUMNS);
    const struct expr *sized = work->op->image->size;
    struct formula f = {.count = 0}, size = {.count = 0};
    struct tail t = {.bytes = sizeof *g};
    size_t places = (size_t)(rows.outputs * rows.taps + columns.outputs * columns.taps);
    bool ok = work->op->has_filter || (formula_make(work->op->image->output, work, FORMULA_OF_VALUES, &f, err) &&
                                       (!sized || formula_make(sized, work, FORMULA_OF_VALUES, &size, err)));
    card_describe(work, is, g);
    g->slopes = d->at[SLOT_SLOPES].value;
    t.room = sizeof *g + places * 2 * sizeof(int64_t) + 2 * sizeof f.steps;
    t.at = xcalloc(1, t.room);
    ok = ok && card_room(d, "layer of the reference", t.room, at, err);
    add_reach(&t, *at, &rows, &g->rows, &g->row_weight);
    add_reach(&t, *at, &columns, &g->columns, &g->column_weight);
    g->step_count = f.count;
    g->steps = add_tail(&t, *at, f.steps, (size_t)f.count * sizeof *f.steps);
    g->size_count = size.count;
    g->size_steps = add_tail(&t, *at, size.steps, (size_t)size.count * sizeof *size.steps);
    memcpy(t.at, g, sizeof *g);
    ok = ok && d->card->dev->ops->write(d->card->dev, *at, t.at, t.room, err);
    free(t.at);
    return ok;
}

bool card_filter(struct card_data *d, const struct card_layer *g, uint64_t filter, uint64_t *wide, struct error *err)
{
    int64_t channels = g->c / g->groups, taps = g->row_taps * g->column_taps;
    int64_t count = g->groups * ((g->k / g->groups + CARD_FILTERS - 1) / CARD_FILTERS) * CARD_FILTERS * channels * taps;
    if (!filter)
        return true;
    union card_arg args[] = {card_int((int64_t)filter), {0}, card_int(g->k), card_int(g->groups), card_int(channels), card_int(taps)};
    bool ok = card_room(d, "filter in double", (size_t)count * sizeof(double), wide, err);
    args[1] = card_int((int64_t)*wide);
    return ok && card_launch(d->card, CARD_FILTER, count, args, 6, err);
}

size_t card_lines_bytes(const struct card_layer *g)
{
    return (size_t)(g->n * g->c * g->h * ((g->w + CARD_LINE - 1) / CARD_LINE) * CARD_LINE) * sizeof(double);
}

bool card_lines_in(struct card_data *d, const struct card_layer *g, enum card_kernel kernel, uint64_t from, uint64_t lines,
                   struct error *err)
{
    union card_arg args[] = {card_int((int64_t)from), card_int((int64_t)lines), card_int(g->n),
                             card_int(g->c),          card_int(g->h),           card_int(g->w)};
    return card_launch(d->card, kernel, g->n * g->c * g->h * g->w, args, 6, err);
}
