/* counters [tests/gpu/counters.cu]: the hardware counters of kernels that are known before they run, and what counting costs. Needs a GPU.
 *
 * Prints one line a check, `ok` or `WRONG`, and exits 1 when a count that must be exact is not.
 *   counters FILE.cu plain N           launches N kernels, the seven in turn, each behind a flush: for ncu, and for the time without a
 * profiler counters FILE.cu sweep N M1,M2,... counts those metrics of the same N launches in this process; prints them and the seconds it
 * took Built by cc -std=c17 -D_GNU_SOURCE -Iharness -c -o build/gpu_counters.o tests/gpu/counters.c c++ -static-libstdc++ -static-libgcc -o
 * build/gpu_counters build/gpu_counters.o build/libbench.a -l:libyaml.a -l:libsqlite3.a -l:libjansson.a -l:libmd.a -l:libpng16.a -l:libz.a
 * -lm -ldl -lpthread */
#include "counter/set.h"
#include "run/child/devices.h"
#include "device/compile/compile.h"
#include "device/cuda/cuda.h"
#include "device/compile/cubin.h"
#include "device/cupti/range.h"
#include "known.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SWEEP = 100 };

struct gpu {
    struct device *dev;
    struct device_module *module;
    struct device_function *functions[KERNELS];
    uint64_t x, y;
    int spill_loads, spill_stores; /* instructions of `spilled`, by the compiler */
    int only, repeat;              /* -1 = each kernel once */
    bool turns;                    /* repeat: the kernels in turn, each cold */
};

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool launch(struct gpu *g, int k, struct error *err)
{
    uint64_t params[2] = {g->x, g->y};
    struct device_launch l = {.grid = {BLOCKS, 1, 1},
                              .block = {kernels[k].threads, 1, 1},
                              .cluster = {1, 1, 1},
                              .carveout = -1,
                              .params = params,
                              .param_bytes = sizeof params};
    return g->dev->ops->launch(g->dev, g->functions[k], &l, err);
}

/* One pass: every kernel, or one kernel again and again, each cold and in a range of its own. */
static bool pass(void *context, int index, struct error *err)
{
    struct gpu *g = context;
    const struct device_ops *ops = g->dev->ops;
    for (int i = 0; i < (g->only < 0 && !g->turns ? KERNELS : g->repeat); i++) {
        int k = g->turns ? i % KERNELS : g->only < 0 ? i : g->only;
        if ((g->only < 0 && !cuda_flush_uncounted(g->dev, err)) || !launch(g, k, err) || !ops->sync(g->dev, err))
            return false;
    }
    return true;
}

static bool set_up(struct gpu *g, const char *source, struct error *err)
{
    struct compiled code = {0};
    float first[8] = {0.5f, 0.25f, 1, 20, 2, 3, 4, 5};
    char *path = realpath(source, NULL);
    bool ok = device_open("cuda:0", &g->dev, err);
    struct compile_request r = {.path = path ? path : source, .label = "counters", .arch = ok ? g->dev->chip.arch : ""};
    ok = ok && compile(&r, &code, err);
    if (ok) {
        struct device_image image = {"counters", source, code.ptx, code.ptx_bytes, code.cubin, code.cubin_bytes};
        ok = g->dev->ops->load(g->dev, &image, &g->module, err);
        known_spills(code.cubin, code.cubin_bytes, source, &g->spill_loads, &g->spill_stores);
    }
    for (int i = 0; ok && i < KERNELS; i++)
        ok = g->dev->ops->function(g->dev, g->module, kernels[i].name, &g->functions[i], err);
    ok = ok && g->dev->ops->alloc(g->dev, "x", (size_t)BLOCKS * THREADS * 32, &g->x, err) &&
         g->dev->ops->alloc(g->dev, "y", (size_t)BLOCKS * THREADS * 4, &g->y, err) &&
         g->dev->ops->fill(g->dev, g->x, 0x3f800000, (size_t)BLOCKS * THREADS * 32, err) &&
         g->dev->ops->write(g->dev, g->x, first, sizeof first, err);
    for (int i = 0; ok && i < KERNELS; i++)
        ok = launch(g, i, err) && g->dev->ops->sync(g->dev, err); /* once before any range */
    compiled_free(&code);
    free(path);
    return ok;
}

static bool has(void *context, const char *metric)
{
    return cupti_has(context, metric);
}

static const double *measured_of(const struct cupti_counts *counts, const char *kernel)
{
    for (int k = 0; k < KERNELS && counts->range_count == KERNELS; k++)
        if (!strcmp(kernels[k].name, kernel))
            return counts->values + (size_t)k * counts->metric_count;
    return NULL;
}

static int check_one(const struct counter_set *set, const struct cupti_counts *counts, const struct expect *e)
{
    const double *measured = measured_of(counts, e->kernel);
    double got = NAN;
    for (int p = 0; p < set->pick_count && measured; p++) {
        const struct counter_group *group = set->picks[p].group;
        int i = strcmp(group->name, e->group) ? -1 : counter_group_value(group, e->value);
        double *values = calloc((size_t)group->value_count, sizeof *values);
        counter_set_values(set, p, measured, NULL, values);
        got = i >= 0 ? values[i] : got;
        free(values);
    }
    bool ok = got >= e->low && got <= e->high;
    printf("%-6s %-11s %-13s %-26s %14.8g", ok ? "ok" : "WRONG", e->group, e->kernel, e->value, got);
    printf(e->low == e->high ? "  = %.8g\n" : "  in %.8g .. %.8g\n", e->low, e->high);
    return !ok;
}

static int check(const struct gpu *g, const struct counter_set *set, const struct cupti_counts *counts)
{
    const double loads = (double)WARPS * g->spill_loads, stores = (double)WARPS * g->spill_stores;
    const struct expect spilled[] = {{"spills", "spilled", "local_loads", .low = loads, .high = loads},
                                     {"spills", "spilled", "local_stores", .low = stores, .high = stores}};
    int wrong = g->spill_loads < 1 || g->spill_stores < 1;
    for (size_t e = 0; e < sizeof expects / sizeof *expects; e++)
        wrong += check_one(set, counts, &expects[e]);
    for (size_t e = 0; e < sizeof spilled / sizeof *spilled; e++)
        wrong += check_one(set, counts, &spilled[e]);
    return wrong;
}

static void print_value(void *context, const struct counter_value *value, double number)
{
    printf("       %-13s %-28s %14.8g %s\n", (const char *)context, value->name, number, value->unit);
}

/* The cost of one kernel among a hundred: the aim is a thirtieth of ncu's. */
static bool sweep(struct gpu *g, struct cupti_session *s, struct counter_groups *groups, const struct counter_chip *chip, struct error *err)
{
    const struct counter_group *core = counter_groups_find(groups, "core", err);
    struct counter_set set;
    struct cupti_counts counts;
    if (!core || !counter_set_make(&core, 1, NULL, 0, chip, &set, err))
        return false;
    g->only = 0;
    g->repeat = SWEEP;
    struct cupti_job job = {.metrics = set.metrics, .metric_count = (size_t)set.count, .range_max = SWEEP, .pass = pass, .context = g};
    bool ok = true;
    for (int again = 0; ok && again < 2; again++) {
        double began = now_s();
        ok = cupti_count(s, &job, &counts, err);
        if (ok)
            printf("sweep: %d kernels, core, %d passes: %.3g ms a kernel%s\n", SWEEP, counts.passes, 1e3 * (now_s() - began) / SWEEP,
                   again ? "" : " (with the profiler enabled anew)");
        if (ok)
            cupti_counts_free(&counts);
    }
    counter_set_free(&set);
    return ok;
}

/* The same launches, counted by the metrics' own names. */
static bool sweep_named(struct gpu *g, struct cupti_session *s, char *list, double opened_s, struct error *err)
{
    const char *metrics[64];
    size_t count = 0;
    struct cupti_counts counts;
    for (char *rest = list, *one; count < 64 && (one = strsep(&rest, ","));)
        metrics[count++] = one;
    struct cupti_job job = {.metrics = metrics, .metric_count = count, .range_max = g->repeat, .pass = pass, .context = g};
    double began = now_s();
    if (!cupti_count(s, &job, &counts, err))
        return false;
    printf("sweep %d kernels %d passes %.6f s\n", g->repeat, counts.passes, now_s() - began + opened_s);
    for (int r = 0; r < counts.range_count; r++)
        for (size_t m = 0; m < count; m++)
            printf("value,%d,%s,%s,%.17g\n", r, kernels[r % KERNELS].name, metrics[m], counts.values[(size_t)r * count + m]);
    cupti_counts_free(&counts);
    return true;
}

/* plain and sweep: exit status. */
static int other_mode(struct gpu *g, int argc, char **argv, struct error *err)
{
    void *context, *stream;
    struct cupti_session *s = NULL;
    g->repeat = argc > 3 ? atoi(argv[3]) : SWEEP;
    g->turns = true;
    bool ok, plain = !strcmp(argv[2], "plain");
    double began = now_s();
    if (plain)
        ok = pass(g, 0, err);
    else
        ok = argc > 4 && cuda_native(g->dev, &context, &stream, err) && cupti_session_open(context, 0, &s, err) &&
             sweep_named(g, s, argv[4], now_s() - began, err);
    if (ok && plain)
        printf("plain %d kernels %.6f s\n", g->repeat, now_s() - began);
    if (!ok)
        printf("WRONG  %s\nhint: %s\n", err->text, err->hint);
    cupti_session_close(s);
    return !ok;
}

int main(int argc, char **argv)
{
    struct gpu g = {.only = -1};
    struct cupti_session *s = NULL;
    struct counter_groups groups = {0};
    struct counter_set set = {0};
    struct cupti_counts counts = {0};
    struct error err = {0};
    void *context, *stream;
    int wrong = 0;
    if (!set_up(&g, argc > 1 ? argv[1] : "tests/gpu/counters.cu", &err) || !cuda_native(g.dev, &context, &stream, &err) ||
        !counter_groups_load(NULL, NULL, &groups, &err))
        goto failed;
    if (argc > 2)
        return other_mode(&g, argc, argv, &err);
    double began = now_s();
    if (!cupti_session_open(context, 0, &s, &err))
        goto failed;
    printf("%s, %s, session opened in %.3g s\n", g.dev->about, cupti_path(), now_s() - began);
    struct counter_chip chip = {cupti_name(cupti_session_chip(s)), has, cupti_session_chip(s)};
    if (!counter_set_make((const struct counter_group *const *)groups.items, groups.count, NULL, 0, &chip, &set, &err))
        goto failed;
    for (int again = 0; again < 2; again++) {
        cupti_counts_free(&counts);
        began = now_s();
        struct cupti_job job = {
            .metrics = set.metrics, .metric_count = (size_t)set.count, .range_max = KERNELS, .pass = pass, .context = &g};
        if (!cupti_count(s, &job, &counts, &err))
            goto failed;
        printf("all groups: %d metrics, %d passes, %d kernels in %.3g s\n", set.count, counts.passes, KERNELS, now_s() - began);
        wrong += check(&g, &set, &counts);
    }
    for (int k = 0; k < KERNELS; k++)
        counter_set_each(&set, measured_of(&counts, kernels[k].name), NULL, print_value, (void *)kernels[k].name);
    if (!sweep(&g, s, &groups, &chip, &err))
        goto failed;
    printf("%d wrong\n", wrong);
    goto done;
failed:
    printf("WRONG  %s\nhint: %s\n", err.text, err.hint);
    wrong = 1;
done:
    cupti_counts_free(&counts);
    counter_set_free(&set);
    counter_groups_free(&groups);
    cupti_session_close(s);
    return wrong != 0;
}
