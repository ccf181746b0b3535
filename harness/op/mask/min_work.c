#include "op/mask/min_work.h"
#include "base/text.h"
#include "op/mask/mask.h"
#include "op/reach.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WINOGRAD_OUTPUTS 6.0
#define FFT_PRODUCTS 1.5

/* One axis of a work: for each output the products it needs along the axis, for each input how many taps read it. */
struct axis {
    int64_t outputs, inputs;
    double *direct, *collapsed, *winograd, *classes; /* by output */
    double *hits, *readers;                          /* by input: taps that read it, outputs that read it */
};

static void axis_free(struct axis *a)
{
    FREE_ALL(a->direct, a->collapsed, a->winograd, a->classes, a->hits, a->readers);
}

/* Collects the distinct inputs of one output in `at`; returns how many. Taps on the same input count once. */
static int axis_output(const struct op_reach *reach, int64_t output, struct axis *a, int64_t *at)
{
    int count = 0;
    for (int64_t t = 0; t < reach->taps; t++) {
        int64_t x = reach->at[output * reach->taps + t];
        bool known = false;
        if (x < 0)
            continue;
        a->direct[output]++;
        a->hits[x]++;
        for (int i = 0; i < count && !known; i++)
            known = at[i] == x;
        if (known)
            continue;
        a->readers[x]++;
        at[count++] = x;
    }
    a->collapsed[output] = count;
    return count;
}

/* Inputs that lie `step` apart form one class: with a stride, each class is a convolution of its own. */
static void axis_transformed(struct axis *a, int64_t output, const int64_t *at, int count, int64_t step)
{
    for (int64_t class = 0; class < step; class ++) {
        int taps = 0;
        for (int i = 0; i < count; i++)
            taps += at[i] % step == class;
        a->classes[output] += taps > 0;
        a->winograd[output] += taps ? (WINOGRAD_OUTPUTS + taps - 1) / WINOGRAD_OUTPUTS : 0;
    }
}

static void axis_make(const struct work *w, enum axis_of axis, struct axis *a)
{
    bool rows = axis == AXIS_ROWS, strided = w->op->has_filter && !w->op->spreads;
    SCOPED_BY(op_reach_free) struct op_reach reach = op_reach(w, axis);
    SCOPED int64_t *at = xcalloc((size_t)reach.taps, sizeof *at);
    *a = (struct axis){.outputs = rows ? w->p : w->q, .inputs = rows ? w->h : w->w};
    double **const by_output[] = {&a->direct, &a->collapsed, &a->winograd, &a->classes};
    for (size_t i = 0; i < sizeof by_output / sizeof *by_output; i++)
        *by_output[i] = xcalloc((size_t)a->outputs, sizeof(double));
    a->hits = xcalloc((size_t)a->inputs, sizeof *a->hits);
    a->readers = xcalloc((size_t)a->inputs, sizeof *a->readers);
    for (int64_t o = 0; o < a->outputs; o++)
        axis_transformed(a, o, at, axis_output(&reach, o, a, at), !strided ? 1 : w->side[rows ? SIDE_stride_y : SIDE_stride_x]);
}

static double sum(const double *values, int64_t count)
{
    double total = 0;
    for (int64_t i = 0; i < count; i++)
        total += values[i];
    return total;
}

/* Sum over the pixels of a mask (NULL: all) of rows[y] * columns[x], for all images. */
static double over(const float *mask, int64_t images, const double *rows, int64_t height, const double *columns, int64_t width)
{
    double total = 0;
    if (!mask)
        return (double)images * sum(rows, height) * sum(columns, width);
    for (int64_t i = 0; i < images * height; i++) {
        double line = 0;
        for (int64_t x = 0; x < width; x++)
            line += mask[i * width + x] != 0 ? columns[x] : 0;
        total += rows[i % height] * line;
    }
    return total;
}

/* Both axes of a work, and its masks. */
struct plane {
    struct axis y, x;
    const float *in, *active; /* the mask that decides which products are needed; the other is NULL */
};

static double plane_products(const struct plane *p, int64_t n, const double *by_row_out, const double *by_column_out,
                             const double *by_row_in, const double *by_column_in)
{
    return p->in ? over(p->in, n, by_row_in, p->y.inputs, by_column_in, p->x.inputs)
                 : over(p->active, n, by_row_out, p->y.outputs, by_column_out, p->x.outputs);
}

/* With a mask that marks both: the taps of active outputs that read a marked input, first along the rows, then down the columns. */
static double marked_pairs(const struct work *w, const float *in, const float *active)
{
    SCOPED_BY(op_reach_free) struct op_reach down = op_reach(w, AXIS_ROWS), across = op_reach(w, AXIS_COLUMNS);
    SCOPED float *along = xmalloc((size_t)(w->h * w->q) * sizeof *along);
    double pairs = 0;
    for (int64_t n = 0; n < w->n; n++, in += w->h * w->w, active += w->p * w->q) {
        for (int64_t y = 0; y < w->h; y++)
            for (int64_t q = 0, *at = across.at; q < w->q; q++) {
                float marked = 0;
                for (int64_t tap = 0; tap < across.taps; tap++, at++)
                    marked += *at >= 0 && in[y * w->w + *at] != 0;
                along[y * w->q + q] = marked;
            }
        for (int64_t i = 0; i < w->p * down.taps; i++)
            for (int64_t q = 0, p = i / down.taps; q < w->q && down.at[i] >= 0; q++)
                pairs += active[p * w->q + q] != 0 ? (double)along[down.at[i] * w->q + q] : 0;
    }
    return pairs;
}

static void add_flop(const struct work *w, const struct plane *p, const float *active, struct min_work *out)
{
    double pair = 2.0 * (double)w->k * (double)(w->c / w->groups);
    double direct = pair * plane_products(p, w->n, p->y.direct, p->x.direct, p->y.hits, p->x.hits);
    double collapsed = pair * plane_products(p, w->n, p->y.collapsed, p->x.collapsed, p->y.readers, p->x.readers);
    if (p->in && w->mask.marks_both)
        direct = collapsed = pair * marked_pairs(w, p->in, active);
    double fft = pair * FFT_PRODUCTS * over(active, w->n, p->y.classes, p->y.outputs, p->x.classes, p->x.outputs);
    double winograd = pair * over(active, w->n, p->y.winograd, p->y.outputs, p->x.winograd, p->x.outputs);
    out->direct += direct;
    out->collapsed += collapsed;
    out->fft += fmin(collapsed, fft);
    /* the rows of a volume are taps of two dimensions; and a masked tile may need fewer products than its transform has */
    out->winograd += w->op->volume ? fmin(collapsed, fft) : fmin(collapsed, winograd);
}

static void work_min(const struct work *w, const float *in, const float *active, struct min_work *out, double *touched)
{
    struct plane p = {.in = active && !w->mask.marks_output ? in : NULL, .active = active};
    axis_make(w, AXIS_ROWS, &p.y);
    axis_make(w, AXIS_COLUMNS, &p.x);
    if (w->op->has_filter)
        add_flop(w, &p, active, out);
    for (int64_t i = 0; i < p.y.inputs; i++)
        p.y.readers[i] = p.y.readers[i] > 0;
    for (int64_t i = 0; i < p.x.inputs; i++)
        p.x.readers[i] = p.x.readers[i] > 0;
    *touched = over(in, w->n, p.y.readers, p.y.inputs, p.x.readers, p.x.inputs) / (double)(w->n * w->h * w->w);
    axis_free(&p.y);
    axis_free(&p.x);
}

static void add_links(const struct chain *chain, const float *in, struct min_work *out)
{
    float *marks = NULL;
    double touched;
    for (int i = 0; i < chain->count; i++) {
        const struct chain_link *l = &chain->links[i];
        const float *from = marks ? marks : in;
        float *next = in ? chain_marks(l, from) : NULL;
        if (l->work.op->has_filter)
            work_min(&l->work, in ? from : NULL, next, out, &touched);
        free(marks);
        marks = next;
    }
    free(marks);
}

void min_work_of(const struct work *w, const float *in, const float *active, struct min_work *out)
{
    struct tensor list[OP_MAX_TENSORS];
    int count = w->op->tensors(w, list);
    bool masked = w->mask.pattern != MASK_NONE && in && active;
    double inputs = masked ? mask_density(in, (size_t)(w->n * w->h * w->w)) : 1, touched = inputs;
    double outputs = masked ? mask_density(active, (size_t)(w->n * w->p * w->q)) : 1;
    *out = (struct min_work){0};
    if (w->chain)
        add_links(w->chain, masked ? in : NULL, out);
    else if (w->op->image)
        work_min(w, masked ? in : NULL, masked ? active : NULL, out, &touched);
    const double moved[] = {[SHARE_WHOLE] = 1, [SHARE_ANY] = outputs > 0, [SHARE_INPUTS] = inputs, [SHARE_OUTPUTS] = outputs};
    for (int i = 0; i < count; i++) {
        const struct tensor *t = &list[i];
        double bytes = (double)tensor_bytes(t) * (t->role->values == VALUES_INPUT ? touched : moved[t->role->share]);
        *(t->written ? &out->write_bytes : &out->read_bytes) += bytes;
    }
    /* The op's file may ask for fewer bytes: rows that indices name, rectangles of an image. */
    double needed = w->op->file ? work_bytes(w) : INFINITY;
    out->write_bytes = fmin(out->write_bytes, needed);
    out->read_bytes = fmin(out->read_bytes, needed - out->write_bytes);
}

double min_work_flop(const struct min_work *l, const char *algorithm)
{
    static const char *const all[] = {"direct", "implicit_gemm", "split3"};
    for (size_t i = 0; algorithm && i < sizeof all / sizeof *all; i++)
        if (!strcmp(algorithm, all[i]))
            return l->direct;
    double fewest = fmin(l->winograd, l->fft);
    return !algorithm                        ? fewest
           : !strcmp(algorithm, "collapsed") ? l->collapsed
           : !strcmp(algorithm, "winograd")  ? l->winograd
           : !strcmp(algorithm, "fft")       ? l->fft
                                             : fewest;
}
