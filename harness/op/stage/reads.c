/* The least that a sequence of stages reads of its input. From the result back to the source, each stage says which rows and columns of its
 * input a pixel needs. If a picture of 3840 x 2160 becomes 224 x 224, and each pixel reads four, that is one part in 42: a kernel could
 * beat a lower bound that counted the whole picture. */
#include "base/text.h"
#include "op/stage/stage.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The needed rows and columns of an image, by enum axis_of. */
struct needed {
    bool *lines[2];
    int64_t size[2];
};
struct trace {
    const struct work *work;
    struct stage_image *all;
    bool unknown, failed;
    struct error *err;
};

static struct needed needed_of(const struct stage_image *image, bool all)
{
    struct needed n = {.size = {image->h, image->w}};
    for (int axis = 0; axis < 2; axis++) {
        n.lines[axis] = xmalloc((size_t)n.size[axis]);
        memset(n.lines[axis], all, (size_t)n.size[axis]);
    }
    return n;
}

static void needed_free(struct needed *n)
{
    free(n->lines[0]);
    free(n->lines[1]);
}

static double count_of(const struct needed *n, enum axis_of axis)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n->size[axis]; i++)
        count += n->lines[axis][i];
    return (double)count;
}

/* Marks the lines that an expression gives for every needed line of the stage's output: from y of its rows, or x of its columns. */
static bool mark(struct trace *t, struct stage_env *e, const struct expr *x, const struct needed *need, enum axis_of axis,
                 struct needed *below)
{
    bool asked[2] = {false, false};
    int64_t line = 0;
    memcpy(e->asked, (bool *const[]){&asked[0], &asked[1]}, sizeof e->asked);
    memset(e->at, 0, sizeof e->at);
    if (!stage_int(e, x, &line, t->err))
        return false;
    enum axis_of along = asked[AXIS_COLUMNS] ? AXIS_COLUMNS : AXIS_ROWS;
    if (asked[0] && asked[1])
        return expr_fail(x, t->err, "a row or a column must depend on y or on x, not on both");
    for (int64_t i = 0; i < need->size[along]; i++) {
        e->at[along] = i;
        if (!need->lines[along][i])
            continue;
        if (!stage_int(e, x, &line, t->err))
            return false;
        if (line >= 0 && line < below->size[axis])
            below->lines[axis][line] = true;
    }
    return true;
}

/* How many source elements stage i reads to compute its needed lines, for n images of c channels. */
static double elements(struct trace *t, int i, const struct needed *need, double n, int64_t c)
{
    const struct stage_image *to = &t->all[i], *in = &t->all[to->before];
    if (!i)
        return n * count_of(need, AXIS_ROWS) * count_of(need, AXIS_COLUMNS) * (double)c;
    const struct stage_head *s = to->use->stage;
    double sum = 0;
    int branches = to->use->branches;
    for (int k = 0; s->kind == STAGE_JOIN && k < branches; k++)
        sum += elements(t, to->ends[k], need, floor((n - k + branches - 1) / branches), c);
    if (s->kind == STAGE_JOIN)
        return sum;
    c = s->channels_read ? s->channels_read : in->c == to->c ? c : in->c;
    if (s->kind == STAGE_POINT)
        return elements(t, to->before, need, n, c);
    t->unknown |= !s->read_count || (s->batch && s->kind != STAGE_BOXES);
    for (int part = 0; part < s->read_count && !t->failed; part++) {
        SCOPED_BY(needed_free) struct needed below = needed_of(in, false);
        struct stage_env e = {.work = t->work, .use = to->use, .in = *in};
        for (int k = 0; k < 2 * STAGE_READS; k++) {
            const struct expr *x = s->reads[part].lines[k / STAGE_READS][k % STAGE_READS];
            t->failed |= x && !t->failed && !mark(t, &e, x, need, (enum axis_of)(k / STAGE_READS), &below);
        }
        sum += t->failed ? 0 : elements(t, to->before, &below, n, c);
    }
    return sum;
}

/* All of the last image. */
static double whole(struct trace *t, int count, double n)
{
    SCOPED_BY(needed_free) struct needed need = needed_of(&t->all[count - 1], true);
    return elements(t, count - 1, &need, n, t->all[count - 1].c);
}

/* Gives the images after the boxes, up to the stage that makes them equal in size, the size of one box. */
static void resize_boxes(struct stage_image *all, int count, int64_t h, int64_t w)
{
    bool own[STAGE_MOST + 1] = {false};
    for (int i = 1; i < count; i++) {
        enum stage_kind kind = all[i].use->stage->kind;
        own[i] = kind == STAGE_BOXES || (kind == STAGE_POINT && own[all[i].before]) || (kind == STAGE_JOIN && own[all[i].ends[0]]);
        all[i].h = own[i] ? h : all[i].h;
        all[i].w = own[i] ? w : all[i].w;
    }
}

double stage_source(const struct work *work, struct error *err)
{
    SCOPED struct stage_image *all = xcalloc(STAGE_MOST + 1, sizeof *all);
    struct trace t = {.work = work, .all = all, .err = err};
    struct tensor boxes, input;
    int count = stage_images(work, all, err);
    bool cut = false;
    double sum = 0;
    for (int i = 1; i < count; i++)
        cut |= all[i].use->stage->kind == STAGE_BOXES;
    if (count < 0 || !work_tensor(work, "input", &input))
        return -1;
    if (!cut) {
        sum = whole(&t, count, (double)all[count - 1].n);
    } else if (!work_tensor(work, "boxes", &boxes) || boxes.role->values != VALUES_BOXES) {
        t.unknown = true;
    } else {
        const struct op_file_tensor *of = op_file_tensor(work->op, boxes.role);
        for (int64_t i = 0; i < of->size_count && i < boxes.dim[0] && !t.failed; i++) { /* one after another, again and again */
            int64_t size[2];
            op_file_box(work, of, (size_t)i, size);
            resize_boxes(all, count, size[1], size[0]);
            sum += whole(&t, count, ceil((double)(boxes.dim[0] - i) / of->size_count));
        }
    }
    double most = (double)tensor_elements(&input);
    return t.failed ? -1 : t.unknown ? 0 : cut ? most * -expm1(-sum / most) : fmin(sum, most);
}

double stage_bytes(const struct work *work)
{
    struct tensor list[OP_MAX_TENSORS];
    double bytes = 0;
    for (int i = 0, count = work->op->tensors(work, list); i < count; i++)
        bytes += !strcmp(list[i].role->name, "input") ? fmax(stage_source(work, NULL), 0) * (double)dtype_bytes(list[i].dtype)
                                                      : (double)tensor_bytes(&list[i]);
    return bytes;
}
