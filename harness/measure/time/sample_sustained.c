/* Times back-to-back runs in a graph. A row with memory that survives a run (rig_has_state) could find there the results of repeated
 * inputs, or count its runs. For such a row the graph poisons the replica and prepares it anew before each run; a graph without the runs
 * measures that overhead, and bench subtracts it. With two replicas the graph prepares both, then runs on both. So only every second run
 * follows the gap after the fills, which back-to-back runs do not have. The measured time can be too long, never too short. bench checks
 * the last run on each replica. So that the other runs are checked too, shorter graphs of the same runs, of random lengths, are launched
 * first. */
#include "measure/time/sample_private.h"
#include <math.h>

#define SUSTAINED_NS 10e6    /* a sustained sample lasts about this long */
#define SUSTAINED_LEAST 0.02 /* the runs must take at least this share of the time of poisoning and preparing */
#define SUSTAINED_MIN 10
#define SUSTAINED_MAX 50
#define PROOFS 4 /* number of shorter graphs; one if the runs take longer than SUSTAINED_NS together */

static bool timed(struct sample_group *f, int i, struct device_graph *graph, double *ns, struct error *err)
{
    const struct device_ops *ops = f->dev->ops;
    struct timer *t = &f->timers[i];
    return ops->record(f->dev, t->from, err) && ops->graph_launch(f->dev, graph, err) && ops->record(f->dev, t->to, err) &&
           ops->sync(f->dev, err) && ops->elapsed(f->dev, t->from, t->to, ns, err);
}

/* The outputs on each replica are from its last run: poisons them before a graph. */
static bool clear_seats(struct sample_group *f, const struct sample_candidate *e, struct error *err)
{
    for (int replica = 0; replica < f->replicas; replica++) {
        rig_select(e->rig, e->last[replica], replica);
        if (!rig_poison_all(e->rig, err) || !rig_prepare(e->rig, NULL, err))
            return false;
    }
    return true;
}

/* ... and after it checks them. */
static bool look_at_seats(struct sample_group *f, int i, struct error *err)
{
    struct sample_candidate *e = &f->candidates[i];
    enum rig_left left;
    for (int replica = 0; replica < f->replicas; replica++) {
        rig_select(e->rig, e->last[replica], replica);
        if (!rig_checksum(e->rig, err) || !rig_checksum_matches(e->rig, &left, err) || !sample_recheck(f, i, e->last[replica], left, err))
            return false;
    }
    return true;
}

/* Do its runs come in pairs, one on each replica, behind the preparation of both? */
static bool is_paired(const struct sample_group *f, int i)
{
    return f->replicas == 2 && rig_has_state(f->candidates[i].rig);
}

bool sustained_take(struct sample_group *f, int i, struct error *err)
{
    double rest_ns = 0;
    f->hz[i] = NAN;
    if (f->rests[i] && !timed(f, i, f->rests[i], &rest_ns, err))
        return false;
    if (!clear_seats(f, &f->candidates[i], err) || !timed(f, i, f->graphs[i], &f->ns[i], err))
        return false;
    f->ns[i] = f->ns[i] > rest_ns * (1 + SUSTAINED_LEAST) ? f->ns[i] - rest_ns : NAN; /* a small difference of two times is unreliable */
    return look_at_seats(f, i, err);
}

/* Draws a set that differs from the previous one on the replica and, if there are enough, from the first one: a kernel that replays a
 * kept result then fails the check of the last run. */
static int next_set(struct sample_group *f, int before, int first)
{
    int set = sample_draw(f, f->sets);
    while (f->sets > 1 && (set == before || (f->sets > 2 && set == first)))
        set = sample_draw(f, f->sets);
    return set;
}

/* The first runs visit each replica once, and so do the last ones; in between replicas are random (of a pair the first), and a replica's
 * set changes every time. */
static void choose_places(struct sample_group *f, int i, int (*places)[2])
{
    struct sample_candidate *e = &f->candidates[i];
    int first[SAMPLE_REPLICAS_MOST];
    bool paired = is_paired(f, i);
    e->batch -= paired && e->batch % 2;
    for (int k = 0; k < e->batch; k++) {
        int left = e->batch - 1 - k, replica = k < f->replicas ? k : left < f->replicas ? left : sample_draw(f, f->replicas);
        if (paired && k % 2)
            replica = 1 - places[k - 1][1];
        if (k < f->replicas)
            first[replica] = e->last[replica] = sample_draw(f, f->sets);
        else
            e->last[replica] = next_set(f, e->last[replica], left < f->replicas ? first[replica] : -1);
        places[k][0] = e->last[replica];
        places[k][1] = replica;
    }
}

static void take_place(struct rig *rig, const int place[2])
{
    rig_select(rig, place[0], place[1]);
    rig_use_code(rig, 0); /* keeps the code in the instruction caches, as for a kernel that runs repeatedly */
}

static bool build(struct sample_group *f, int i, int (*const places)[2], bool runs, struct device_graph **graph, struct error *err)
{
    const struct device_ops *ops = f->dev->ops;
    struct sample_candidate *e = &f->candidates[i];
    struct error end = {0};
    bool ok = true;
    if (!ops->graph_begin(f->dev, err))
        return false;
    int each = is_paired(f, i) ? 2 : 1;
    for (int k = 0; k < e->batch && ok; k += each) {
        for (int j = 0; j < each && ok && rig_has_state(e->rig); j++) {
            take_place(e->rig, places[k + j]);
            ok = rig_poison_all(e->rig, err) && rig_prepare(e->rig, NULL, err);
        }
        for (int j = 0; j < each && ok; j++) {
            take_place(e->rig, places[k + j]);
            ok = !runs || rig_run_stepwise(e->rig, NULL, NULL, err);
        }
    }
    if (ops->graph_end(f->dev, graph, &end))
        return ok;
    if (ok && err)
        *err = end;
    return false;
}

/* Launches and checks a graph of the first runs of a longer one, with a random length. */
static bool prove(struct sample_group *f, int i, struct error *err)
{
    const struct device_ops *ops = f->dev->ops;
    struct sample_candidate *e = &f->candidates[i];
    int places[SUSTAINED_MAX][2], whole = e->batch;
    struct device_graph *graph = NULL;
    e->batch = f->replicas + sample_draw(f, whole - f->replicas);
    choose_places(f, i, places);
    bool ok = build(f, i, places, true, &graph, err) && clear_seats(f, e, err) && ops->graph_launch(f->dev, graph, err) &&
              ops->sync(f->dev, err) && look_at_seats(f, i, err);
    if (graph)
        ops->graph_free(f->dev, graph);
    e->batch = whole;
    return ok;
}

bool sustained_build(struct sample_group *f, int i, struct error *err)
{
    struct device *dev = f->dev;
    const struct device_ops *ops = dev->ops;
    struct sample_candidate *e = &f->candidates[i];
    struct timer *t = &f->timers[i];
    int places[SUSTAINED_MAX][2];
    double ns;
    if (!rig_run(e->rig, err) || !ops->record(dev, t->from, err) || !rig_run(e->rig, err) || !ops->record(dev, t->to, err) ||
        !ops->sync(dev, err) || !ops->elapsed(dev, t->from, t->to, &ns, err))
        return false;
    double wanted = ns > 0 ? SUSTAINED_NS / ns : SUSTAINED_MAX;
    e->batch = wanted < SUSTAINED_MIN ? SUSTAINED_MIN : wanted > SUSTAINED_MAX ? SUSTAINED_MAX : (int)wanted;
    for (int proofs = wanted < SUSTAINED_MIN ? 1 : PROOFS; proofs && !e->out; proofs--)
        if (!prove(f, i, err))
            return false;
    choose_places(f, i, places);
    return build(f, i, places, true, &f->graphs[i], err) && (!rig_has_state(e->rig) || build(f, i, places, false, &f->rests[i], err));
}
