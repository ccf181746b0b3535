/* Which turn a timed launch has. On an H200 cold launches of a stream have turns of eight, and two of these take some 0.9 us longer than
 * the others, whatever is launched (docs/notes/2026-11-noise.md): who had them more often than another seemed slower. So all samples of a
 * round have the same turn, and rounds go through the turns: a few launches that do nothing come before the flush. Where it is not known
 * how many launches a library makes they are drawn. */
#include "measure/time/sample_private.h"

static int turn_now(const struct sample_group *f)
{
    return f->dev->ops->launch_slot ? f->dev->ops->launch_slot(f->dev) : 0;
}

static int modulo(int turns)
{
    return (turns % DEVICE_LAUNCH_SLOTS + DEVICE_LAUNCH_SLOTS) % DEVICE_LAUNCH_SLOTS;
}

static bool calls_library(const struct program *p)
{
    for (int i = 0; i < p->step_count; i++)
        if (p->steps[i].kind == STEP_CUDNN || p->steps[i].kind == STEP_CALL)
            return true;
    return false;
}

/* Launches of a run that the device does not see, because a library makes them: those that a graph of the run has, less those seen. */
bool slot_learn(struct sample_group *f, int i, struct error *err)
{
    const struct device_ops *ops = f->dev->ops;
    struct rig *rig = f->candidates[i].rig;
    struct device_graph *graph = NULL;
    struct error ignored = {0};
    f->unseen[i] = 0;
    if (!ops->launch_slot || rig_program(rig)->graph || !calls_library(rig_program(rig))) /* launches in a graph have no turns */
        return true;
    int before = turn_now(f);
    if (!rig_run(rig, err) || !ops->sync(f->dev, err))
        return false;
    int seen = turn_now(f) - before;
    bool caught = ops->graph_begin(f->dev, &ignored) && rig_run_stepwise(rig, NULL, NULL, &ignored);
    caught = ops->graph_end(f->dev, &graph, &ignored) && caught;
    f->unseen[i] = caught ? modulo(ops->graph_launches(f->dev, graph) - seen) : -1;
    f->slots_known = f->slots_known && caught;
    if (graph)
        ops->graph_free(f->dev, graph);
    return true;
}

bool slot_run(struct sample_group *f, int i, struct error *err)
{
    if (!rig_run(f->candidates[i].rig, err))
        return false;
    if (f->dev->ops->slots_used && f->unseen[i] > 0)
        f->dev->ops->slots_used(f->dev, f->unseen[i]);
    return true;
}

/* Before what comes before a sample. */
bool slot_steer(struct sample_group *f, int i, struct error *err)
{
    const struct device_ops *ops = f->dev->ops;
    if (!ops->launch_slot || !ops->stamp)
        return true;
    int pads = f->slots_known && f->ahead[i] >= 0 ? modulo(f->turn - turn_now(f) - f->ahead[i]) : sample_draw(f, DEVICE_LAUNCH_SLOTS);
    for (int k = 0; k < pads; k++)
        if (!ops->stamp(f->dev, 0, err))
            return false;
    f->ahead[i] = turn_now(f);
    return true;
}

/* Right before the sample: so many launches lie between, this time and the next. */
void slot_met(struct sample_group *f, int i)
{
    f->ahead[i] = modulo(turn_now(f) - f->ahead[i]);
}
