/* The comparisons: the device's reference with the CPU's, an output with the reference; and the download for the CPU's check. */
#include "base/text.h"
#include "measure/verify/device_check_private.h"
#include "measure/verify/verify_private.h"
#include "op/reference/generate.h"
#include "op/shape.h"
#include "op/reference/data.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLE_BORDER 2   /* rows from each border of the first and the last image */
#define SAMPLE_CROP 4     /* consecutive rows */
#define SAMPLE_RANDOM 4   /* rows anywhere */
#define SAMPLE_LEAST 4096 /* outputs: adds rows until the sample has this many */
#define SAMPLE_EDGE 16    /* columns from each border */
#define SAMPLE_BLOCK 8    /* adjacent columns: the CPU's reference computes this many at once */
#define SAMPLE_BLOCKS 4   /* of them at random places */
#define SAMPLE_CHUNK 4096 /* values of each input, at its beginning, at its end and at one place in between */

static void want_columns(struct card_sample *s, int64_t first, int64_t count, int64_t all)
{
    for (int64_t q = first < 0 ? 0 : first; q < first + count && q < all; q++)
        s->columns[q] = true;
}

/* Marks the first block of columns of a row that is all active, all inactive, and mixed. */
static void want_classes(const struct work *work, const float *mask, struct card_sample *s)
{
    bool seen[3] = {false};
    for (int64_t q = 0; q + SAMPLE_BLOCK <= work->q; q += SAMPLE_BLOCK) {
        int active = 0;
        for (int i = 0; i < SAMPLE_BLOCK; i++)
            active += mask[q + i] != 0;
        bool *kind = &seen[active == SAMPLE_BLOCK ? 2 : active > 0];
        if (!*kind)
            want_columns(s, q, SAMPLE_BLOCK, work->q);
        *kind = true;
    }
}

static void draw_columns(const struct work *work, struct card_sample *s)
{
    int64_t blocks = work->q / SAMPLE_BLOCK;
    if (work->q <= 2 * SAMPLE_EDGE + SAMPLE_BLOCK * SAMPLE_BLOCKS)
        return;
    s->columns = xcalloc((size_t)work->q, sizeof *s->columns);
    want_columns(s, 0, SAMPLE_EDGE, work->q);
    want_columns(s, work->q - SAMPLE_EDGE, SAMPLE_EDGE, work->q);
    for (int i = 0; i < SAMPLE_BLOCKS; i++)
        want_columns(s, (int64_t)(random_bits(work->seed, 0x5a3f1f, (uint64_t)i) % (uint64_t)blocks) * SAMPLE_BLOCK, SAMPLE_BLOCK, work->q);
}

void card_sample_draw(const struct work *work, const float *mask_out, struct card_sample *s)
{
    int64_t all = work->n * work->p, in_row = work->k * work->q, last = (work->n - 1) * work->p;
    *s = (struct card_sample){0};
    if (all <= 4 * SAMPLE_BORDER + SAMPLE_CROP + SAMPLE_RANDOM || all * in_row <= 16 * SAMPLE_LEAST) {
        for (; s->count < all && s->count < CARD_SAMPLE_MOST; s->count++)
            s->rows[s->count] = s->count;
        return;
    }
    draw_columns(work, s);
    if (s->columns)
        in_row = work->k * (2 * SAMPLE_EDGE + SAMPLE_BLOCK);
    for (int i = 0; i < SAMPLE_BORDER && i < work->p; i++) { /* because an image may have a single row */
        s->rows[s->count++] = i;
        s->rows[s->count++] = work->p - 1 - i;
        if (last) {
            s->rows[s->count++] = last + i;
            s->rows[s->count++] = last + work->p - 1 - i;
        }
    }
    int64_t crop = (int64_t)(random_bits(work->seed, 0x5a3f1e, 0) % (uint64_t)(all - SAMPLE_CROP));
    for (int i = 0; i < SAMPLE_CROP; i++)
        s->rows[s->count++] = crop + i;
    for (int i = 1; s->count < CARD_SAMPLE_MOST && (i <= SAMPLE_RANDOM || s->count * in_row < SAMPLE_LEAST); i++)
        s->rows[s->count++] = (int64_t)(random_bits(work->seed, 0x5a3f1e, (uint64_t)i) % (uint64_t)all);
    for (int i = 0; mask_out && s->columns && i < s->count; i++)
        want_classes(work, mask_out + s->rows[i] * work->q, s);
}

void card_sample_again(struct card_sample *s)
{
    if (s->count < 3)
        return;
    s->rows[1] = s->rows[s->count - 1];
    s->count = 2;
}

void card_sample_free(struct card_sample *sample)
{
    free(sample->columns);
    sample->columns = NULL;
}

/* Checks that the CPU's rows and the device's agree. Both sum the same exact products in double, in different orders: they differ by at
 * most 2^-52 per product of the sum of magnitudes, of which a bound is at least 2^-24. The bounds may differ by their own float rounding
 * errors and those of their terms. */
static bool rows_agree(const struct card_data *d, const struct card_layer *g, const struct card_lines *l, const double *y, const float *e,
                       struct error *err)
{
    const struct op_values *want = &d->host->at[SLOT_OUTPUT];
    size_t from = 0;
    /* the CPU adds magnitudes in float and enlarges them by the possible rounding error (op/reference/sums.c) */
    double apart = 0x1p-10 + 2 * (g->terms + 2) * 0x1p-24;
    for (int64_t r = 0; r < l->count; r++)
        for (int64_t c = 0; c < l->channels; c++)
            for (int64_t line = 0; line < l->per; line++)
                for (int64_t k = 0; k < l->picked; k++, from++) {
                    int64_t x = line * l->width + (l->columns ? l->columns[k] : k);
                    size_t at =
                        (size_t)((l->rows[r] / l->p * l->channels + c) * g->out_h * l->width + l->rows[r] % l->p * l->per * l->width + x);
                    double bound = e ? (double)want->bound[at] : 0;
                    double slack = d->host->exact ? bound * 0x1p-10 : (g->terms + 8) * 0x1p-26 * bound;
                    bool same = fabs(y[from] - want->reference[at]) <= slack && (!e || fabs(e[from] - bound) <= bound * apart);
                    if (!same)
                        return error_set(
                            err, ERROR_INTERNAL,
                            "reference of output %lld of row %lld, channel %lld: the device computes %.17g +-%.9g, the CPU %.17g +-%.9g",
                            (long long)x, (long long)l->rows[r], (long long)c, y[from], e ? (double)e[from] : 0, want->reference[at],
                            bound);
                }
    return true;
}

/* Checks at sampled places that the device's inputs equal the CPU's bit for bit. */
bool card_inputs_agree(const struct card_data *d, const struct work *work, struct error *err)
{
    struct device *dev = d->card->dev;
    struct tensor list[OP_MAX_TENSORS];
    float got[SAMPLE_CHUNK];
    for (int i = 0, count = work->op->tensors(work, list); i < count; i++) {
        const float *want = d->host->at[list[i].role->slot].value;
        uint64_t there = d->at[list[i].role->slot].value;
        size_t all = tensor_elements(&list[i]), chunk = all < SAMPLE_CHUNK ? all : SAMPLE_CHUNK;
        for (int k = 0; want && there && k < 3; k++) {
            size_t first = k == 0 ? 0 : k == 1 ? all - chunk : random_bits(work->seed, 0x77, (uint64_t)i) % (all - chunk + 1);
            if (!tensor_role_is_mask(list[i].role) && generate_by_index(work, &list[i]))
                op_data_fill(work, d->part, d->host, &list[i], first, chunk);
            if (!dev->ops->read(dev, there + first * sizeof *got, got, chunk * sizeof *got, err))
                return false;
            if (memcmp(got, want + first, chunk * sizeof *got))
                return error_set(err, ERROR_INTERNAL, "the values of %s on the device differ from the CPU's after element %zu",
                                 list[i].role->name, first);
        }
    }
    return true;
}

bool card_fetch_rows(const struct card_data *d, enum card_kernel kernel, uint64_t from, size_t element, const struct card_lines *l,
                     void *to, struct error *err)
{
    struct device *dev = d->card->dev;
    uint64_t room = 0;
    int64_t values = l->count * l->channels * l->per * l->picked;
    size_t bytes = ((size_t)values * element + 7) / 8 * 8, rows = (size_t)l->count * sizeof *l->rows,
           columns = (size_t)l->picked * sizeof *l->columns;
    bool ok = dev->ops->alloc(dev, "rows of the sample", bytes + rows + columns, &room, err) &&
              dev->ops->write(dev, room + bytes, l->rows, rows, err) &&
              (!l->columns || dev->ops->write(dev, room + bytes + rows, l->columns, columns, err));
    union card_arg args[] = {card_int((int64_t)from), card_int((int64_t)room), card_int((int64_t)(room + bytes)),
                             card_int(l->count),      card_int(l->channels),   card_int(l->p),
                             card_int(l->per),        card_int(l->width),      card_int(l->columns ? (int64_t)(room + bytes + rows) : 0),
                             card_int(l->picked)};
    ok = ok && card_launch(d->card, kernel, values, args, 10, err) && dev->ops->sync(dev, err) &&
         dev->ops->read(dev, room, to, (size_t)values * element, err);
    if (room)
        dev->ops->release(dev, room);
    return ok;
}

/* The columns of an output line that the sample contains; NULL: all. The caller frees it. */
static int64_t *picked_columns(const struct card_data *d, const struct card_layer *g, int64_t *picked)
{
    int64_t each = g->out_w / g->q, *columns = NULL;
    *picked = g->out_w;
    if (!d->host->columns)
        return NULL;
    columns = xcalloc((size_t)g->out_w, sizeof *columns);
    *picked = 0;
    for (int64_t x = 0; x < g->out_w; x++)
        if (d->host->columns[x / each])
            columns[(*picked)++] = x;
    return columns;
}

bool card_rows_agree(const struct card_data *d, const struct card_layer *g, const int64_t *rows, int count, struct error *err)
{
    struct card_lines l = {.channels = g->out_c, .p = g->p, .per = g->out_h / g->p, .width = g->out_w, .rows = rows, .count = count};
    SCOPED int64_t *columns = picked_columns(d, g, &l.picked);
    l.columns = columns;
    size_t values = (size_t)(l.count * l.channels * l.per * l.picked);
    const struct card_values *at = &d->at[SLOT_OUTPUT];
    SCOPED double *y = xmalloc(values * sizeof *y);
    SCOPED float *e = at->bound ? xmalloc(values * sizeof *e) : NULL;
    bool ok = card_fetch_rows(d, CARD_ROWS_F64, at->reference, sizeof *y, &l, y, err) &&
              (!e || card_fetch_rows(d, CARD_ROWS_F32, at->bound, sizeof *e, &l, e, err)) && rows_agree(d, g, &l, y, e, err);
    return ok;
}

static void sample_of(const struct work *work, const struct op_data *host, struct card_sample *s)
{
    card_sample_draw(work, host->mask_out, s);
    if (work->set_seed)
        card_sample_again(s);
}

bool card_sample_make(const struct work *work, enum data_part part, struct op_data *host, struct error *err)
{
    SCOPED_BY(card_sample_free) struct card_sample s = {0};
    sample_of(work, host, &s);
    host->columns = s.columns;
    op_data_fill_rows(work, part, host, s.rows, s.count);
    bool ok = op_data_reference_rows(work, host, s.rows, s.count, err);
    host->columns = NULL;
    return ok;
}

bool card_sample_agrees(struct card_data *d, const struct work *work, const struct card_layer *g, struct error *err)
{
    SCOPED_BY(card_sample_free) struct card_sample s = {0};
    sample_of(work, d->host, &s);
    d->host->columns = s.columns;
    bool ok = card_inputs_agree(d, work, err) && card_rows_agree(d, g, s.rows, s.count, err);
    d->host->columns = NULL;
    return ok;
}

/* The correct element with the largest error, in as many digits as the CPU would compute. */
static bool worst_of(const struct card_data *d, const struct verify_look *look, uint64_t address, uint64_t key, struct verdict *v,
                     struct error *err)
{
    struct device *dev = d->card->dev;
    const struct card_values *at = &d->at[look->t.role->slot];
    size_t index = (uint32_t) ~(uint32_t)key, bytes = dtype_bytes(look->t.dtype);
    unsigned char raw[8];
    double want;
    float bound = 0;
    if (!(key >> 32)) /* all to the last bit */
        return true;
    if (!dev->ops->read(dev, address + dtype_offset(look->t.dtype, tensor_index(&look->t, index)), raw, bytes, err) ||
        !dev->ops->read(dev, at->reference + index * sizeof want, &want, sizeof want, err) ||
        (at->bound && !dev->ops->read(dev, at->bound + index * sizeof bound, &bound, sizeof bound, err)))
        return false;
    v->worst_got = dtype_get(look->t.dtype, raw, dtype_inside(look->t.dtype, tensor_index(&look->t, index)));
    v->worst_want = want;
    v->worst_error = fabs(v->worst_got - want);
    v->worst_bound = verify_tolerance_of(look, want, bound, d->carried ? (double)d->carried[index / d->plane % d->channels] : 0);
    v->error_over_bound = v->worst_error / v->worst_bound;
    tensor_coordinates(&look->t, index, v->worst_at);
    return true;
}

/* Runs the comparison kernel; its counts start at 0. */
static bool card_counts(const struct card *card, enum card_kernel kernel, int64_t count, const union card_arg *args, int arg_count,
                        uint64_t counts[CARD_COUNTS], struct error *err)
{
    const struct device_ops *ops = card->dev->ops;
    return ops->fill(card->dev, card->counts, 0, CARD_COUNTS * sizeof *counts, err) &&
           card_launch(card, kernel, count, args, arg_count, err) &&
           ops->read(card->dev, card->counts, counts, CARD_COUNTS * sizeof *counts, err);
}

static bool card_compare(const struct card_data *d, const struct program *p, int tensor, uint64_t address, bool *right, struct verdict *v,
                         struct error *err)
{
    static const int rules[] = {[INACTIVE_UNTOUCHED] = 1, [INACTIVE_ZERO] = 2, [INACTIVE_BIAS] = 3};
    struct verify_look look;
    uint64_t counts[CARD_COUNTS];
    int64_t dim[4], stride[4];
    verify_begin(&look, p, tensor, d->host, NULL);
    card_strides(&look.t, dim, stride);
    const struct card_values *at = &d->at[look.t.role->slot];
    union card_arg args[] = {card_int((int64_t)address),
                             card_int(look.t.dtype),
                             card_int(dim[0]),
                             card_int(dim[1]),
                             card_int(dim[2]),
                             card_int(dim[3]),
                             card_int(stride[0]),
                             card_int(stride[1]),
                             card_int(stride[2]),
                             card_int(stride[3]),
                             card_int((int64_t)at->reference),
                             card_int((int64_t)at->bound),
                             card_real(look.factor),
                             card_real(look.roundings),
                             card_real(look.least),
                             card_real(look.most),
                             card_int(look.narrow),
                             card_real(look.large),
                             card_int((int64_t)d->carried_at),
                             card_int((int64_t)(look.mask ? d->mask_out : 0)),
                             card_int(look.block),
                             card_int(look.mask && p->uses_mask ? rules[p->inactive] : 0),
                             card_int(VERIFY_POISON),
                             card_int((int64_t)d->card->counts)};
    *v = (struct verdict){0};
    *right = false;
    if (!at->reference || at->elements > UINT32_MAX) /* no reference, or more elements than an index holds: the CPU checks */
        return true;
    if (!card_counts(d->card, CARD_COMPARE, (int64_t)at->elements, args, sizeof args / sizeof *args, counts, err))
        return false;
    v->elements = (int64_t)counts[CARD_COMPARED];
    v->wrong = (int64_t)counts[CARD_WRONG];
    v->ok = *right = v->wrong == 0 && (v->elements > 0 || look.mask) &&
                     !verify_suspects_matter((int64_t)counts[CARD_SUSPECTS], v->elements, VERIFY_SUSPECTS / 2);
    if (!*right || !worst_of(d, &look, address, counts[CARD_WORST], v, err))
        return !*right;
    verify_describe_right(v);
    return true;
}

/* A mask of outputs. */
static bool card_compare_bits(const struct card_data *d, const struct tensor *t, uint64_t address, bool *right, struct verdict *v,
                              struct error *err)
{
    int64_t dim[4];
    uint64_t counts[CARD_COUNTS];
    tensor_fold(t, dim);
    int64_t rows = dim[0] * dim[1] * dim[2]; /* of all images */
    union card_arg args[] = {card_int((int64_t)address), card_int((int64_t)d->mask_out), card_int(rows), card_int(dim[3]),
                             card_int((int64_t)d->card->counts)};
    *v = (struct verdict){0};
    *right = false;
    if (!d->mask_out) /* no mask to compare with: the CPU reports that */
        return true;
    if (!card_counts(d->card, CARD_COMPARE_BITS, rows * ((dim[3] + 31) / 32), args, 5, counts, err))
        return false;
    v->elements = rows * dim[3];
    v->ok = *right = counts[CARD_WRONG] == 0 && v->elements > 0;
    return true;
}

/* ---- checks for wild writes ---- */

/* The inputs of rows, as spans. */
static int fed_spans(const struct card_data *d, struct card_span spans[OP_MAX_TENSORS + 1])
{
    int count = 0;
    for (int i = 0; i < OP_MAX_TENSORS; i++)
        if (d->at[i].bytes)
            spans[count++] = (struct card_span){d->at[i].value, d->at[i].bytes};
    if (d->mask_out_bytes)
        spans[count++] = (struct card_span){d->mask_out, d->mask_out_bytes};
    return count;
}

bool card_seal(struct card_data *d, struct error *err)
{
    struct card_span spans[OP_MAX_TENSORS + 1];
    return card_sums(d->card, spans, fed_spans(d, spans), d->sums, err);
}

bool card_untouched(const struct card_data *d, bool *untouched, struct error *err)
{
    struct card_span spans[OP_MAX_TENSORS + 1];
    uint64_t sums[OP_MAX_TENSORS + 1];
    int count = fed_spans(d, spans);
    bool ok = card_sums(d->card, spans, count, sums, err);
    *untouched = ok && !memcmp(sums, d->sums, (size_t)count * sizeof *sums);
    return ok;
}

bool card_verify(const struct card_data *d, const struct program *p, int tensor, uint64_t address, bool *right, struct verdict *v,
                 struct error *err)
{
    struct phase_clock *clock = d->card->dev->clock;
    if (p->tensors[tensor].layout == LAYOUT_BITS)
        return card_compare_bits(d, &p->tensors[tensor], address, right, v, err);
    phase_part(clock, "reach");
    bool ok = card_reach(d, p->tensors[tensor].role->slot, err);
    phase_pop(clock);
    phase_part(clock, "compare");
    ok = ok && card_compare(d, p, tensor, address, right, v, err);
    phase_pop(clock);
    phase_part(clock, "leave");
    ok = ok && card_leave(d->card, err);
    phase_pop(clock);
    return ok;
}

bool card_fetch(struct card_data *d, struct error *err)
{
    struct device *dev = d->card->dev;
    if (d->fetched)
        return true;
    for (int i = 0; i < OP_MAX_TENSORS; i++) {
        struct op_values *to = &d->host->at[i];
        if (!d->at[i].reference)
            continue;
        if (!card_reach(d, i, err) || !dev->ops->read(dev, d->at[i].reference, to->reference, to->elements * sizeof *to->reference, err) ||
            (to->bound && !dev->ops->read(dev, d->at[i].bound, to->bound, to->elements * sizeof *to->bound, err)))
            return false;
        for (size_t k = 0; to->carried && k < to->elements; k++)
            to->carried[k] = d->carried[k / d->plane % d->channels];
    }
    d->fetched = true;
    return card_leave(d->card, err);
}

bool card_fetch_some(struct card_data *d, size_t most, struct error *err)
{
    struct device *dev = d->card->dev;
    if (d->fetched || most == SIZE_MAX)
        return card_fetch(d, err);
    for (int i = 0; i < OP_MAX_TENSORS; i++) {
        struct op_values *to = &d->host->at[i];
        size_t count = to->elements < most ? to->elements : most;
        if (d->at[i].reference &&
            (!card_reach(d, i, err) || !dev->ops->read(dev, d->at[i].reference, to->reference, count * sizeof *to->reference, err) ||
             (to->bound && !dev->ops->read(dev, d->at[i].bound, to->bound, count * sizeof *to->bound, err))))
            return false;
    }
    return card_leave(d->card, err);
}
