/* Chooses the launch slot of a timed launch. On an H200, cold launches of a stream cycle through eight slots, two of which take some 0.9
 * us longer, whatever kernel is launched (docs/notes/2026-11-noise.md); a row that gets them more often appears slower. So all samples
 * of a round use the same slot, and rounds cycle through the slots: bench queues a few empty launches before the flush. If the number of
 * launches of a library call is unknown, the slot is random. */
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
    return ANY_OF(i, p->step_count, p->steps[i].kind == STEP_CUDNN || p->steps[i].kind == STEP_CALL);
}

/* Counts the launches of a run that the device does not see because a library makes them: the launches in a captured graph of the run,
 * minus those seen. */
bool slot_learn(struct sample_group *f, int i, struct error *err)
{
    const struct device_ops *ops = f->dev->ops;
    struct rig *rig = f->candidates[i].rig;
    struct device_graph *graph = NULL;
    struct error ignored = {0};
    f->unseen[i] = 0;
    if (!ops->launch_slot || rig_program(rig)->graph || !calls_library(rig_program(rig))) /* launches in a graph use no slots */
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

bool slot_run(struct sample_group *f, int i, bool timed, struct error *err)
{
    if (!(timed ? rig_run_timed : rig_run)(f->candidates[i].rig, err)) {
        const struct program *p = rig_program(f->candidates[i].rig);
        bool calls = false; /* a function on the host fails when it is called; a launch may fail for what ran before */
        for (int k = 0; k < p->step_count; k++)
            calls |= p->steps[k].kind == STEP_CALL;
        if (calls && f->watch)
            f->watch->announce(f->watch->context, i);
        return false;
    }
    if (f->dev->ops->slots_used && f->unseen[i] > 0)
        f->dev->ops->slots_used(f->dev, f->unseen[i]);
    return true;
}

/* Queues empty launches so that the sample gets the round's slot. */
bool slot_steer(struct sample_group *f, int i, struct error *err)
{
    const struct device_ops *ops = f->dev->ops;
    if (!ops->launch_slot || !ops->stamp)
        return true;
    int pads = f->slots_known && f->ahead[i] >= 0 ? modulo(f->turn - turn_now(f) - f->ahead[i]) : sample_draw(f, DEVICE_LAUNCH_SLOTS);
    if (!ALL_OF(k, pads, ops->stamp(f->dev, 0, err)))
        return false;
    f->ahead[i] = turn_now(f);
    return true;
}

/* Called right before the sample: records how many launches came since slot_steer, for the next time. */
void slot_met(struct sample_group *f, int i)
{
    f->ahead[i] = modulo(turn_now(f) - f->ahead[i]);
}
