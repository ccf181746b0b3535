/* Which groups of a launch are looked at for what they write (measure/trust/layer_values). */
#include "measure/count/blocks_private.h"
#include <math.h>

#define LOOK 4e5      /* of the groups whose results are looked at */
#define LOOK_MOST 6e6 /* of the first of them */

static bool is_picked(const struct blocks *b, uint64_t number)
{
    return ANY_OF(i, b->picked_count, b->picked[i] == number);
}

/* *left: what they may cost; the first one may take all that a look may cost. */
static void pick(const struct counting *c, uint64_t number, double *left, struct blocks *b)
{
    const struct device_group *g = blocks_at(c, number);
    double cost = g ? blocks_cost_of(g, true) : 0;
    for (int i = 0; !g && i < c->sample.ran; i++) /* not known: as that of the dearest one */
        cost = fmax(cost, blocks_cost_of(&c->sample.groups[i], true));
    if (b->picked_count == BLOCKS_PICKED || is_picked(b, number) || cost > (b->picked_count ? *left : LOOK_MOST))
        return;
    b->picked[b->picked_count++] = number;
    *left -= cost;
}

/* Corners of the grid first, and of these the last: it has the largest addresses. Not if a mask marks inputs: zeros are then written where
 * groups that ran have read (measure/trust/layer_values). */
void blocks_pick(const struct counting *c, struct blocks *b)
{
    const bool marked = c->work->mask.pattern != MASK_NONE && !c->work->mask.marks_output;
    double left = LOOK;
    b->picked_count = 0;
    for (int corner = 7; corner >= 0 && !marked && !c->together; corner--) {
        uint64_t at[3];
        for (int i = 0; i < 3; i++)
            at[i] = corner >> i & 1 ? c->grid[i] - 1 : 0;
        pick(c, at[0] + c->grid[0] * (at[1] + c->grid[1] * at[2]), &left, b);
    }
    for (int i = c->sample.ran - 1; i >= 0; i--) {
        bool seen = false;
        for (int k = c->sample.ran - 1; k > i; k--)
            seen = seen || c->sample.groups[k].hash == c->sample.groups[i].hash;
        if (!seen)
            pick(c, c->sample.groups[i].number, &left, b);
    }
    for (int i = c->sample.ran - 1; i >= 0; i--)
        pick(c, c->sample.groups[i].number, &left, b);
}
