/* What `make bench-emu` prints: how fast the interpreter runs kernels that are shipped, on this machine. Times are of single launches, the
 * fastest of several, in this process: processor time of one thread, wall time of two; a rate is warp instructions (of PTX) or
 * multiply-adds of matrix instructions a second and core.
 *
 *   speed SCENARIO [ROW-GLOB]   $SPEED_ROUNDS: launches of each kind, default 5 */
#include "base/pool.h"
#include "base/text.h"
#include "emu/device/emu.h"
#include "run/child/devices.h"
#include "run/child/serve.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static void drop(void *context, json_t *event)
{
    json_decref(event);
}

/* One thread is timed by the processor time it gets, so that a busy machine disturbs less; several by the wall clock. */
static double now_s(int threads)
{
    struct timespec t;
    clock_gettime(threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

struct counts {
    double instructions, macs;
};
static void see(void *context, const struct device_counter *counter, int line, double value)
{
    struct counts *c = context;
    if (line == 0 && !strcmp(counter->name, "emu.warp_instructions"))
        c->instructions = value;
    if (line == 0 && !strcmp(counter->name, "emu.tensor_macs"))
        c->macs = value;
}

/* Seconds of one launch, the least of several. */
static bool fastest(struct worker *w, struct rig *rig, int threads, bool checks, int rounds, double *seconds, struct error *err)
{
    emu_set_threads(w->job.dev, threads);
    emu_set_checks(w->job.dev, checks);
    *seconds = 1e9;
    for (int i = 0; i < rounds; i++) {
        double begun = now_s(threads);
        if (!rig_run(rig, err))
            return false;
        double s = now_s(threads) - begun;
        *seconds = s < *seconds ? s : *seconds;
    }
    return true;
}

static bool time_row(struct worker *w, int index, int rounds, struct error *err)
{
    struct build build = {0};
    struct rig *rig = NULL;
    struct op_data *data;
    struct counts c = {0};
    double ns, bounds = 0, all = 0, two = 0;
    int cores = pool_threads() < 2 ? 1 : 2;
    bool ok = build_make(&w->job, plan_program(&w->job.plan, index), &build, err) &&
              data_get(&w->data, index, DATA_PART_PRECISION, 0, &data, err) &&
              rig_open(w->job.dev, w->library.cudnn, plan_program(&w->job.plan, index), build.images, true, &rig, err) &&
              rig_feed(rig, data, err) && rig_prepare(rig, &ns, err);
    if (ok) {
        w->job.dev->ops->clear(w->job.dev);
        ok = rig_run(rig, err);
        w->job.dev->ops->counters(w->job.dev, see, &c);
    }
    ok = ok && fastest(w, rig, 1, false, rounds, &bounds, err) && fastest(w, rig, 1, true, rounds, &all, err) &&
         fastest(w, rig, cores, false, rounds, &two, err);
    if (ok) {
        printf("%-58s %7.2f M %9.1f %9.1f %6.0f %% %8.2f", plan_id(&w->job.plan, index), c.instructions / 1e6,
               c.instructions / bounds / 1e6, c.instructions / all / 1e6, 100 * bounds / all, bounds / two);
        if (c.macs > 0)
            printf("   %7.2f", c.macs / bounds / 1e9);
        printf("\n");
        fflush(stdout);
    }
    rig_close(rig);
    build_free(&build);
    return ok;
}

int main(int argc, char **argv)
{
    struct error err = {0};
    struct worker w;
    const char *rounds = getenv("SPEED_ROUNDS");
    int failed = 0;
    worker_init(&w, drop, NULL);
    if (argc < 2) {
        fprintf(stderr, "usage: speed SCENARIO [ROW-GLOB]\n");
        return 2;
    }
    w.job.options = (struct plan_options){.scenario_path = argv[1], .device = "emu"};
    if (!device_open("emu", &w.job.dev, &err) || !(w.planned = plan_make(&w.job.options, "emu", &w.job.dev->chip, &w.job.plan, &err))) {
        fprintf(stderr, "speed: %s\n", err.text);
        return 1;
    }
    printf("instruction set of the host: %s; cores: %d; the fastest of several launches\n", emu_isa_name(), pool_threads());
    printf("%-58s %9s %9s %9s %8s %8s %9s\n", "row", "warp inst", "M/s bound", "M/s all", "", "2 cores", "GMAC/s");
    for (int i = 0; i < w.job.plan.row_count; i++) {
        const struct plan_row *p = &w.job.plan.rows[i];
        if (p->broken || !p->facts.feasible || (argc > 2 && !text_glob(argv[2], plan_id(&w.job.plan, i))))
            continue;
        if (!time_row(&w, i, rounds && atoi(rounds) > 0 ? atoi(rounds) : 5, &err)) {
            if (err.kind != ERROR_ENVIRONMENT) { /* row 0 is cuDNN, which needs a GPU */
                fprintf(stderr, "speed: %s: %s\n", plan_id(&w.job.plan, i), err.text);
                failed = 1;
            }
            error_clear(&err);
        }
    }
    worker_close(&w);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("memory high-water mark of the process: %ld MB\n", usage.ru_maxrss / 1024);
    return failed;
}
