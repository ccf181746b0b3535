/* A step `stages:`: the stages of an op cut into launches (op/stage/stage.h, kernels/include/stage/chain.cuh). */
#include "kernel/bind/bind.h"
#include "base/text.h"
#include "op/stage/stage.h"
#include <stdio.h>
#include <string.h>

#define BLOCK_X 32 /* as chain.cuh has it */
#define BLOCK_Y 8
#define BLOCK (BLOCK_X * BLOCK_Y)
#define POINTS_A_THREAD 4 /* of f32, 16 bytes; more would only cost registers where pixels are gathered */
#define POINT_ROWS \
    2 /* more on their way: on an H200 six ops on 1080p take 7.2 us instead of 7.5, each alone in a graph 25.4 instead of 29.6 */

/* The join after the branch of stage i; 0: it is in none. */
static int join_behind(const struct stage_image *all, int i)
{
    if (all[i].use->branches < 2)
        return 0;
    while (all[i].use->stage->kind != STAGE_JOIN)
        i++;
    return i;
}

/* True if the image after stage i is stored. Branches are launches of their own, unless everything is one; CUT_BRANCHES: nothing else is.
 */
static bool cut_behind(enum span_cut cut, const struct stage_image *all, int count, int i)
{
    const struct stage_image *next = &all[i + 1];
    if (i == count - 1 || cut == CUT_NONE)
        return i == count - 1;
    if (cut == CUT_BRANCHES)
        return next->before != i;
    bool parts = next->before != i || next->use->branches != all[i].use->branches; /* a branch ends, or branches begin */
    return parts || cut == CUT_EACH || next->use->stage->kind != STAGE_POINT;
}

/* A buffer between two spans: an existing one, unless it is still to be read. */
static struct buffer_ref between(struct bind *b, const struct stage_image *s, const struct buffer_ref busy[3], int first)
{
    struct program *p = b->program;
    int64_t elements = s->n * s->c * s->h * s->w;
    for (int i = first; i < p->scratch_count; i++) {
        bool taken = p->scratch[i].dtype != s->dtype || p->scratch[i].elements < elements;
        for (int k = 0; k < 3; k++)
            taken |= busy[k].kind == BUFFER_SCRATCH && busy[k].index == i;
        if (!taken)
            return (struct buffer_ref){.kind = BUFFER_SCRATCH, .index = i};
    }
    return (struct buffer_ref){.kind = BUFFER_SCRATCH, .index = program_add_scratch(p, "image", s->dtype, elements)};
}

static void add_argument(struct step *s, const char *name, struct buffer_ref buffer, enum arg_kind kind, int64_t value)
{
    struct arg *a = &s->args[s->arg_count++];
    *a = (struct arg){.kind = kind, .buffer = buffer, .i = value};
    snprintf(a->name, sizeof a->name, "%s", name);
}

static int64_t rounded_up(int64_t n, int64_t by)
{
    return (n + by - 1) / by;
}

/* True if a block computes consecutive pixels, row after row, instead of 32 x 8. Stores of a narrow image, whose rows start anywhere in a
 * cache line, then fill whole lines. False if each image has its own size (boxes, branches). */
static bool by_row(const struct stage_image *all, int i, int64_t wide)
{
    int64_t w = all[i].w;
    while (all[i].use && all[i].use->stage->kind == STAGE_POINT)
        i = all[i].before;
    bool fixed = !all[i].use || all[i].use->stage->kind == STAGE_SAMPLE;
    return fixed && w % (BLOCK_X * wide) && w < BLOCK * wide;
}

static void add_launch(struct bind *b, const struct head_step *h, int first, int last, const struct stage_image *s, struct buffer_ref from,
                       struct buffer_ref to, const int64_t each[2], bool rows, int64_t image, int64_t images)
{
    struct step *step = program_add_step(b->program, STEP_KERNEL, false);
    int boxes = program_tensor(b->program, "boxes");
    snprintf(step->name, sizeof step->name, "span_%d_%d", first, last);
    step->file = h->node->file;
    step->line = h->node->line;
    step->column = h->node->column;
    step->grid[0] = (uint32_t)(rows ? rounded_up(rounded_up(s->w, each[0]) * s->h, BLOCK * each[1]) : rounded_up(s->w, BLOCK_X * each[0]));
    step->grid[1] = (uint32_t)(rows ? 1 : rounded_up(s->h, BLOCK_Y * each[1]));
    step->grid[2] = (uint32_t)images;
    step->block[0] = BLOCK_X;
    step->block[1] = BLOCK_Y;
    step->block[2] = 1;
    step->stream = h->each_stream && s->use->branches > 1 ? s->use->branch + 1 : 0;
    add_argument(step, "from", from, ARG_BUFFER, 0);
    add_argument(step, "to", to, ARG_BUFFER, 0);
    add_argument(step, "boxes", (struct buffer_ref){.kind = BUFFER_TENSOR, .index = boxes}, boxes < 0 ? ARG_INT : ARG_BUFFER, 0);
    add_argument(step, "first_image", (struct buffer_ref){0}, ARG_INT, image);
}

/* How many adjacent pixels and how many rows a thread computes, from the head; 0: `auto`. */
static bool work_a_thread(struct bind *b, const struct head_step *h, int64_t each[2], struct error *err)
{
    static const char *const names[] = {"PIXELS", "ROWS"};
    for (int i = 0; i < 2; i++) {
        struct value v = value_int(i);
        if (!b->env.name(b, names[i], &v, err) && i == 0)
            v.i = 0;
        each[i] = v.kind == VALUE_TEXT ? 0 : v.i;
        if (v.kind == VALUE_TEXT ? strcmp(v.text, "auto") : v.kind != VALUE_INT || v.i < 1 || v.i > 16)
            return node_error(h->node, err,
                              "a step `stages:` needs a parameter PIXELS, 1 to 16 or auto: the adjacent pixels per thread. ROWS, the rows "
                              "per thread, is optional");
    }
    return true;
}

/* Index of the image in which stage i is stored: the join's at the end of a branch. */
static struct buffer_ref *place_of(struct bind *b, const struct stage_image *all, int count, int i, struct buffer_ref from,
                                   struct buffer_ref *stored, int scratch)
{
    int join = join_behind(all, i), at = i;
    for (int k = 0; join && k < all[join].use->branches; k++)
        at = all[join].ends[k] == i ? join : at;
    struct buffer_ref busy[3] = {from, join ? stored[all[join].before] : from, join ? stored[join] : from};
    if (at == count - 1)
        stored[at] = (struct buffer_ref){.kind = BUFFER_TENSOR, .index = program_tensor(b->program, "output")};
    else if (stored[at].kind == BUFFER_NONE)
        stored[at] = between(b, &all[i], busy, scratch);
    return &stored[at];
}

static bool alike(const struct stage_image *a, const struct stage_image *b)
{
    return a->dtype == b->dtype && a->n == b->n && a->c == b->c && a->h == b->h && a->w == b->w;
}

/* First of the equal repetitions (`times:`) of stage i if it is cut on both sides: they share one kernel, so a chain of 200 is not compiled
 * as 200. Not for the first and last stage, whose input or output is a tensor. */
static int repeats(const struct stage_image *all, int count, int i)
{
    while (i > 2 && i < count - 1 && all[i].use == all[i - 1].use && all[i].before == i - 1 && all[i - 1].before == i - 2 &&
           alike(&all[i], &all[i - 1]) && alike(&all[i - 1], &all[i - 2]))
        i--;
    return i;
}

/* Adds the launches of one span; those of a branch run on every so many images. */
static bool launch_span(struct bind *b, const struct head_step *h, const struct stage_image *all, int count, int first, int last,
                        struct buffer_ref *stored, const int64_t given[2], int scratch, struct text *spans)
{
    const struct stage_image *s = &all[last];
    struct buffer_ref from = stored[all[first].before], *to = place_of(b, all, count, last, from, stored, scratch);
    bool points = true, branch = s->use->branches > 1 && s->use->stage->kind != STAGE_JOIN;
    int64_t images = stage_count_of(s), step = branch ? s->use->branches : 1, begin = branch ? s->use->branch : 0;
    for (int k = last; k >= first; k = h->cut == CUT_BRANCHES ? all[k].before : k - 1) /* not the other branches */
        points &= all[k].use->stage->kind == STAGE_POINT || all[k].use->stage->kind == STAGE_JOIN;
    int64_t each[2] = {given[0] ? given[0] : points ? POINTS_A_THREAD : 1, given[1] ? given[1] : points ? POINT_ROWS : 1};
    int same = h->cut == CUT_EACH && first == last && !branch ? repeats(all, count, last) : last;
    bool rows = by_row(all, last, each[0]);
    if (same == last)
        text_addf(spans, "%sSPAN(%d,%d,%d,%d,%d,%d,%d,%d)", spans->len > 6 ? " " : "", first, last, (int)(to - stored), points, rows,
                  (int)each[0], (int)each[1], (int)step);
    if (images > 65535)
        return bind_infeasible(b, "stages: %lld images exceed the z dimension of a grid", (long long)images);
    for (int64_t k = 0; k < (h->each_image ? images : images > 0); k++)
        add_launch(b, h, same == last ? first : same, same, s, from, *to, each, rows, begin + k * step, h->each_image ? 1 : images);
    return b->program->step_count <= SPAN_MOST || bind_infeasible(b, "stages: more than %d launches", SPAN_MOST);
}

static bool launches(struct bind *b, const struct head_step *h, const struct stage_image *all, int count, struct text *spans,
                     struct error *err)
{
    int64_t given[2];
    int scratch = b->program->scratch_count, first = 1, branches = 0;
    if (!work_a_thread(b, h, given, err))
        return false;
    SCOPED struct buffer_ref *stored = xcalloc((size_t)count, sizeof *stored);
    bool ok = true;
    stored[0] = (struct buffer_ref){.kind = BUFFER_TENSOR, .index = program_tensor(b->program, "input")};
    for (int i = 1; ok && i < count; i++) {
        bool met = all[i].use->stage->kind == STAGE_JOIN && h->cut != CUT_NONE; /* the branches have stored it */
        if (!met && !cut_behind(h->cut, all, count, i))
            continue;
        ok = met || launch_span(b, h, all, count, first, i, stored, given, scratch, spans);
        first = met || h->cut != CUT_BRANCHES ? i + 1 : first;
        branches += met;
    }
    return ok && (h->cut != CUT_BRANCHES || branches || bind_infeasible(b, "stages: %s has no branches", b->work->op->name));
}

static void add_define(struct unit *u, char *text)
{
    u->defines = xrealloc(u->defines, (size_t)(u->define_count + 1) * sizeof *u->defines);
    u->defines[u->define_count++] = text;
}

bool bind_spans(struct bind *b, const struct head_step *h, struct error *err)
{
    if (!b->work->op->file || !b->work->op->file->stages)
        return bind_infeasible(b, "stages: %s has none", b->work->op->name);
    SCOPED struct stage_image *all = xcalloc(STAGE_MOST + 1, sizeof *all);
    struct text spans = {0};
    SCOPED char **defines = NULL;
    int count = stage_images(b->work, all, err), names = count < 0 ? -1 : stage_defines(b->work, &defines, err);
    text_add(&spans, "SPANS=");
    bool ok = names >= 0 && launches(b, h, all, count, &spans, err);
    for (int i = 0; i < names; i++)
        add_define(&b->program->units[0], defines[i]);
    add_define(&b->program->units[0], text_take(&spans));
    return ok;
}
