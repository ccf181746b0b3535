#include "op/sides.h"
#include "base/text.h"
#include <stddef.h>

struct side {
    const char *name;
    size_t base;
    const char *what;
};
#define SIDE_ROW(name, base, what) {#name, offsetof(struct work, base), what},
static const struct side sides[SIDE_COUNT] = {WORK_SIDES(SIDE_ROW)};
#undef SIDE_ROW

struct op_symbol side_symbol(enum work_side side)
{
    return (struct op_symbol){sides[side].name, offsetof(struct work, side) + (size_t)side * sizeof(int64_t), sides[side].what};
}

size_t side_base(enum work_side side)
{
    return sides[side].base;
}

static int64_t number_at(const struct work *w, size_t base)
{
    return *(const int64_t *)(const void *)((const char *)w + base);
}

void sides_alike(struct work *w, size_t base)
{
    for (int i = 0; i < SIDE_COUNT; i++)
        if (sides[i].base == base)
            w->apart[i] = 0;
    if (base == offsetof(struct work, pad))
        w->same = SAME_NONE;
}

void side_set(struct work *w, enum work_side side, int64_t value)
{
    w->apart[side] = value - number_at(w, sides[side].base);
}

bool sides_differ(const struct work *w, enum work_side side)
{
    return ANY_OF(i, SIDE_COUNT, w->apart[i] && (side == SIDE_COUNT || sides[i].base == sides[side].base));
}

static const struct op_field *field_of(const struct work *w, size_t base)
{
    const struct op_field *f = w->op->fields;
    while (f->name && f->offset != base)
        f++;
    return f->name ? f : NULL;
}

/* Inputs, taps and sides of an axis, x first. */
struct along {
    int64_t size, taps, stride, dilation, output_pad;
    enum work_side before, behind;
};

static int axes_of(const struct work *w, struct along out[3])
{
    int64_t grown = w->op->has_filter && w->block > 0 ? w->block : 1, rows = w->op->volume ? w->plane : w->h;
    const int64_t *s = w->side;
    out[0] = (struct along){w->w * grown, w->s, s[SIDE_stride_x], s[SIDE_dilation_x], s[SIDE_output_pad_x], SIDE_pad_left, SIDE_pad_right};
    out[1] = (struct along){rows * grown, w->r, s[SIDE_stride_y], s[SIDE_dilation_y], s[SIDE_output_pad_y], SIDE_pad_top, SIDE_pad_bottom};
    out[2] = (struct along){w->d, w->t, s[SIDE_stride_z], s[SIDE_dilation_z], 0, SIDE_pad_front, SIDE_pad_back};
    return w->op->volume ? 3 : 2;
}

/* The pads that make ceil(size / stride) outputs; of an op that spreads, size * stride. */
static bool same_pads(struct work *w, struct error *err)
{
    struct along axes[3];
    int count = axes_of(w, axes);
    int64_t begin[3], end[3];
    for (int i = 0; i < count; i++) {
        const struct along *a = &axes[i];
        int64_t stride = a->stride > 0 ? a->stride : 1, reach = (a->dilation > 0 ? a->dilation : 1) * (a->taps - 1) + 1;
        int64_t all = w->op->spreads ? reach + a->output_pad - stride : ((a->size + stride - 1) / stride - 1) * stride + reach - a->size;
        if (all < 0 && w->op->spreads)
            return error_set(err, ERROR_USAGE,
                             "pad: no padding makes the output `stride` times as large: the filter has fewer taps than that");
        all = all > 0 ? all : 0;
        begin[i] = w->same == SAME_UPPER ? all / 2 : all - all / 2;
        end[i] = all - begin[i];
    }
    w->pad = begin[1];
    for (int i = 0; i < count; i++) {
        side_set(w, axes[i].before, begin[i]);
        side_set(w, axes[i].behind, end[i]);
    }
    return true;
}

bool sides_finish(struct work *w, struct error *err)
{
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < SIDE_COUNT; i++)
            w->side[i] = number_at(w, sides[i].base) + w->apart[i];
        if (!w->same || !field_of(w, offsetof(struct work, pad)))
            break;
        if (turn == 0 && !same_pads(w, err))
            return false;
    }
    for (int i = 0; i < SIDE_COUNT; i++) {
        const struct op_field *f = w->apart[i] ? field_of(w, sides[i].base) : NULL;
        if (w->apart[i] && !(w->op->apart >> i & 1))
            return error_set(err, ERROR_USAGE, "%s: op %s has one %s for all sides and axes", f ? f->name : sides[i].name, w->op->name,
                             f ? f->name : "number");
        if (f && (w->side[i] < f->min || w->side[i] > f->max))
            return error_set(err, ERROR_USAGE, "%s: %s = %ld is not between %ld and %ld", f->name, sides[i].name, (long)w->side[i],
                             (long)f->min, (long)f->max);
    }
    return true;
}

void sides_describe(const struct work *w, size_t base, const char *prefix, bool wanted, struct text *t)
{
    static const enum work_side pads[] = {SIDE_pad_front, SIDE_pad_top, SIDE_pad_left, SIDE_pad_back, SIDE_pad_bottom, SIDE_pad_right},
                                strides[] = {SIDE_stride_z, SIDE_stride_y, SIDE_stride_x},
                                dilations[] = {SIDE_dilation_z, SIDE_dilation_y, SIDE_dilation_x},
                                outputs[] = {SIDE_output_pad_y, SIDE_output_pad_y, SIDE_output_pad_x};
    const bool padding = base == offsetof(struct work, pad);
    const enum work_side *list = padding                                   ? pads
                                 : base == offsetof(struct work, stride)   ? strides
                                 : base == offsetof(struct work, dilation) ? dilations
                                                                           : outputs;
    bool differ = sides_differ(w, list[1]), ends = false;
    for (int i = 0; padding && i < 3; i++)
        ends |= w->side[pads[i]] != w->side[pads[i + 3]];
    if (!differ && wanted)
        text_addf(t, "%s%ld", prefix, (long)number_at(w, base));
    for (int i = 0; differ && i < (ends ? 6 : 3); i++)
        if (w->op->volume || i % 3)
            text_addf(t, "%s%ld", i == !w->op->volume ? prefix : "x", (long)w->side[list[i]]);
}

void sides_key(const struct work *w, struct text *t)
{
    for (int i = 0; i < SIDE_COUNT; i++)
        if (w->apart[i])
            text_addf(t, "%s=%ld;", sides[i].name, (long)(number_at(w, sides[i].base) + w->apart[i]));
}
