/* Describes what wrong elements have in common: where they are (rows, columns, channels, border), and whose values they hold instead
 * (another channel, the transposed place, another layout). It claims the second only if nearly all sampled elements agree. */
#include "measure/verify/verify_private.h"
#include <math.h>
#include <stdio.h>

/* The name of one index of an axis. */
static void name_of(const struct verify_look *look, int axis, char out[32])
{
    static const char *const images[] = {"image", "channel", "plane", "row", "column"};
    int from_last = look->t.rank - 1 - axis;
    if (look->image)
        snprintf(out, 32, "%s", axis < 2 ? images[axis] : images[4 - from_last]);
    else if (look->t.rank <= 2)
        snprintf(out, 32, "%s", from_last ? "row" : "column");
    else
        snprintf(out, 32, "axis %d place", axis);
}

/* The indices of one axis at which any element is wrong. */
struct used {
    int64_t count, first, last, size;
};
static struct used used_of(const struct verify_look *look, int axis)
{
    struct used u = {.first = -1, .size = look->t.dim[axis]};
    for (int64_t i = 0; i < u.size; i++)
        if (look->wrong_at[axis][i]) {
            u.last = i;
            u.first = u.first < 0 ? i : u.first;
            u.count++;
        }
    return u;
}

/* The shortest m <= size / 3 with used(i) == used(i + m) for all i; 0: there is none, or random places would often form it (on one of 32
 * such axes, or more). */
static int64_t period_of(const int64_t *wrong, const struct used *u)
{
    double share = (double)u->count / (double)u->size, alike = share * share + (1 - share) * (1 - share);
    for (int64_t m = 2; m <= u->size / 3 && m <= 1024; m++) {
        int64_t i = 0;
        while (i + m < u->size && !wrong[i] == !wrong[i + m])
            i++;
        if (i + m == u->size)
            return (double)i * -log2(alike) >= 5 ? m : 0;
    }
    return 0;
}

/* "columns 6 to 7 of every 8", "columns 0, 7 of every 8" when they are apart or wrap. */
static void add_period(const int64_t *wrong, int64_t period, const char *name, struct text *t)
{
    int64_t begin = 0, run = 0, end = 0;
    for (int64_t i = period - 1; i >= 0; i--)
        begin = wrong[i] ? i : begin;
    for (int64_t i = 0; i < period; i++) {
        run += wrong[i] != 0;
        end = wrong[i] ? i : end;
    }
    const char *nth = period == 2 ? "nd" : period == 3 ? "rd" : "th";
    if (run == 1)
        text_addf(t, "every %ld%s %s from %ld", (long)period, nth, name, (long)begin);
    else if (end - begin + 1 == run)
        text_addf(t, "%ss %ld to %ld of every %ld", name, (long)begin, (long)end, (long)period);
    else {
        text_addf(t, "%ss", name);
        for (int64_t i = begin; i <= end; i++)
            if (wrong[i])
                text_addf(t, " %ld%s", (long)i, i < end ? "," : "");
        text_addf(t, " of every %ld", (long)period);
    }
}

/* "row 719", "rows 3, 5", "columns 8 to 15", "every 4th column from 2", "columns 14 to 15 of every 16"; nothing if there is no pattern
 * on the axis. */
static void add_axis(const struct verify_look *look, int axis, struct text *t)
{
    const int64_t *wrong = look->wrong_at[axis];
    struct used u = used_of(look, axis);
    if (u.count == u.size || u.size == 1 || u.count == 0)
        return;
    const char *comma = t->len ? ", " : "";
    char name[32];
    name_of(look, axis, name);
    int64_t period = period_of(wrong, &u);
    if (u.count == 1) {
        text_addf(t, "%s%s %ld", comma, name, (long)u.first);
    } else if (u.last - u.first + 1 == u.count) {
        text_addf(t, "%s%ss %ld to %ld", comma, name, (long)u.first, (long)u.last);
    } else if (period) {
        text_add(t, comma);
        add_period(wrong, period, name, t);
    } else if (u.count <= 6) {
        text_addf(t, "%s%ss", comma, name);
        for (int64_t i = u.first, left = u.count; left; i++)
            if (wrong[i])
                text_addf(t, " %ld%s", (long)i, --left ? "," : "");
    } else if (u.last - u.first + 1 < u.size / 2) {
        text_addf(t, "%s%ss between %ld and %ld", comma, name, (long)u.first, (long)u.last);
    }
}

/* True for a ring that is thin compared with the image but more than a few rows or columns. */
static bool is_border(const struct verify_look *look)
{
    if (!look->image)
        return false;
    struct used rows = used_of(look, look->t.rank - 2), columns = used_of(look, look->t.rank - 1);
    int64_t width = look->border + 1, least = rows.size < columns.size ? rows.size : columns.size;
    return width * 4 < least && rows.count > width && columns.count > width;
}

/* Compares each sample's value with the reference at another place; `elsewhere` returns false if that place does not exist. */
typedef bool place(const struct verify_look *look, const int64_t at[4], const int64_t argument[3], int64_t to[4]);

static bool agrees(const struct verify_look *look, double got, const int64_t at[4])
{
    const int64_t *d = look->fold;
    return verify_right(look, (size_t)(((at[0] * d[1] + at[1]) * d[2] + at[2]) * d[3] + at[3]), got);
}

static int64_t samples_of(const struct verify_look *look, int64_t row)
{
    return look->row_wrong[row] < VERIFY_SAMPLES_PER_ROW ? look->row_wrong[row] : VERIFY_SAMPLES_PER_ROW;
}

/* True if at least 95 % of the samples (and at least 4) hold the value that belongs elsewhere. `channel` >= 0: only samples of that
 * channel. */
static bool explained(const struct verify_look *look, place *where, const int64_t argument[3], int64_t channel)
{
    int64_t rows = look->fold[0] * look->fold[2], tried = 0, right = 0, step = rows / 1024 + 1;
    for (int64_t r = 0; r < rows; r += step)
        for (int64_t i = 0; i < samples_of(look, r); i++) {
            const struct verify_sample *s = &look->samples[r * VERIFY_SAMPLES_PER_ROW + i];
            int64_t to[4];
            if (channel >= 0 && s->at[1] != channel)
                continue;
            tried++;
            if (where(look, s->at, argument, to))
                right += agrees(look, s->got, to);
        }
    return tried >= 4 && right * 100 >= tried * 95;
}

static bool inside(const struct verify_look *look, const int64_t at[4])
{
    return ALL_OF(i, 4, at[i] >= 0 && at[i] < look->fold[i]);
}

static bool shifted(const struct verify_look *look, const int64_t at[4], const int64_t by[3], int64_t to[4])
{
    to[0] = at[0], to[1] = at[1] + by[0], to[2] = at[2] + by[1], to[3] = at[3] + by[2];
    return inside(look, to);
}

static bool transposed(const struct verify_look *look, const int64_t at[4], const int64_t argument[3], int64_t to[4])
{
    to[0] = at[0], to[1] = at[1], to[2] = at[3], to[3] = at[2];
    return inside(look, to);
}

static bool from_channel(const struct verify_look *look, const int64_t at[4], const int64_t channel[3], int64_t to[4])
{
    to[0] = at[0], to[1] = channel[0], to[2] = at[2], to[3] = at[3];
    return true;
}

/* The element that the storage would hold there in the other layout. */
static bool other_layout(const struct verify_look *look, const int64_t at[4], const int64_t argument[3], int64_t to[4])
{
    const int64_t *d = look->fold;
    size_t i = tensor_index(&look->t, (size_t)(((at[0] * d[1] + at[1]) * d[2] + at[2]) * d[3] + at[3]));
    if (look->t.layout == LAYOUT_NCHW) { /* read as NHWC */
        to[1] = (int64_t)(i % (size_t)d[1]), i /= (size_t)d[1];
        to[3] = (int64_t)(i % (size_t)d[3]), i /= (size_t)d[3];
        to[2] = (int64_t)(i % (size_t)d[2]), i /= (size_t)d[2];
    } else {
        to[3] = (int64_t)(i % (size_t)d[3]), i /= (size_t)d[3];
        to[2] = (int64_t)(i % (size_t)d[2]), i /= (size_t)d[2];
        to[1] = (int64_t)(i % (size_t)d[1]), i /= (size_t)d[1];
    }
    to[0] = (int64_t)i;
    return inside(look, to);
}

/* The element that depth_to_space would put there in its other mode. Its deep channel in the right mode equals the channel that the
 * wrong mode reads. argument: block, mode. */
static bool other_mode(const struct verify_look *look, const int64_t at[4], const int64_t argument[3], int64_t to[4])
{
    int64_t b = argument[0], phase = at[2] % b * b + at[3] % b, channels = look->fold[1];
    int64_t read, right_phase;
    if (argument[1] == D2S_DCR) { /* wrongly CRD */
        read = at[1] * b * b + phase;
        to[1] = read % channels, right_phase = read / channels;
    } else {
        read = phase * channels + at[1];
        to[1] = read / (b * b), right_phase = read % (b * b);
    }
    to[0] = at[0], to[2] = at[2] / b * b + right_phase / b, to[3] = at[3] / b * b + right_phase % b;
    return inside(look, to);
}

static bool all_zero(const struct verify_look *look)
{
    int64_t rows = look->fold[0] * look->fold[2];
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < samples_of(look, r); i++)
            if (!(look->samples[r * VERIFY_SAMPLES_PER_ROW + i].got == 0))
                return false;
    return true;
}

/* A wrong channel may hold the values of another channel. Returns that one, or -1. */
static int64_t held_channel(const struct verify_look *look, int64_t channel)
{
    for (int64_t c = 0; c < look->fold[1]; c++) {
        int64_t argument[3] = {c};
        if (c != channel && explained(look, from_channel, argument, channel))
            return c;
    }
    return -1;
}

static bool explain_channels(const struct verify_look *look, struct text *t)
{
    struct used u = used_of(look, 1);
    int64_t held[8], at[8], count = 0;
    if (u.count < 1 || u.count > 8 || u.size > 4096)
        return false;
    for (int64_t c = u.first; c <= u.last; c++)
        if (look->wrong_at[1][c]) {
            at[count] = c;
            held[count] = held_channel(look, c);
            if (held[count++] < 0)
                return false;
        }
    if (count == 2 && held[0] == at[1] && held[1] == at[0]) {
        text_addf(t, ": channels %ld and %ld swapped", (long)at[0], (long)at[1]);
        return true;
    }
    for (int64_t i = 0; i < count; i++)
        text_addf(t, "%s channel %ld holds channel %ld", i ? "," : ":", (long)at[i], (long)held[i]);
    return true;
}

static void explain_shift(const struct verify_look *look, struct text *t)
{
    for (int64_t dy = -2; dy <= 2; dy++)
        for (int64_t dx = -2; dx <= 2; dx++) {
            int64_t by[3] = {0, dy, dx};
            if ((dy || dx) && explained(look, shifted, by, -1)) {
                text_addf(t, ": shifted by %ld rows, %ld columns", (long)-dy, (long)-dx);
                return;
            }
        }
}

const char *verify_overflow(size_t first_wrong, size_t element_bytes, size_t elements)
{
    static const struct {
        bool bytes;
        int bits;
        const char *words;
    } limits[] = {{false, 31, "2^31 elements"}, {false, 32, "2^32 elements"}, {true, 31, "2^31 bytes"}, {true, 32, "2^32 bytes"}};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        size_t limit = ((size_t)1 << limits[i].bits) / (limits[i].bytes ? element_bytes : 1);
        if (elements > limit && first_wrong >= limit && first_wrong - limit < limit / 64) /* a block computes some elements */
            return limits[i].words;
    }
    return NULL;
}

static void explain(const struct verify_look *look, const struct verdict *v, struct text *t)
{
    static const int64_t none[3] = {0};
    const struct work *w = &look->program->work;
    int d2s = work_epilogue_find(w, EPILOGUE_DEPTH_TO_SPACE);
    int64_t block = d2s >= 0 ? w->epilogue[d2s].block : w->block;
    int64_t mode[3] = {block, d2s >= 0 ? (int64_t)w->epilogue[d2s].mode : (int64_t)w->mode};
    const char *overflow = verify_overflow(look->first_wrong, dtype_bytes(look->t.dtype), tensor_elements(&look->t));
    if (overflow)
        text_addf(t, ": index overflow: right up to %s, so an index of 32 bits is too small", overflow);
    else if (v->unwritten == v->wrong)
        text_add(t, ": never written");
    else if (v->nan == v->wrong)
        text_add(t, ": NaN");
    else if (v->touched_inactive == v->wrong)
        text_add(t, ": inactive pixels");
    else if (all_zero(look))
        text_add(t, ": zero");
    else if (!look->image)
        return;
    else if (explained(look, other_layout, none, -1))
        text_addf(t, ": stored as %s, not %s", look->t.layout == LAYOUT_NCHW ? "NHWC" : "NCHW", layout_name(look->t.layout));
    else if (block > 1 && (d2s >= 0 || w->op->task == TASK_DEPTH_TO_SPACE) && explained(look, other_mode, mode, -1))
        text_addf(t, ": channels in the order of %s, not %s", mode[1] == D2S_DCR ? "CRD" : "DCR", d2s_mode_name((enum d2s_mode)mode[1]));
    else if (explained(look, transposed, none, -1))
        text_add(t, ": rows and columns transposed");
    else if (!explain_channels(look, t))
        explain_shift(look, t);
}

void verify_pattern(const struct verify_look *look, const struct verdict *v, char *out, size_t bytes)
{
    SCOPED_TEXT t = {0}, where = {0};
    int spatial = look->image ? 2 : 0;
    for (int axis = spatial; axis < look->t.rank; axis++)
        add_axis(look, axis, &where);
    for (int axis = spatial - 1; axis >= 0; axis--)
        add_axis(look, axis, &where);
    if (v->wrong == 1)
        text_add(&t, "that one alone");
    else if (v->wrong == v->elements)
        text_add(&t, "every element");
    else if (is_border(look))
        text_addf(&t, "all in the border of %ld pixel%s", (long)look->border + 1, look->border ? "s" : "");
    else if (where.len)
        text_addf(&t, "all in %s", text_get(&where));
    else
        text_add(&t, look->image ? "scattered over all rows, columns and channels" : "scattered over the whole tensor");
    if (v->wrong > 1)
        explain(look, v, &t);
    snprintf(out, bytes, "%s", text_get(&t));
}
