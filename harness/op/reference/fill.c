/* Sets some values of tensors that are only allocated (op_data_reserve): the values that generate.c gives their indices, and 0 where a mask
 * says that nothing changed. */
#include "base/pool.h"
#include "base/text.h"
#include "op/reference/data.h"
#include "op/epilogue.h"
#include "op/reference/generate.h"
#include "op/mask/mask.h"
#include "op/reach.h"
#include "op/shape.h"
#include <stdlib.h>

static struct generate_recipe recipe_of(const struct work *work, enum data_part part, const struct tensor *t)
{
    struct work own = work->chain ? chain_input(work) : *work;
    return generate_recipe(&own, t, (enum data_part)((int)part & ~(int)DATA_FULL));
}

void op_data_blank(const struct work *work, enum data_part part, const struct op_data *data, const struct tensor *t, size_t first,
                   size_t count)
{
    const float *mask = data->at[SLOT_MASK_IN].value;
    float *to = data->at[t->role->slot].value;
    bool still = mask_has_still(work, part);
    int64_t dim[4];
    tensor_fold(t, dim);
    size_t plane = (size_t)(dim[2] * dim[3]), image = (size_t)dim[1] * plane;
    for (size_t i = first; i < first + count; i++) {
        size_t pixel = i / image * plane + i % plane;
        if (mask[pixel] == 0 || (still && mask_holds_still(pixel, i)))
            to[i] = 0;
    }
}

/* `recipe` is made once for many calls, since making it asks the op for its terms. */
static void fill_by(const struct generate_recipe *recipe, const struct work *work, enum data_part part, struct op_data *data,
                    const struct tensor *t, size_t first, size_t count)
{
    const float *mask = work->op->file ? NULL : data->at[SLOT_MASK_IN].value; /* a file's tensors have slots of their own */
    const struct op_repeat *repeat = data->repeat ? &data->repeat[t->role->slot] : NULL;
    float *to = data->at[t->role->slot].value;
    if (!repeat || !repeat->values)
        generate_some(recipe, first, count, to + first);
    else
        for (size_t i = first; i < first + count; i++)
            to[i] = repeat->values[tensor_index(&repeat->stored, i) % repeat->count];
    if (mask && t->role->slot == SLOT_INPUT && !(part & DATA_FULL))
        op_data_blank(work, part, data, t, first, count);
}

void op_data_fill(const struct work *work, enum data_part part, struct op_data *data, const struct tensor *t, size_t first, size_t count)
{
    struct generate_recipe recipe = recipe_of(work, part, t);
    fill_by(&recipe, work, part, data, t, first, count);
}

/* Lines to set: `lines` of them from each place on, in every channel; of each line the wanted columns. */
struct fill {
    const struct work *work;
    enum data_part part;
    struct op_data *data;
    const struct tensor *t;
    struct generate_recipe recipe;
    int64_t c, h, w, lines;
    int64_t *at; /* image * h + line */
    int64_t count;
    bool *wanted; /* w + 1 of them, the last one false */
};

static void fill_line(void *context, int64_t index, int thread)
{
    const struct fill *f = context;
    int64_t at = f->at[index / f->c], channel = index % f->c;
    size_t first = (size_t)(((at / f->h * f->c + channel) * f->h + at % f->h) * f->w);
    for (int64_t line = 0; line < f->lines; line++, first += (size_t)f->w)
        for (int64_t x = 0, from = -1; x <= f->w; x++) {
            if (f->wanted[x] && from < 0)
                from = x;
            if (f->wanted[x] || from < 0)
                continue;
            fill_by(&f->recipe, f->work, f->part, f->data, f->t, first + (size_t)from, (size_t)(x - from));
            from = -1;
        }
}

/* Marks columns. For an input: those under any tap of a wanted column (NULL: all); for an added tensor: those that it becomes. */
static void mark_columns(const struct work *w, const bool *asked, bool read, int64_t width, bool *wanted)
{
    int64_t each = width / w->q;
    bool all = !asked || (read && !w->op->image);
    SCOPED_BY(op_reach_free) struct op_reach reach = read && !all ? op_reach(w, AXIS_COLUMNS) : (struct op_reach){0};
    for (int64_t x = 0; x < width && all; x++)
        wanted[x] = true;
    for (int64_t q = 0; q < w->q && !all; q++)
        for (int64_t i = 0; asked[q] && i < (read ? reach.taps : each); i++) {
            int64_t x = read ? reach.at[q * reach.taps + i] : q * each + i;
            if (x >= 0)
                wanted[x] = true;
        }
}

static void want_columns(struct fill *f)
{
    f->wanted = xcalloc((size_t)f->w + 1, sizeof *f->wanted);
    mark_columns(f->work, f->data->columns, f->t->role->slot == SLOT_INPUT, f->w, f->wanted);
}

int64_t op_columns_read(const struct work *w, const bool *asked, bool read, int64_t width, int64_t *columns)
{
    SCOPED bool *wanted = xcalloc((size_t)width, sizeof *wanted);
    int64_t found = 0;
    mark_columns(w, asked, read, width, wanted);
    for (int64_t x = 0; x < width; x++)
        if (wanted[x])
            columns[found++] = x;
    return found;
}

int64_t op_lines_read(const struct work *w, const int64_t *rows, int count, int64_t *lines)
{
    int64_t found = 0;
    SCOPED bool *wanted = xcalloc((size_t)(w->n * w->h), sizeof *wanted);
    SCOPED_BY(op_reach_free) struct op_reach reach = w->op->image ? op_reach(w, AXIS_ROWS) : (struct op_reach){0};
    for (int64_t i = 0; !w->op->image && i < w->n * w->h; i++)
        wanted[i] = true;
    for (int i = 0; w->op->image && i < count; i++)
        for (int64_t tap = 0; tap < reach.taps; tap++) {
            int64_t line = reach.at[rows[i] % w->p * reach.taps + tap];
            if (line >= 0)
                wanted[rows[i] / w->p * w->h + line] = true;
        }
    for (int64_t i = 0; i < w->n * w->h; i++)
        if (wanted[i])
            lines[found++] = i;
    return found;
}

/* A row before the epilogue is several lines of a residual that is added after depth_to_space. */
static void fill_residual(struct fill *f, int item, const int64_t *rows, int count)
{
    struct epilogue_shape s = epilogue_shape_at(f->work, item);
    f->c = s.c, f->h = s.h, f->w = s.w, f->lines = s.h / f->work->p;
    for (int i = 0; i < count; i++)
        f->at[f->count++] = rows[i] / f->work->p * s.h + rows[i] % f->work->p * f->lines;
}

void op_data_fill_rows(const struct work *work, enum data_part part, struct op_data *data, const int64_t *rows, int count)
{
    struct tensor list[OP_MAX_TENSORS];
    int residual = work_epilogue_find(work, EPILOGUE_RESIDUAL);
    for (int i = 0, tensors = work->op->tensors(work, list); i < tensors; i++) {
        struct fill f = {.work = work, .part = part, .data = data, .t = &list[i]};
        int64_t most = list[i].role->slot == SLOT_INPUT ? work->n * work->h : count;
        if (list[i].role->slot != SLOT_INPUT && list[i].role->slot != SLOT_RESIDUAL)
            continue;
        f.recipe = recipe_of(work, part, f.t);
        f.at = xcalloc((size_t)most, sizeof *f.at);
        if (list[i].role->slot == SLOT_INPUT)
            f.c = work->c, f.h = work->h, f.w = work->w, f.lines = 1, f.count = op_lines_read(work, rows, count, f.at);
        else
            fill_residual(&f, residual, rows, count);
        want_columns(&f);
        pool_for(f.count * f.c, 0, fill_line, &f);
        free(f.wanted);
        free(f.at);
    }
}
