/* Keys of a layer that may be a number for all sides, or a list by axis or side: pad, stride, dilation, output_pad. */
#include "op/sides.h"
#include "base/text.h"
#include "plan/scenario/private.h"
#include <string.h>

static const char *const fields[] = {"pad", "stride", "dilation", "output_pad", NULL};

bool sides_field(const char *name)
{
    int i = 0;
    while (fields[i] && strcmp(fields[i], name))
        i++;
    return fields[i] != NULL;
}

/* The sides in the order of a list: of images [y, x], of volumes [z, y, x]; of pad also all in front, then all behind. */
static const enum work_side orders[][6] = {
    {SIDE_pad_front, SIDE_pad_top, SIDE_pad_left, SIDE_pad_back, SIDE_pad_bottom, SIDE_pad_right},
    {SIDE_stride_z, SIDE_stride_y, SIDE_stride_x},
    {SIDE_dilation_z, SIDE_dilation_y, SIDE_dilation_x},
    {SIDE_output_pad_y, SIDE_output_pad_y, SIDE_output_pad_x},
};

static bool set_word_of_pad(struct work *w, const char *what, const struct node *n, struct error *err)
{
    static const char *const words[] = {"valid", "same_upper", "same_lower", NULL};
    int word = node_word(n, what, words, err);
    w->pad = 0;
    w->same = word == 1 ? SAME_UPPER : word == 2 ? SAME_LOWER : SAME_NONE;
    return word >= 0;
}

bool sides_set(struct work *w, const struct op_field *f, const char *what, const struct node *n, struct error *err)
{
    int field = 0, axes = w->op->volume ? 3 : 2, first = 3 - axes;
    int64_t *at = (int64_t *)(void *)((char *)w + f->offset), value;
    while (strcmp(fields[field], f->name))
        field++;
    bool pad = field == 0;
    sides_alike(w, f->offset);
    if (n->kind == NODE_SCALAR && pad && n->text[0] >= 'a' && n->text[0] <= 'z')
        return set_word_of_pad(w, what, n, err);
    if (n->kind != NODE_LIST)
        return node_int(n, what, f->min, f->max, at, err);
    if (n->count != axes && !(pad && n->count == 2 * axes))
        return node_error(n, err, "%s: a number, %s%s is expected, not a list of %d", what,
                          axes == 3 ? "[depth, height, width]" : "[height, width]",
                          !pad        ? ""
                          : axes == 3 ? " or [front, top, left, back, bottom, right]"
                                      : " or [top, left, bottom, right]",
                          n->count);
    if (!node_int(n->items[axes - 2], what, f->min, f->max, at, err)) /* of y: the number that the others differ from */
        return false;
    for (int i = 0; i < (pad ? 2 * axes : axes); i++) {
        if (!node_int(n->items[i % n->count], what, f->min, f->max, &value, err))
            return false;
        side_set(w, orders[field][first + i % axes + i / axes * 3], value);
    }
    return true;
}
