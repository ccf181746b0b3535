/* What decides how timing is done: the cost of a flush, the resolution of events, launch floors, graph nodes, copies. */
#include "probe.h"
#include "device/cuda/private.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define OPS (p->dev->ops)
#define SAMPLES 200

static struct device_event *from, *to;

static bool elapsed(struct probe *p, double *ns, struct error *err)
{
    return OPS->sync(p->dev, err) && OPS->elapsed(p->dev, from, to, ns, err);
}

/* The smallest step between different times is what the clock resolves. */
static void event_resolution(struct probe *p)
{
    struct error err = {0};
    double ns[SAMPLES], step = INFINITY;
    bool ok = true;
    for (int i = 0; i < SAMPLES && ok; i++)
        ok = OPS->record(p->dev, from, &err) && OPS->record(p->dev, to, &err) && elapsed(p, &ns[i], &err);
    if (!probe_check(p, "events", ok, &err))
        return;
    double median = probe_median(ns, SAMPLES);
    for (int i = 1; i < SAMPLES; i++)
        if (ns[i] - ns[i - 1] > 0.01 && ns[i] - ns[i - 1] < step)
            step = ns[i] - ns[i - 1];
    probe_number(p, "event.back_to_back_ns", median, "ns (idle GPU, host in between)");
    probe_number(p, "event.smallest_step_ns", step, "ns");
}

static void flush_cost(struct probe *p)
{
    struct error err = {0};
    struct cuda_state *s = cuda_state(p->dev);
    double ns[SAMPLES], host[SAMPLES], reset[SAMPLES];
    bool ok = OPS->flush(p->dev, &err) && OPS->sync(p->dev, &err); /* the first loads its kernels */
    for (int i = 0; i < SAMPLES && ok; i++) {
        ok = OPS->record(p->dev, from, &err);
        double start = probe_now_s();
        ok = ok && OPS->flush(p->dev, &err);
        host[i] = (probe_now_s() - start) * 1e6;
        ok = ok && OPS->record(p->dev, to, &err) && elapsed(p, &ns[i], &err);
    }
    if (!probe_check(p, "flush", ok, &err))
        return;
    probe_number(p, "flush.gpu_us", probe_median(ns, SAMPLES) / 1e3, "us");
    probe_number(p, "flush.host_us", probe_median(host, SAMPLES), "us");
    for (int i = 0; i < SAMPLES; i++) {
        double start = probe_now_s();
        s->api->cuCtxResetPersistingL2Cache();
        reset[i] = (probe_now_s() - start) * 1e6;
    }
    probe_number(p, "flush.reset_persisting_host_us", probe_median(reset, SAMPLES), "us");
    /* Is it asynchronous? Behind a kernel of about 20 ms. */
    uint64_t at = 0;
    OPS->alloc(p->dev, "busy", 64, &at, &err);
    struct {
        uint64_t value, amount;
        int cycles;
    } busy = {at, 0, 40000000};
    ok = probe_launch(p, "slow_add", 1, 32, &busy, 20, &err);
    double start = probe_now_s();
    ok = ok && OPS->flush(p->dev, &err);
    double queued = probe_now_s() - start;
    ok = ok && OPS->sync(p->dev, &err);
    double done = probe_now_s() - start;
    probe_number(p, "flush.host_us_behind_a_long_kernel", queued * 1e6, "us");
    probe_number(p, "flush.that_kernel_took_us", done * 1e6, "us");
    probe_check(p, "flush: does not wait for the GPU", ok && queued < 0.25 * done, &err);
    OPS->release(p->dev, at);
}

/* Empty kernels: alone behind a flush, many in a row, in a graph. */
static void launch_floors(struct probe *p)
{
    struct error err = {0};
    double ns[SAMPLES], host[SAMPLES];
    struct device_function *f = probe_function(p, "empty");
    struct device_launch l = {.grid = {1, 1, 1}, .block = {32, 1, 1}, .carveout = -1};
    struct device_graph *g = NULL;
    bool ok = f != NULL;
    for (int kernels = 0; kernels <= 2; kernels++) { /* with none: what two events cost behind a busy GPU */
        for (int i = 0; i < SAMPLES && ok; i++) {
            ok = OPS->flush(p->dev, &err) && OPS->record(p->dev, from, &err);
            double start = probe_now_s();
            for (int k = 0; k < kernels && ok; k++)
                ok = OPS->launch(p->dev, f, &l, &err);
            host[i] = (probe_now_s() - start) * 1e6;
            ok = ok && OPS->record(p->dev, to, &err) && elapsed(p, &ns[i], &err);
        }
        static const char *const names[] = {"floor.isolated_no_kernel_us", "floor.isolated_empty_kernel_us",
                                            "floor.isolated_two_empty_kernels_us"};
        if (ok)
            probe_number(p, names[kernels], probe_median(ns, SAMPLES) / 1e3, "us");
        if (ok && kernels == 1)
            probe_number(p, "floor.host_call_us", probe_median(host, SAMPLES), "us");
    }
    for (int i = 0; i < 30 && ok; i++) {
        ok = OPS->flush(p->dev, &err) && OPS->flush(p->dev, &err) && OPS->record(p->dev, from, &err);
        double start = probe_now_s();
        for (int k = 0; k < 500 && ok; k++)
            ok = OPS->launch(p->dev, f, &l, &err);
        host[i] = (probe_now_s() - start) / 500 * 1e6;
        ok = ok && OPS->record(p->dev, to, &err) && elapsed(p, &ns[i], &err);
    }
    if (ok) {
        probe_number(p, "floor.stream_of_500_us_each", probe_median(ns, 30) / 500e3, "us");
        probe_number(p, "floor.stream_of_500_host_us_each", probe_median(host, 30), "us");
    }
    for (int nodes = 1; nodes <= 201 && ok; nodes += 50) {
        ok = OPS->graph_begin(p->dev, &err);
        for (int k = 0; k < nodes && ok; k++)
            ok = OPS->launch(p->dev, f, &l, &err);
        ok = ok && OPS->graph_end(p->dev, &g, &err);
        for (int i = 0; i < 50 && ok; i++)
            ok = OPS->flush(p->dev, &err) && OPS->record(p->dev, from, &err) && OPS->graph_launch(p->dev, g, &err) &&
                 OPS->record(p->dev, to, &err) && elapsed(p, &ns[i], &err);
        char name[64];
        snprintf(name, sizeof name, "floor.graph_of_%d_us", nodes);
        if (ok)
            probe_number(p, name, probe_median(ns, 50) / 1e3, "us");
        if (g)
            OPS->graph_free(p->dev, g);
        g = NULL;
    }
    probe_check(p, "launch floors", ok, &err);
}

static void copy_bandwidth(struct probe *p)
{
    struct error err = {0};
    size_t bytes = (size_t)4 << 30;
    uint64_t a = 0, b = 0;
    double ns[20];
    bool ok = OPS->alloc(p->dev, "copy source", bytes, &a, &err) && OPS->alloc(p->dev, "copy target", bytes, &b, &err) &&
              OPS->fill(p->dev, a, 0x9e3779b9, bytes, &err);
    for (int i = 0; i < 20 && ok; i++)
        ok = OPS->record(p->dev, from, &err) && OPS->copy(p->dev, b, a, bytes, &err) && OPS->record(p->dev, to, &err) &&
             elapsed(p, &ns[i], &err);
    if (ok)
        probe_number(p, "copy.bytes_s", 2.0 * (double)bytes / (probe_median(ns, 20) * 1e-9),
                     "B/s (read + written; peers-h200.md: 4.25e12)");
    probe_check(p, "copy bandwidth", ok, &err);
    OPS->release(p->dev, a);
    OPS->release(p->dev, b);
}

#define CHASE_NODES 4096 /* one every 4 KiB: 16 MiB, which fit every L2 of interest */
#define CHASE_WORDS 1024

/* Dependent loads over 16 MiB after different preparations: does the flush empty L2? (On this GPU L2 and memory differ little in bandwidth,
 * much in latency.) */
static void flush_works(struct probe *p)
{
    static const char *const names[] = {"warm", "flush", "two_flushes", "write_only_256MB"};
    struct error err = {0};
    uint64_t chain = 0, end = 0, big = 0;
    double ns[4][20], median[4];
    uint32_t *next = xcalloc((size_t)CHASE_NODES * CHASE_WORDS, 4);
    for (uint32_t i = 0; i < CHASE_NODES; i++) /* a full cycle with long, irregular jumps */
        next[i * CHASE_WORDS] = (i * 1664525u + 1013904223u) % CHASE_NODES * CHASE_WORDS;
    bool ok = OPS->alloc(p->dev, "chain", (size_t)CHASE_NODES * CHASE_WORDS * 4, &chain, &err) &&
              OPS->alloc(p->dev, "end", 512, &end, &err) && OPS->alloc(p->dev, "big", 256000000, &big, &err) &&
              OPS->write(p->dev, chain, next, (size_t)CHASE_NODES * CHASE_WORDS * 4, &err);
    struct {
        uint64_t next, end;
        int steps;
    } args = {chain, end, CHASE_NODES};
    struct device_function *f = probe_function(p, "chase");
    struct device_launch l = {.grid = {1, 1, 1}, .block = {1, 1, 1}, .carveout = -1, .params = &args, .param_bytes = 20};
    ok = ok && f;
    for (int i = 0; i < 20 && ok; i++)
        for (int m = 0; m < 4 && ok; m++) {
            if (m == 0)
                ok = OPS->launch(p->dev, f, &l, &err);
            else if (m == 3)
                ok = OPS->fill(p->dev, big, (uint32_t)i, 256000000, &err);
            else
                ok = OPS->flush(p->dev, &err) && (m == 1 || OPS->flush(p->dev, &err));
            ok = ok && OPS->record(p->dev, from, &err) && OPS->launch(p->dev, f, &l, &err) && OPS->record(p->dev, to, &err) &&
                 elapsed(p, &ns[m][i], &err);
        }
    for (int m = 0; m < 4 && ok; m++) {
        char name[64];
        snprintf(name, sizeof name, "flush.load_latency_after_%s_ns", names[m]);
        median[m] = probe_median(ns[m], 20) / CHASE_NODES;
        probe_number(p, name, median[m], "ns");
    }
    probe_check(p, "flush: loads come from memory, as far as after two",
                ok && median[1] > 1.3 * median[0] && fabs(median[1] - median[2]) < 0.05 * median[2], &err);
    free(next);
    OPS->release(p->dev, chain);
    OPS->release(p->dev, end);
    OPS->release(p->dev, big);
}

void probe_time(struct probe *p)
{
    struct error err = {0};
    if (!OPS->event(p->dev, &from, &err) || !OPS->event(p->dev, &to, &err)) {
        probe_check(p, "events", false, &err);
        return;
    }
    event_resolution(p);
    flush_cost(p);
    flush_works(p);
    launch_floors(p);
    copy_bandwidth(p);
    OPS->event_free(p->dev, from);
    OPS->event_free(p->dev, to);
}
