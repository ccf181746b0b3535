/* Functions that the files of sample share: timers, rests, random numbers, and the check of a launch. */
#include "base/clock.h"
#include "measure/time/sample_private.h"
#include "op/reference/generate.h"

#define STREAM 0x5ea7 /* separates these random numbers from the others that a run draws from its seed */

void timer_close(struct timer *t)
{
    if (t->from)
        t->dev->ops->event_free(t->dev, t->from);
    if (t->to)
        t->dev->ops->event_free(t->dev, t->to);
    *t = (struct timer){0};
}

bool timer_open(struct timer *t, struct device *dev, struct error *err)
{
    *t = (struct timer){.dev = dev};
    return dev->ops->event(dev, &t->from, err) && dev->ops->event(dev, &t->to, err);
}

int sample_draw(struct sample_group *f, int count)
{
    return (int)(random_bits(f->plan->seed, STREAM, f->drawn++) % (uint64_t)count);
}

bool sample_recheck(struct sample_group *f, int i, int set, enum rig_left left, struct error *err)
{
    bool right = true;
    if (left == RIG_AS_ACCEPTED || !f->watch || !f->watch->doubt)
        return true;
    if (!f->watch->doubt(f->watch->context, i, set, left, &right, err))
        return false;
    f->candidates[i].out |= !right;
    return true;
}

bool sample_rest(struct device *dev, long ns, struct error *err)
{
    if (!ns)
        return true;
    if (!dev->ops->sync(dev, err))
        return false;
    phase_push(dev->clock, PHASE_SPACING);
    clock_rest(ns);
    phase_pop(dev->clock);
    return true;
}

bool sample_hold(struct device *dev, struct error *err)
{
    return !dev->ops->block || dev->ops->block(dev, err);
}

void sample_let_go(struct device *dev)
{
    if (dev->ops->unblock)
        dev->ops->unblock(dev);
}
