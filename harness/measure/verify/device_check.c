#include "measure/verify/device_check.h"
#include "base/file.h"
#include "base/text.h"
#include "device/compile/compile.h"
#include "measure/verify/device_check_private.h"
#include "measure/verify/reference.h"
#include "op/reference/bound.h"
#include "op/chain/chain.h"
#include "op/epilogue.h"
#include "op/op_file.h"
#include "op/formula.h"
#include "op/reference/generate.h"
#include "op/shape.h"
#include "op/reference/data.h"
#include "op/mask/mask.h"
#include "op/reach.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const card_sources[] = {"kernels/reference/data.cu",  "kernels/reference/conv.cu",   "kernels/reference/compare.cu",
                                    "kernels/reference/chain.cu", "kernels/reference/settle.cu", NULL};
static const struct {
    const char *kernel;
    int source;
} card_kernels[CARD_KERNELS] = {[CARD_NORMAL] = {"data_normal", 0},
                                [CARD_EXACT] = {"data_exact", 0},
                                [CARD_DRAWN] = {"data_drawn", 0},
                                [CARD_LINES] = {"data_lines", 0},
                                [CARD_BLANK] = {"data_blank", 0},
                                [CARD_PACK] = {"data_pack", 0},
                                [CARD_SUM] = {"data_sum", 0},
                                [CARD_DIFFER] = {"data_differ", 0},
                                [CARD_ROWS_F64] = {"data_rows_f64", 0},
                                [CARD_ROWS_F32] = {"data_rows_f32", 0},
                                [CARD_CONV] = {"reference_conv", 1},
                                [CARD_CONV_WIDE] = {"reference_conv_wide", 1},
                                [CARD_FORMULA] = {"reference_formula", 1},
                                [CARD_FILTER] = {"reference_filter", 1},
                                [CARD_INPUT] = {"reference_input", 1},
                                [CARD_INPUT_WIDE] = {"reference_input_wide", 1},
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
    struct error ignored = {0}; /* it comes again, and is told, when the check is opened */
    for (int i = 0; i <= source; i++)
        if (!card_sources[i])
            return;
    char *path = file_share(card_sources[source]);
    compile_source(path, arch, compiler, &c, &ignored);
    compiled_free(&c);
    free(path);
}

static bool card_load(struct card *card, int source, const char *compiler, struct error *err)
{
    struct compiled c = {0};
    char *path = file_share(card_sources[source]);
    bool ok = compile_source(path, card->dev->chip.arch, compiler, &c, err);
    struct device_image image = {
        .label = "reference", .path = path, .ptx = c.ptx, .ptx_bytes = c.ptx_bytes, .cubin = c.cubin, .cubin_bytes = c.cubin_bytes};
    ok = ok && card->dev->ops->load(card->dev, &image, &card->modules[source], err);
    for (int i = 0; ok && i < CARD_KERNELS; i++)
        if (card_kernels[i].source == source)
            ok = card->dev->ops->function(card->dev, card->modules[source], card_kernels[i].kernel, &card->functions[i], err);
    compiled_free(&c);
    free(path);
    return ok || error_where(err, "%s", card_sources[source]);
}

bool card_open(struct device *dev, const char *compiler, struct card **out, struct error *err)
{
    struct card *card = xcalloc(1, sizeof *card);
    card->dev = dev;
    card->compiler = compiler;
    bool ok = dev->ops->alloc(dev, "counts of the check", CARD_SUMS * sizeof(uint64_t), &card->counts, err);
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
static union card_arg card_single(float v)
{
    union card_arg arg = {.i = 0};
    arg.f = v;
    return arg;
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
        memcpy(packed + params[i].offset, &args[i], params[i].bytes); /* little endian */
    int64_t blocks = (count + CARD_THREADS - 1) / CARD_THREADS, most = 16 * (int64_t)card->dev->chip.sm_count;
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

/* ---- what a case has on the device ---- */

bool card_room(struct card_data *d, const char *label, size_t bytes, uint64_t *address, struct error *err)
{
    return d->card->dev->ops->alloc(d->card->dev, label, bytes, address, err) || error_where(err, "the check on the device");
}

bool card_room_apart(struct card_data *d, const char *label, size_t bytes, uint64_t *address, struct error *err)
{
    const struct device_ops *ops = d->card->dev->ops;
    return ops->alloc_apart ? ops->alloc_apart(d->card->dev, label, bytes, address, err) || error_where(err, "the check on the device")
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

void card_data_free(struct card_data *d)
{
    if (!d)
        return;
    struct device *dev = d->card->dev;
    for (int i = 0; i < OP_MAX_TENSORS; i++) {
        uint64_t all[] = {d->at[i].value, d->at[i].reference, d->at[i].joined ? 0 : d->at[i].bound};
        for (size_t k = 0; k < sizeof all / sizeof *all; k++)
            if (all[k])
                dev->ops->release(dev, all[k]);
    }
    if (d->mask_out)
        dev->ops->release(dev, d->mask_out);
    if (d->carried_at)
        dev->ops->release(dev, d->carried_at);
    free(d->carried);
    free(d);
}

/* The values of one tensor, made there; what the CPU made is held against them in a few places. */
static bool card_generate(struct card_data *d, const struct work *work, const struct tensor *t, enum data_part part, struct error *err)
{
    struct work made = work->chain ? chain_input(work) : *work;
    struct generate_recipe r = generate_recipe(&made, t, part);
    int64_t count = (int64_t)tensor_elements(t);
    uint64_t *to = &d->at[t->role->slot].value;
    if (!card_room(d, t->role->name, (size_t)count * sizeof(float), to, err))
        return false;
    bool ok;
    if (r.draw == DRAW_EXACT) {
        union card_arg args[] = {card_int((int64_t)*to), card_int(count),   card_int((int64_t)r.key), card_int(r.magnitude),
                                 card_int(r.unit),       card_int(r.terms), card_int(r.nonzero),      card_int(r.step)};
        ok = card_launch(d->card, CARD_EXACT, count, args, 8, err);
    } else if (r.draw == DRAW_NORMAL) {
        union card_arg args[] = {card_int((int64_t)*to), card_int(count),     card_int((int64_t)r.key),
                                 card_real(r.scale),     card_int(r.rectify), card_int(r.round_to)};
        ok = card_launch(d->card, CARD_NORMAL, count, args, 6, err);
    } else {
        union card_arg args[] = {card_int((int64_t)*to),
                                 card_int(count),
                                 card_int((int64_t)r.key),
                                 card_int(r.draw == DRAW_BITS ? r.bits : 0),
                                 card_real(r.low),
                                 card_real(r.range),
                                 card_real(r.draw == DRAW_ONES ? r.ones : -1),
                                 card_real(r.higher),
                                 card_int(r.length),
                                 card_int(r.round_to)};
        ok = card_launch(d->card, CARD_DRAWN, count, args, 10, err);
    }
    if (!ok || !r.line)
        return ok;
    union card_arg args[] = {card_int((int64_t)*to), card_int(count), card_int(r.line), card_single(r.exact ? (float)(r.magnitude + 1) : 0),
                             card_int(r.round_to)};
    return card_launch(d->card, CARD_LINES, count, args, 5, err);
}

/* Zero where the mask of inputs says that nothing changed. */
static bool card_blank(const struct card_data *d, const int64_t dim[4], bool still, struct error *err)
{
    union card_arg args[] = {card_int((int64_t)d->at[SLOT_INPUT].value),
                             card_int((int64_t)d->at[SLOT_MASK_IN].value),
                             card_int(dim[0]),
                             card_int(dim[1]),
                             card_int(dim[2] * dim[3]),
                             card_int(still)};
    return card_launch(d->card, CARD_BLANK, dim[0] * dim[1] * dim[2] * dim[3], args, 6, err);
}

static bool card_inputs(struct card_data *d, const struct work *work, enum data_part part, struct error *err)
{
    struct tensor list[OP_MAX_TENSORS];
    enum data_part which = (enum data_part)((int)part & ~(int)DATA_FULL);
    int count = work->op->tensors(work, list);
    bool there = work->op->on_card != REFERENCE_CPU || work->chain || card_file_able(work), ok = true;
    const struct op_data *host = d->host;
    for (int i = 0; ok && i < count; i++) { /* masks first: what is blanked needs them */
        const struct tensor *t = &list[i];
        const float *value = host->at[t->role->slot].value;
        if (value && tensor_role_is_mask(t->role))
            ok = card_upload(d, t->role->name, value, tensor_elements(t) * sizeof *value, &d->at[t->role->slot].value, err);
    }
    if (ok && host->mask_out)
        ok = card_upload(d, "mask of outputs", host->mask_out, (size_t)(work->n * work->p * work->q) * sizeof(float), &d->mask_out, err);
    for (int i = 0; ok && i < count; i++) {
        const struct tensor *t = &list[i];
        const float *value = host->at[t->role->slot].value;
        int64_t dim[4];
        if (!value || tensor_role_is_mask(t->role))
            continue;
        tensor_fold(t, dim);
        if (!there || (work->op->file && !generate_by_index(work, t)))
            ok = card_upload(d, t->role->name, value, tensor_elements(t) * sizeof *value, &d->at[t->role->slot].value, err);
        else
            ok = card_generate(d, work, t, which, err) &&
                 (work->op->file || t->role->slot != SLOT_INPUT || (part & DATA_FULL) || !d->at[SLOT_MASK_IN].value ||
                  card_blank(d, dim, mask_has_still(work, which), err));
    }
    d->mask_out_bytes = d->mask_out ? (size_t)(work->n * work->p * work->q) * sizeof(float) : 0;
    for (int i = 0; ok && i < count; i++) {
        struct card_values *at = &d->at[list[i].role->slot];
        at->bytes = at->value ? tensor_elements(&list[i]) * sizeof(float) : 0;
    }
    return ok;
}

/* ---- the reference ---- */

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
        struct stage s = epilogue_stage(work, i);
        g->item[i] = (struct card_item){e->kind, e->block, e->mode == D2S_CRD, e->alpha, s.c, s.h, s.w};
    }
    struct stage last = epilogue_stage(work, work->epilogue_count);
    g->out_c = last.c, g->out_h = last.h, g->out_w = last.w;
}

/* What is behind a layer's numbers: where its taps read, what they count for, and the steps of its formula. */
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

bool card_layer_up(struct card_data *d, const struct work *work, const struct op_bounds *is, struct card_layer *g, uint64_t *at,
                   struct error *err)
{
    struct op_reach rows = op_reach(work, AXIS_ROWS), columns = op_reach(work, AXIS_COLUMNS);
    const struct expr *sized = work->op->image->size;
    struct formula f = {.count = 0}, size = {.count = 0};
    struct tail t = {.bytes = sizeof *g};
    size_t places = (size_t)(rows.outputs * rows.taps + columns.outputs * columns.taps);
    bool ok = work->op->has_filter || (formula_make(work->op->image->output, work, FORMULA_OF_VALUES, &f, err) &&
                                       (!sized || formula_make(sized, work, FORMULA_OF_VALUES, &size, err)));
    card_describe(work, is, g);
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
    op_reach_free(&rows);
    op_reach_free(&columns);
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

bool card_lines_in(struct card_data *d, const struct card_layer *g, enum card_kernel kernel, uint64_t from, uint64_t *lines,
                   struct error *err)
{
    int64_t across = (g->w + CARD_LINE - 1) / CARD_LINE, count = g->n * g->c * g->h * g->w;
    union card_arg args[] = {card_int((int64_t)from), {0}, card_int(g->n), card_int(g->c), card_int(g->h), card_int(g->w)};
    bool ok = card_room(d, "input in double", (size_t)(g->n * g->c * g->h * across * CARD_LINE) * sizeof(double), lines, err);
    args[1] = card_int((int64_t)*lines);
    return ok && card_launch(d->card, kernel, count, args, 6, err);
}

static bool card_reference(struct card_data *d, const struct work *work, struct error *err)
{
    struct op_bounds is = op_data_bounds(work, d->host);
    struct card_layer g;
    uint64_t layer = 0, filter = 0, lines = 0, input = d->at[SLOT_INPUT].value;
    bool sums = work->op->has_filter, ok = card_layer_up(d, work, &is, &g, &layer, err);
    size_t count = (size_t)(g.n * g.out_c * g.out_h * g.out_w);
    struct card_values *to = &d->at[SLOT_OUTPUT];
    ok = ok && card_filter(d, &g, d->at[SLOT_FILTER].value, &filter, err) &&
         (!sums || card_lines_in(d, &g, CARD_INPUT, input, &lines, err)) && card_room_reference(d, count, is.bounds, to, err);
    union card_arg args[8];
    int arg_count = 0;
    args[arg_count++] = card_int((int64_t)layer);
    args[arg_count++] = card_int((int64_t)(sums ? lines : input));
    if (sums)
        args[arg_count++] = card_int((int64_t)filter);
    const uint64_t rest[] = {d->at[SLOT_BIAS].value, d->at[SLOT_RESIDUAL].value, d->mask_out, to->reference, to->bound};
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        args[arg_count++] = card_int((int64_t)rest[i]);
    to->elements = count;
    phase_part(d->card->dev->clock, "sums");
    ok = ok && card_launch(d->card, sums ? CARD_CONV : CARD_FORMULA, (int64_t)count, args, arg_count, err) &&
         d->card->dev->ops->sync(d->card->dev, err);
    phase_pop(d->card->dev->clock);
    if (layer)
        d->card->dev->ops->release(d->card->dev, layer);
    if (filter)
        d->card->dev->ops->release(d->card->dev, filter);
    if (lines)
        d->card->dev->ops->release(d->card->dev, lines);
    phase_part(d->card->dev->clock, "sample");
    ok = ok && card_sample_agrees(d, work, &g, err);
    phase_pop(d->card->dev->clock);
    return ok;
}

bool card_references_up(struct card_data *d, const struct work *work, struct error *err)
{
    struct tensor list[OP_MAX_TENSORS];
    bool ok = true;
    for (int i = 0, count = work->op->tensors(work, list); ok && i < count; i++) {
        int slot = list[i].role->slot;
        const struct op_values *from = &d->host->at[slot];
        struct card_values *to = &d->at[slot];
        if (!list[i].written || tensor_role_is_mask(list[i].role) || !from->reference)
            continue;
        size_t bytes = (to->elements = from->elements) * sizeof *from->reference, bound_bytes = from->elements * sizeof *from->bound;
        ok = card_room_reference(d, from->elements, from->bound, to, err) &&
             d->card->dev->ops->write(d->card->dev, to->reference, from->reference, bytes, err) &&
             (!from->bound || d->card->dev->ops->write(d->card->dev, to->bound, from->bound, bound_bytes, err));
    }
    d->fetched = true; /* they are the host's own */
    return ok;
}

/* sampled: the host's part is there. */
static bool data_make(struct card *card, const struct work *work, enum data_part part, bool references, bool sampled, struct op_data *host,
                      struct error *err)
{
    if (work->chain && !card_chain_able(work))
        return reference_data_make(card->dev, card->compiler, work, part, host, err);
    struct card_data *d = xcalloc(1, sizeof *d);
    *d = (struct card_data){.card = card, .host = host, .part = part};
    bool there = work->op->on_card != REFERENCE_CPU, file = card_file_able(work);
    bool made = sampled || (there || file || work->chain ? op_data_reserve : op_data_inputs)(work, part, host, err);
    phase_part(card->dev->clock, "inputs");
    bool ok = made && card_inputs(d, work, part, err);
    phase_pop(card->dev->clock);
    ok = ok &&
         (!references || (work->chain ? card_chain(d, work, part, err)
                          : there     ? card_reference(d, work, err)
                          : file      ? card_file(d, work, part, err)
                                 : reference_make(card->dev, card->compiler, work, part, host, err) && card_references_up(d, work, err))) &&
         card_seal(d, err) && card_leave(card, err);
    if (ok) {
        host->card = d;
        return true;
    }
    if (made)
        op_data_free(host);
    card_data_free(d);
    return false;
}

bool card_makes(const struct work *work)
{
    return work->chain ? card_chain_able(work) : work->op->on_card != REFERENCE_CPU;
}

void card_data_moved(struct card_data *d, struct op_data *host)
{
    if (d)
        d->host = host;
}

const struct card *card_data_card(const struct card_data *d)
{
    return d->card;
}

bool card_host_make(const struct work *work, enum data_part part, struct op_data *host)
{
    struct error ignored = {0}; /* it comes again when the data are made */
    if (work->chain || work->op->on_card == REFERENCE_CPU || !op_data_reserve(work, part, host, &ignored))
        return false;
    host->sampled = card_sample_make(work, part, host, &ignored);
    if (!host->sampled)
        op_data_free(host);
    return host->sampled;
}

bool card_data_make(struct card *card, const struct work *work, enum data_part part, struct op_data *host, struct error *err)
{
    return data_make(card, work, part, true, false, host, err);
}

bool card_data_finish(struct card *card, const struct work *work, enum data_part part, struct op_data *host, struct error *err)
{
    return data_make(card, work, part, true, true, host, err);
}

bool card_data_inputs(struct card *card, const struct work *work, enum data_part part, struct op_data *host, struct error *err)
{
    return data_make(card, work, part, false, false, host, err);
}
