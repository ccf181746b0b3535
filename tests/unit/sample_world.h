/* A device of make-believe time and the rigs on it, for measure/time/sample: whoever includes this stands in for measure/rig. */
#ifndef BENCH_TESTS_SAMPLE_WORLD_H
#define BENCH_TESTS_SAMPLE_WORLD_H

#include "measure/time/sample.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The one clock. A run of a rig takes its time; everything is drawn from a seeded generator. */
#define FLUSH_NS 74000.0
struct rig {
    bool awaits;      /* no launch was checked */
    double ns, noise; /* its time; relative, one standard deviation */
    struct program program;
    struct step steps[2];
    const char *name;
    int runs;
    int set, replica, code, wiped[2]; /* code: of the replica, or whose it was told to take; wiped: by replica */
    long sleep_ns;                    /* what a run takes of the real clock */
    int launches;                     /* of a run, where launches have turns: a library's when its step is one */
    double copy_ns;                   /* of a result to its buffer, behind the end of a timed run */
    bool kept;                        /* such a copy is left */
    double wipe_ns;                   /* above 0: it keeps something, and a wipe in a graph takes so long */
    double gap_ns;                    /* of a run in a graph behind a preparation */
    bool caught[16];                  /* a program's own graph, by set and replica */
    int wrong_from;                   /* its run of this number leaves other bits; 0: none */
    int idle_from, idle_to;           /* these runs of a graph do nothing; 0: none */
    struct {
        int set, replica, code;
    } sat[4096]; /* by run */
};
struct device_event {
    double at_ns;
};
struct device_graph {
    double ns;
    int launches;
};
static struct world {
    double now_ns, drift;     /* drift: how much longer everything takes a second */
    bool capturing, prepared; /* prepared: the last call was rig_prepare */
    double captured_ns;
    int in_graph;  /* runs of the last graph */
    double hz[64]; /* of the next samples, where there is a clock */
    int hz_asked;
    char said[4096]; /* "F" flush, "a", "b" a run of candidate 0, 1, "|" an event, "p" prepare, "w" wipe, "=" a look at what is left */
    int events, graphs;
    int made, seen, captured; /* launches */
    bool no_capture;          /* a library that cannot be caught in a graph */
    int turn_of[4096], turn_runs;
    int fail_at, calls; /* the call, of anybody's, that fails, from 1, and it alone; 0: none; */
    const char *failed; /* that one */
    uint64_t random;
} world;

static void say(const char *what)
{
    if (strlen(world.said) + 2 < sizeof world.said)
        strcat(world.said, what);
}

static double uniform(void)
{
    world.random ^= world.random << 13;
    world.random ^= world.random >> 7;
    world.random ^= world.random << 17;
    return ((double)(world.random >> 11) + 0.5) * 0x1p-53;
}

static double normal(void)
{
    return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

static bool spend(double ns)
{
    double took = ns * (1 + world.drift * world.now_ns / 1e9);
    if (world.capturing)
        world.captured_ns += took;
    else
        world.now_ns += took;
    return true;
}

static bool fails(const char *call, struct error *err)
{
    if (++world.calls != world.fail_at)
        return false;
    world.failed = call;
    error_set(err, ERROR_WRONG, "%s fails", call);
    return true;
}

/* ---- in place of measure/rig ---- */
static void sits(struct rig *rig)
{
    world.in_graph += world.capturing;
    rig->sat[rig->runs % 4096].set = rig->set;
    rig->sat[rig->runs % 4096].code = rig->code;
    rig->sat[rig->runs++ % 4096].replica = rig->replica;
}
void rig_select(struct rig *rig, int set, int replica)
{
    rig->set = set;
    rig->replica = replica;
    rig->code = 2 * set + replica;
}
void rig_use_code(struct rig *rig, int view)
{
    rig->code = view;
}
bool rig_poison_all(struct rig *rig, struct error *err)
{
    if (fails("rig_wipe", err))
        return false;
    say("w");
    rig->wiped[rig->replica % 2] += !world.capturing;
    return !world.capturing || spend(rig->wipe_ns);
}
bool rig_has_state(const struct rig *rig)
{
    return rig->wipe_ns > 0;
}
bool rig_checksum(struct rig *rig, struct error *err)
{
    assert_false(rig->kept);
    if (fails("rig_seal", err))
        return false;
    say("=");
    return true;
}
bool rig_checksum_matches(struct rig *rig, enum rig_left *left, struct error *err)
{
    if (fails("rig_same", err))
        return false;
    bool idle = world.in_graph >= rig->idle_from && world.in_graph < rig->idle_to; /* the last one of the last graph */
    *left = rig->awaits ? RIG_UNSEEN : idle || (rig->wrong_from && rig->runs >= rig->wrong_from) ? RIG_OTHER_OUTPUT : RIG_AS_ACCEPTED;
    return true;
}
bool rig_checksum_awaits(const struct rig *rig)
{
    return rig->awaits;
}
/* The one turn that is slow is the last of the eight. */
static double made(struct rig *rig)
{
    bool library = rig->steps[0].kind == STEP_CUDNN;
    double late = (world.made + rig->launches) / DEVICE_LAUNCH_SLOTS > world.made / DEVICE_LAUNCH_SLOTS && rig->launches ? 900 : 0;
    if (world.capturing) {
        world.captured += rig->launches;
        return 0;
    }
    if (rig->launches)
        world.turn_of[world.turn_runs++ % 4096] = world.made % DEVICE_LAUNCH_SLOTS;
    world.made += rig->launches;
    world.seen += library ? 0 : rig->launches;
    return late;
}
/* What it takes to make a graph is longer than what a graph takes. */
bool rig_capture(struct rig *rig, struct error *err)
{
    bool *caught = &rig->caught[(2 * rig->set + rig->replica) % 16];
    if (fails("rig_capture", err))
        return false;
    if (rig->program.graph && !*caught)
        spend(300000);
    return *caught = true;
}
bool rig_run(struct rig *rig, struct error *err)
{
    if (fails("rig_run", err) || !rig_capture(rig, err))
        return false;
    spend(made(rig));
    sits(rig);
    if (rig->sleep_ns)
        nanosleep(&(struct timespec){.tv_nsec = rig->sleep_ns}, NULL);
    say((char[]){'a' + (char)(rig->program.step_count == 2 ? 25 : rig->program.unit_count), 0});
    for (int i = 0; i < rig->program.step_count; i++)
        spend(rig->ns / rig->program.step_count * exp(rig->noise * normal()));
    spend(rig->copy_ns);
    return true;
}
bool rig_run_timed(struct rig *rig, struct error *err)
{
    double copy_ns = rig->copy_ns;
    rig->copy_ns = 0;
    rig->kept = rig_run(rig, err);
    rig->copy_ns = copy_ns;
    return rig->kept;
}
bool rig_finish(struct rig *rig, struct error *err)
{
    if (rig->kept)
        spend(rig->copy_ns);
    rig->kept = false;
    return true;
}
bool rig_run_stepwise(struct rig *rig, bool (*between)(void *context, int step, struct error *err), void *context, struct error *err)
{
    if (fails("rig_run_stepwise", err))
        return false;
    sits(rig);
    if (world.capturing && world.no_capture)
        return error_set(err, ERROR_ENVIRONMENT, "it cannot be captured");
    if (world.capturing && world.prepared)
        spend(rig->gap_ns);
    world.prepared = false;
    made(rig);
    for (int i = 0; i < rig->program.step_count; i++) {
        spend(rig->ns * (rig->program.step_count == 1 ? 1 : i ? 0.75 : 0.25));
        if (between && !between(context, i, err))
            return false;
    }
    return true;
}
bool rig_run_step(struct rig *rig, int step, struct error *err)
{
    return rig_run(rig, err);
}
bool rig_prepare(struct rig *rig, double *ns, struct error *err)
{
    if (fails("rig_prepare", err))
        return false;
    say("p");
    world.made += 3, world.seen += 3;
    world.prepared = true;
    return spend(5000);
}
const struct program *rig_program(const struct rig *rig)
{
    return &rig->program;
}
const char *rig_name(const struct rig *rig)
{
    return rig->name;
}
int rig_plan_count(const struct rig *rig, int step)
{
    return 0;
}
void rig_plan_use(struct rig *rig, int step, int plan) {}

/* ---- the device ---- */
static bool event(struct device *dev, struct device_event **e, struct error *err)
{
    if (fails("event", err))
        return false;
    *e = calloc(1, sizeof **e);
    world.events++;
    return true;
}
static void event_free(struct device *dev, struct device_event *e)
{
    world.events--;
    free(e);
}
static bool record(struct device *dev, struct device_event *e, struct error *err)
{
    if (fails("record", err))
        return false;
    say("|");
    e->at_ns = world.now_ns;
    return true;
}
static bool elapsed(struct device *dev, struct device_event *from, struct device_event *to, double *ns, struct error *err)
{
    if (fails("elapsed", err))
        return false;
    *ns = to->at_ns - from->at_ns;
    return true;
}
static bool flush(struct device *dev, struct error *err)
{
    if (fails("flush", err))
        return false;
    say("F");
    world.made += 2, world.seen += 2;
    return spend(FLUSH_NS);
}
static bool sync(struct device *dev, struct error *err)
{
    if (fails("sync", err))
        return false;
    return true;
}
static bool graph_begin(struct device *dev, struct error *err)
{
    if (fails("graph_begin", err))
        return false;
    world.capturing = true;
    world.captured_ns = 0;
    world.captured = world.in_graph = 0;
    return true;
}
static bool graph_end(struct device *dev, struct device_graph **graph, struct error *err)
{
    *graph = calloc(1, sizeof **graph);
    (*graph)->ns = world.captured_ns;
    (*graph)->launches = world.captured;
    world.capturing = false;
    world.graphs++;
    return true;
}
static bool graph_launch(struct device *dev, struct device_graph *graph, struct error *err)
{
    if (fails("graph_launch", err))
        return false;
    return spend(graph->ns);
}
static void graph_free(struct device *dev, struct device_graph *graph)
{
    world.graphs--;
    free(graph);
}
static inline int turn(struct device *dev)
{
    return world.seen % DEVICE_LAUNCH_SLOTS;
}
static inline void turned(struct device *dev, int launches)
{
    world.seen += launches;
}
static inline int graph_launches(struct device *dev, const struct device_graph *graph)
{
    return graph->launches;
}
static inline bool turn_stamp(struct device *dev, int slot, struct error *err)
{
    if (fails("turn_stamp", err))
        return false;
    world.made++, world.seen++;
    return true;
}
static const struct device_ops ops = {.name = "fake",
                                      .keeps_time = true,
                                      .sync = sync,
                                      .event = event,
                                      .event_free = event_free,
                                      .record = record,
                                      .elapsed = elapsed,
                                      .flush = flush,
                                      .graph_begin = graph_begin,
                                      .graph_end = graph_end,
                                      .graph_launch = graph_launch,
                                      .graph_free = graph_free};
static struct device device = {.ops = &ops, .spec = "fake"};

#endif
