#include "op/mask/mask.h"
#include "base/image.h"
#include "base/pool.h"
#include "base/text.h"
#include "op/mask/pattern.h"
#include "op/random.h"
#include "op/reach.h"
#include <stdlib.h>
#include <string.h>

/* Reads a mask from a picture: a pixel is active if any of its channels is above half of the largest value. */
static bool make_file(const struct work *work, int64_t h, int64_t w, float *out, struct error *err)
{
    char path[sizeof work->mask.path + 128];
    struct image image;
    size_t pixels = (size_t)h * (size_t)w;
    int64_t whole_h = work->mask.whole_h ? work->mask.whole_h : h, whole_w = work->mask.whole_w ? work->mask.whole_w : w;
    mask_frame_path(&work->mask, 0, path, sizeof path);
    if (!image_read(path, &image, err))
        return error_where(err, "mask");
    bool fits = image.w == whole_w && image.h == whole_h;
    if (!fits) {
        error_set(err, ERROR_USAGE, "mask %s has %lld x %lld pixels (width x height), but the layer needs %lld x %lld", path,
                  (long long)image.w, (long long)image.h, (long long)whole_w, (long long)whole_h);
        error_hint(err, "bench mask VIDEO --to NAME --size %lldx%lld makes masks of that size", (long long)whole_w, (long long)whole_h);
    }
    for (size_t i = 0; fits && i < pixels; i++) {
        size_t from = (i / (size_t)w * (size_t)whole_w + i % (size_t)w) * (size_t)image.channels;
        out[i] = 0;
        for (int c = 0; c < image.channels; c++)
            if (2 * image.at[from + (size_t)c] > image.most)
                out[i] = 1;
    }
    image_free(&image);
    for (int64_t i = 1; fits && i < work->n; i++) /* every image of the batch has the same mask */
        memcpy(out + (size_t)i * pixels, out, pixels * sizeof *out);
    return fits;
}

bool mask_make(const struct work *work, float *out, struct error *err)
{
    int64_t h = work->mask.marks_output ? work->p : work->h, w = work->mask.marks_output ? work->q : work->w;
    if (work->mask.pattern == MASK_NONE)
        return error_set(err, ERROR_INTERNAL, "a mask for a work without one");
    if (work->mask.pattern == MASK_FILE)
        return make_file(work, h, w, out, err);
    int64_t planes = !work->op->volume ? 1 : work->mask.marks_output ? work->o : work->d;
    for (int64_t i = 0; i < work->n; i++) {
        struct mask_plane p = {
            .mask = &work->mask, .at = out + i * h * w, .d = planes, .h = h / planes, .w = w, .stream = (uint64_t)(1000 + i)};
        memset(p.at, 0, (size_t)(h * w) * sizeof *p.at);
        mask_pattern_draw[work->mask.pattern](&p);
    }
    return true;
}

/* Through all links of a chain. */
static void dilate_chain(const struct work *work, const float *in, float *out)
{
    float *marks = NULL;
    for (int i = 0; i < work->chain->count; i++) {
        float *next = chain_marks(&work->chain->links[i], marks ? marks : in);
        free(marks);
        marks = next;
    }
    memcpy(out, marks, (size_t)(work->n * work->p * work->q) * sizeof *out);
    free(marks);
}

struct dilation {
    const struct work *w;
    const float *in;
    float *rows, *out; /* dilated along x; along both */
    struct op_reach down, across;
};

static void dilate_across(void *context, int64_t y, int thread)
{
    const struct dilation *d = context;
    const float *in = d->in + y * d->w->w;
    float *row = d->rows + y * d->w->q;
    memset(row, 0, (size_t)d->w->q * sizeof *row);
    for (int64_t q = 0, *from = d->across.at; q < d->w->q; q++)
        for (int64_t tap = 0; tap < d->across.taps; tap++, from++)
            row[q] = *from >= 0 && in[*from] != 0 ? 1 : row[q];
}

static void dilate_down(void *context, int64_t p, int thread)
{
    const struct dilation *d = context;
    float *out = d->out + p * d->w->q;
    memset(out, 0, (size_t)d->w->q * sizeof *out);
    for (int64_t r = 0; r < d->down.taps; r++) {
        int64_t y = d->down.at[p * d->down.taps + r];
        for (int64_t q = 0; y >= 0 && q < d->w->q; q++)
            out[q] = d->rows[y * d->w->q + q] != 0 ? 1 : out[q];
    }
}

void mask_dilate(const struct work *work, const float *in, float *out)
{
    if (work->chain) {
        dilate_chain(work, in, out);
        return;
    }
    const struct work *w = work;
    if (w->mask.marks_both) {
        memcpy(out, in, (size_t)(w->n * w->p * w->q) * sizeof *out);
        return;
    }
    int threads = pool_threads_for(w->h * w->q, 50000);
    struct dilation d = {.w = w, .in = in, .out = out, .down = op_reach(w, AXIS_ROWS), .across = op_reach(w, AXIS_COLUMNS)};
    d.rows = xmalloc((size_t)(w->h * w->q) * sizeof *d.rows);
    for (int64_t n = 0; n < w->n; n++, d.in += w->h * w->w, d.out += w->p * w->q) {
        pool_for(w->h, threads, dilate_across, &d);
        pool_for(w->p, threads, dilate_down, &d);
    }
    op_reach_free(&d.down);
    op_reach_free(&d.across);
    free(d.rows);
}

/* Marks the inputs that any active output reads. */
static void mask_needed(const struct work *w, const float *out, float *in)
{
    SCOPED_BY(op_reach_free) struct op_reach down = op_reach(w, AXIS_ROWS), across = op_reach(w, AXIS_COLUMNS);
    int64_t taps = down.taps * across.taps;
    memset(in, 0, (size_t)(w->n * w->h * w->w) * sizeof *in);
    for (int64_t n = 0; n < w->n; n++, in += w->h * w->w, out += w->p * w->q)
        for (int64_t p = 0; p < w->p; p++)
            for (int64_t q = 0; q < w->q; q++)
                for (int64_t tap = 0; out[p * w->q + q] != 0 && tap < taps; tap++) {
                    int64_t y = down.at[p * down.taps + tap / across.taps], x = across.at[q * across.taps + tap % across.taps];
                    if (y >= 0 && x >= 0)
                        in[y * w->w + x] = 1;
                }
}

void mask_blank(const struct tensor *t, const float *mask, float with, float *values)
{
    int64_t dim[4];
    tensor_fold(t, dim);
    size_t plane = (size_t)(dim[2] * dim[3]);
    for (size_t i = 0; i < (size_t)(dim[0] * dim[1]); i++)
        for (size_t k = 0; k < plane; k++)
            if (mask[i / (size_t)dim[1] * plane + k] == 0)
                values[i * plane + k] = with;
}

bool mask_has_still(const struct work *work, enum data_part part)
{
    return part == DATA_PART_EXACT && !work->chain && !work->op->settle;
}

bool mask_holds_still(size_t pixel, size_t element)
{
    return random_mix(~(uint64_t)pixel) % 8 < 3 || random_mix(element) % 8 == 0;
}

double mask_density(const float *mask, size_t count)
{
    size_t active = 0;
    for (size_t i = 0; i < count; i++)
        active += mask[i] != 0;
    return count ? (double)active / (double)count : 0;
}

bool mask_second(const struct work *w, float *out, struct error *err)
{
    struct work other = *w;
    other.mask.seed += 1000003;
    return mask_make(&other, out, err);
}

static bool add_second(const struct work *w, float *active, struct error *err)
{
    size_t pixels = (size_t)(w->n * w->h * w->w);
    SCOPED float *second = xmalloc(pixels * sizeof *second);
    bool ok = mask_second(w, second, err);
    for (size_t i = 0; ok && i < pixels; i++)
        active[i] = active[i] != 0 || second[i] != 0;
    return ok;
}

bool mask_both(const struct work *w, float *in, float *active, struct error *err)
{
    size_t inputs = (size_t)(w->n * w->h * w->w), outputs = (size_t)(w->n * w->p * w->q);
    if (w->mask.pattern == MASK_NONE) {
        for (size_t i = 0; i < inputs; i++)
            in[i] = 1;
        for (size_t i = 0; i < outputs; i++)
            active[i] = 1;
        return true;
    }
    if (!mask_make(w, w->mask.marks_output ? active : in, err))
        return false;
    if (w->mask.marks_output) {
        mask_needed(w, active, in);
        return true;
    }
    mask_dilate(w, in, active);
    struct tensor t;
    return !work_tensor(w, "mask_second", &t) || add_second(w, active, err);
}

void work_useful_of(const struct work *w, const float *in, const float *active, struct useful *out)
{
    size_t inputs = (size_t)(w->n * w->h * w->w), outputs = (size_t)(w->n * w->p * w->q);
    struct tensor list[OP_MAX_TENSORS];
    int count = w->op->tensors(w, list);
    *out = (struct useful){mask_density(in, inputs), mask_density(active, outputs), work_flop(w), work_bytes(w)};
    out->flop = w->chain && w->mask.pattern != MASK_NONE ? chain_useful_flop(w->chain, in) : out->flop * out->output_share;
    const double moved[] = {
        [SHARE_WHOLE] = 1, [SHARE_ANY] = out->output_share > 0, [SHARE_INPUTS] = out->input_share, [SHARE_OUTPUTS] = out->output_share};
    for (int i = 0; i < count; i++)
        out->bytes -= (double)tensor_bytes(&list[i]) * (1 - moved[list[i].role->share]);
}

bool work_useful(const struct work *w, struct useful *out, struct error *err)
{
    *out = (struct useful){1, 1, work_flop(w), work_bytes(w)};
    if (w->mask.pattern == MASK_NONE)
        return true;
    SCOPED float *in = xmalloc((size_t)(w->n * w->h * w->w) * sizeof *in), *active = xmalloc((size_t)(w->n * w->p * w->q) * sizeof *active);
    bool ok = mask_both(w, in, active, err);
    if (ok)
        work_useful_of(w, in, active, out);
    return ok;
}

float *chain_marks(const struct chain_link *link, const float *in)
{
    const struct work *w = &link->work;
    float *out = xmalloc((size_t)(w->n * w->p * w->q) * sizeof *out);
    mask_dilate(w, in, out);
    return out;
}

double chain_useful_flop(const struct chain *chain, const float *in)
{
    float *marks = NULL;
    double flop = 0;
    for (int i = 0; i < chain->count; i++) {
        const struct work *w = &chain->links[i].work;
        float *next = chain_marks(&chain->links[i], marks ? marks : in);
        flop += work_flop(w) * mask_density(next, (size_t)(w->n * w->p * w->q));
        free(marks);
        marks = next;
    }
    free(marks);
    return flop;
}
