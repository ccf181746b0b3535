#include "measure/count/unequal.h"
#include "base/text.h"
#include "measure/count/blocks_private.h"
#include "store/family.h"
#include <math.h>
#include <stdlib.h>

#define START 200.0     /* instructions of one warp: a block's start and end */
#define FIXED_MOST 0.98 /* of a block's path: blocks that differ are not all alike */

/* Which of the groups that ran are of each class, one class after the other: from[class] on. */
struct members {
    int *from, *of;
};

static struct members members_of(const struct counting *c, int classes, blocks_class *class_of, const void *context)
{
    struct members m = {xcalloc((size_t)classes + 2, sizeof(int)), xcalloc((size_t)c->sample.ran + 1, sizeof(int))};
    for (int i = 0; i < c->sample.ran; i++)
        m.from[class_of(context, c->sample.groups[i].number) + 2]++;
    for (int i = 2; i <= classes; i++)
        m.from[i] += m.from[i - 1];
    for (int i = 0; i < c->sample.ran; i++)
        m.of[m.from[class_of(context, c->sample.groups[i].number) + 1]++] = i;
    return m;
}

/* Groups that did not run do what another one of their class does, as good as drawn. */
void blocks_lay(struct counting *c, int classes, blocks_class *class_of, const void *context)
{
    if (!c->sample.own_work)
        return;
    struct members m = members_of(c, classes, class_of, context);
    c->each = xcalloc(c->groups, sizeof *c->each);
    for (uint64_t i = 0; i < c->groups; i++) {
        int class = class_of(context, i), count = m.from[class + 1] - m.from[class];
        uint64_t turn = (i + 1) * 0x9e3779b97f4a7c15ull >> 33;
        const struct device_group *g = count ? &c->sample.groups[m.of[m.from[class] + (int)(turn % (uint64_t)count)]] : NULL;
        c->each[i] = !g ? 0 : g->instructions < UINT32_MAX ? (uint32_t)g->instructions : UINT32_MAX;
    }
    for (int i = 0; i < c->sample.ran; i++)
        c->each[c->sample.groups[i].number] = (uint32_t)fmin((double)c->sample.groups[i].instructions, UINT32_MAX);
    free(m.from);
    free(m.of);
}

/* What a block costs in its place beside its work, in instructions: its start and end, and the waits that no block goes without. */
static double fixed_work(const struct device *dev, uint64_t threads, const uint32_t *work, uint64_t blocks)
{
    const double share = dev->ops->group_fixed ? fmin(dev->ops->group_fixed(dev), FIXED_MOST) : 0;
    double sum = 0;
    for (uint64_t i = 0; i < blocks; i++)
        sum += work[i];
    return START * (double)((threads + 31) / 32) + sum / (double)blocks * share / (1 - share);
}

bool unequal_work(const struct device *dev, const struct step *s, int places, const uint32_t *work, uint64_t blocks, struct dispatch *out)
{
    const uint64_t threads = (uint64_t)s->block[0] * s->block[1] * s->block[2];
    *out = (struct dispatch){0};
    for (int i = 0; i < 3; i++)
        if (s->cluster[i] > 1) /* a cluster takes places on several SMs */
            return false;
    return work && blocks && dispatch_blocks(work, blocks, dev->chip.sm_count, places, fixed_work(dev, threads, work, blocks), out);
}

bool unequal_launch(const struct device *dev, const struct step *s, int places, struct dispatch *out)
{
    const uint32_t *work = NULL;
    uint64_t blocks = dev->ops->group_work ? dev->ops->group_work(dev, &work) : 0;
    return unequal_work(dev, s, places, work, blocks, out);
}

void unequal_add(struct row *row, int step, const struct dispatch *d)
{
    row_add_member(row, FAMILY_EMU, step, 0, "unequal_sm", "instr", "emu", d->sm_work);
    row_add_member(row, FAMILY_EMU, step, 0, "unequal_place", "instr", "emu", d->place_work);
    row_add_member(row, FAMILY_EMU, step, 0, "unequal_blocks", "block", "emu", d->place_blocks);
    row_add_member(row, FAMILY_EMU, step, 0, "unequal_busy", "%", "emu", 100 * d->busy);
}

void unequal_count(const struct device *dev, const struct step *s, struct row *row, int step)
{
    struct dispatch d;
    if (s->kind == STEP_KERNEL && unequal_launch(dev, s, row->steps[step].blocks_per_sm, &d))
        unequal_add(row, step, &d);
}
