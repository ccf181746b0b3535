/* Heads and layers whose pads, strides or dilations differ by side or axis (op/sides.h). */
#include "base/text.h"
#include "kernel/bind/bind.h"
#include "op/sides.h"
#include <stddef.h>
#include <string.h>

/* The fields whose sides may differ, by place in struct work. */
static const struct {
    const char *name;
    size_t base;
} numbers[] = {{"pad", offsetof(struct work, pad)},
               {"stride", offsetof(struct work, stride)},
               {"dilation", offsetof(struct work, dilation)},
               {"output_pad", offsetof(struct work, output_pad)}};

static bool differs_at(const struct work *w, size_t base)
{
    return ANY_OF(i, SIDE_COUNT, side_base((enum work_side)i) == base && w->apart[i]);
}

bool bind_symbol(struct bind *b, const char *name, struct value *out, struct error *err)
{
    const struct work *w = &b->own;
    if (!work_symbol(w, name, out))
        return false;
    for (int i = 0; i < SIDE_COUNT; i++)
        if (!strcmp(side_symbol((enum work_side)i).name, name))
            b->sides_asked |= 1u << i;
    for (size_t i = 0; w->op->image && i < sizeof numbers / sizeof *numbers; i++) {
        if (strcmp(numbers[i].name, name) != 0 || !differs_at(w, numbers[i].base))
            continue;
        SCOPED_TEXT t = {0};
        sides_describe(w, numbers[i].base, "", true, &t);
        SCOPED char *clause = text_format("%s: the layer's sides differ, and the variant knows one for all", name);
        bind_refused(b, clause, "%s: the layer's sides differ (%s), and the variant knows one for all", name, text_get(&t));
        return error_set(err, ERROR_USAGE, "%s", b->program->reason);
    }
    return true;
}

static bool has_code(const struct head *h)
{
    return ANY_OF(i, h->step_count, h->steps[i].kind == HEAD_KERNEL || h->steps[i].kind == HEAD_CALL);
}

bool bind_sides(struct bind *b)
{
    const struct work *w = &b->own;
    for (int i = 0; w->op->image && b->h->checked && has_code(b->h) && i < SIDE_COUNT; i++) {
        enum work_side side = (enum work_side)i;
        bool any = b->sides_asked >> i & 1, end = i == SIDE_pad_bottom || i == SIDE_pad_right || i == SIDE_pad_back;
        for (int k = 0; end && k < SIDE_COUNT; k++) /* the output's size tells a kernel that begins at the top and left */
            any |= side_base((enum work_side)k) == side_base(side) && (b->sides_asked >> k & 1);
        if (!any && w->apart[i] && side_base(side) != offsetof(struct work, output_pad)) /* of which a kernel sees the output's size */
            return bind_infeasible(b, "%s: the layer sets it apart, and the variant does not use it", side_symbol(side).name);
    }
    return true;
}
