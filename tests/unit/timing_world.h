/* A worker on emu with a simulated clock: kernels really run and are checked, and each takes the virtual time that its name states. So
 * every printed time and ratio is known. */
#ifndef BENCH_TESTS_TIMING_WORLD_H
#define BENCH_TESTS_TIMING_WORLD_H

#include "base/clock.h"
#include "op/shape.h"
#include "noise.h"
#include "variant_folder.h"
#include "virtual_clock.h"
#include "run/message/options.h"
#include "run/child/serve.h"
#include "run/child/worker.h"
#include "run/message/wire.h"
#include "leaks.h"
#include <math.h>

#define FLUSH_NS 74000.0

/* ---- the clock ---- */

static struct timing {
    const char *dtype, *layer, *more_layers; /* NULL: f32; what is else to be said of it; layers beside it */
    const char *seed;                        /* of what is drawn; NULL: 0 */
    void (*opened)(struct worker *w),
        (*ends)(struct worker *w); /* NULL: nothing is to be done when the worker is set up, or before it ends */
    const struct device_ops *emu;
    struct device_ops ops;
    double noise;
    const char *noisy; /* the kernel that alone has it; NULL: all */
    struct {
        struct device_function *function;
        struct device_module *module;
        char name[64];
    } known[1024];
    int known_count;
    int calls, fail_at; /* of launches, flushes and events; the device is lost from then on (0: never) */
    bool once;          /* that call alone fails */
    const char *fails;  /* a kernel that cannot be launched from its `fails_from`th launch on; negative: in that one alone */
    int fails_from, asked;
    const char *spoils; /* in its `spoils_at`th launch the input of this kernel is changed */
    int spoils_at, spoilt;
    int kept_at, keeper;               /* before that launch of conv_state, of so many, something is put into its module; 0: never */
    const char *idle;                  /* a kernel of this name does nothing from its `idle_from`th launch on */
    int idle_from, launches, idled_at; /* idled_at: the call in which it first does nothing */
    int sleeps_at;                     /* for more than a second of the host's, in that one */
    double slept_s;
    const char *replays; /* ... computes from its `idle_from`th launch on what its first one was given */
    uint64_t first_input;
    const char *whole;                                   /* the network is timed in place of its layer, with this variant on every link */
    const char *whole_best;                              /* and this one where it runs its best; NULL: the same */
    bool tune;                                           /* configurations race */
    double (*times)(const struct device_launch *launch); /* what a launch costs, in those of its kernel; NULL: 1 */
    bool stamps, may_fail, no_events;
    bool next;       /* the same rows come next */
    double budget_s; /* of a gate */
    size_t pads[64]; /* between sittings */
    uint64_t pads_at[64];
    int pad_count, pads_given_back, no_pad; /* for the `no_pad`th there is no room; 0: there is */
    double longest_run, longest[2];         /* s that a first run was given, and a stage of the timed loop: of rows, and of nobody's */
    int loads, plans;                       /* rows that were said to load, and to choose among plans */
    unsigned told;                          /* rows, by bit, that were said to be timed */
    const char *versus[2][2];               /* rows that are the two sides of a gate; NULL: none */
    bool wiped, ran_wiped;                  /* what my/prepared has prepared; and it ran so */
    double host_ns;                         /* that conv_fast and conv_prep wait for their host */
    bool unheld;                            /* all that is held runs out */
    int stamped, low_of;                    /* so many stamps are high, so many low, and again; 0: every fifth is low */
} timing;

static const struct {
    const char *kernel;
    double ns;
} costs[] = {{"conv_slow", 200000}, {"conv_fast", 100000}, {"conv_ours", 80000},  {"conv_brief", 4000}, {"conv_state", 200000},
             {"conv_even", 90000},  {"conv_odd", 90000},   {"conv_after", 60000}, {"conv_prep", 5000},  {"convert_flat", 7000}};

static bool timed_function(struct device *dev, struct device_module *module, const char *name, struct device_function **f,
                           struct error *err)
{
    if (!timing.emu->function(dev, module, name, f, err))
        return false;
    assert_true(timing.known_count < 1024);
    timing.known[timing.known_count].function = *f;
    timing.known[timing.known_count].module = module;
    snprintf(timing.known[timing.known_count++].name, sizeof timing.known[0].name, "%s", name);
    return true;
}
/* Budgets are in host time, which here is the simulated time: other work on this machine does not use them up. It starts at a large value,
 * like a machine's clock, so 0 is before everything. */
#define HOST_BEGAN_S 1e5
double clock_s(void)
{
    return HOST_BEGAN_S + virtual_clock.now_ns / 1e9 + timing.slept_s;
}
double clock_thread_s(void)
{
    return clock_s();
}
void clock_rest(long ns)
{
    timing.slept_s += ns / 1e9;
}
/* What was queued into a graph runs when the graph does. */
static struct queued {
    const struct device_graph *graph; /* NULL: of the one that is being captured */
    struct device_function *function;
    struct device_launch launch;
    char params[512];
} * queue;
static int queued;

static bool alive(struct error *err)
{
    bool lost = timing.fail_at && (timing.once ? ++timing.calls == timing.fail_at : ++timing.calls >= timing.fail_at);
    return !lost || error_set(err, ERROR_WRONG, "the device is lost");
}
static bool timed_launch(struct device *dev, struct device_function *f, const struct device_launch *l, struct error *err)
{
    const char *name = "";
    struct device_module *module = NULL;
    if (!alive(err))
        return false;
    for (int i = 0; i < timing.known_count; i++)
        if (timing.known[i].function == f) {
            name = timing.known[i].name; /* the last one: addresses come again */
            module = timing.known[i].module;
        }
    if (!strcmp(name, "conv_state") && ++timing.keeper == timing.kept_at) {
        uint64_t kept_there, bytes = 0;
        assert_true(timing.emu->symbol(dev, module, "kept", &kept_there, &bytes, err) && bytes == sizeof(int));
        assert_true(timing.emu->write(dev, kept_there, &(int){1}, sizeof(int), err));
    }
    if (timing.fails && !strcmp(name, timing.fails) && ++timing.asked >= abs(timing.fails_from) &&
        (timing.fails_from >= 0 || timing.asked == -timing.fails_from))
        return error_set(err, ERROR_WRONG, "%s is refused", name);
    timing.wiped = timing.wiped && strcmp(name, "conv_prep") != 0;
    timing.ran_wiped |= timing.wiped && !strcmp(name, "conv_after");
    if (!strcmp(name, "conv_fast") || !strcmp(name, "conv_prep"))
        clock_queues(timing.host_ns);
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++)
        if (!strcmp(name, costs[i].kernel))
            spend(costs[i].ns * (timing.times ? timing.times(l) : 1) *
                  exp((timing.noisy && strcmp(name, timing.noisy) ? 0 : timing.noise) * noise_normal()));
    if (timing.sleeps_at && timing.idle && !strcmp(name, timing.idle) && timing.launches + 1 == timing.sleeps_at)
        timing.slept_s += 1.05;
    if (timing.idle && !strcmp(name, timing.idle) && ++timing.launches >= timing.idle_from) {
        timing.idled_at = timing.idled_at ? timing.idled_at : timing.calls;
        return true;
    }
    if (timing.spoils && !strcmp(name, timing.spoils) && ++timing.spoilt == timing.spoils_at) {
        uint64_t input;
        memcpy(&input, l->params, sizeof input);
        assert_true(timing.emu->write(dev, input, &(float){77}, sizeof(float), err));
    }
    char params[512];
    struct device_launch other = *l;
    if (timing.replays && !strcmp(name, timing.replays) && l->param_bytes <= sizeof params) {
        memcpy(params, l->params, l->param_bytes);
        if (!timing.launches++)
            memcpy(&timing.first_input, params, sizeof timing.first_input);
        if (timing.launches >= timing.idle_from)
            memcpy(params, &timing.first_input, sizeof timing.first_input);
        other.params = params;
        return timing.emu->launch(dev, f, &other, err);
    }
    if (!virtual_clock.capturing)
        return timing.emu->launch(dev, f, l, err);
    assert_true(l->param_bytes <= sizeof queue->params);
    queue = xrealloc(queue, sizeof *queue * (size_t)(queued + 1));
    queue[queued] = (struct queued){.function = f, .launch = *l};
    memcpy(queue[queued++].params, l->params, l->param_bytes);
    return true;
}
static bool graph_end(struct device *dev, struct device_graph **graph, struct error *err)
{
    clock_graph_end(dev, graph, err);
    for (int i = 0; i < queued; i++)
        queue[i].graph = queue[i].graph ? queue[i].graph : *graph;
    return true;
}
static bool graph_launch(struct device *dev, struct device_graph *graph, struct error *err)
{
    for (int i = 0; i < queued; i++) {
        struct device_launch l = queue[i].launch;
        l.params = queue[i].params;
        if (queue[i].graph == graph && !timing.emu->launch(dev, queue[i].function, &l, err))
            return false;
    }
    spend(graph->ns * exp(timing.noise * noise_normal()));
    return true;
}
static void graph_free(struct device *dev, struct device_graph *graph)
{
    int kept = 0;
    for (int i = 0; i < queued; i++)
        if (queue[i].graph != graph)
            queue[kept++] = queue[i];
    queued = kept;
    clock_graph_free(dev, graph);
}
static bool timed_record(struct device *dev, struct device_event *e, struct error *err)
{
    return alive(err) && clock_record(dev, e, err);
}
static bool timed_flush(struct device *dev, struct error *err)
{
    return alive(err) && clock_flush(dev, err);
}

static int timing_allocated; /* buffers that are there */
static bool timed_alloc(struct device *dev, const char *label, size_t bytes, uint64_t *address, struct error *err)
{
    if (!strcmp(label, "pad") && timing.pad_count + 1 == timing.no_pad)
        return error_set(err, ERROR_ENVIRONMENT, "there is no room");
    bool made = alive(err) && timing.emu->alloc(dev, label, bytes, address, err);
    if (made && !strcmp(label, "pad") && timing.pad_count < 64) {
        timing.pads_at[timing.pad_count] = *address;
        timing.pads[timing.pad_count++] = bytes;
    }
    timing_allocated += made;
    return made;
}
static void timed_release(struct device *dev, uint64_t address)
{
    timing_allocated--;
    for (int i = 0; i < timing.pad_count; i++)
        if (timing.pads_at[i] == address) {
            timing.pads_given_back++;
            timing.pads_at[i] = 0;
        }
    timing.emu->release(dev, address);
}
static bool timed_load(struct device *dev, const struct device_image *image, struct device_module **module, struct error *err)
{
    return alive(err) && timing.emu->load(dev, image, module, err);
}
static bool timed_read(struct device *dev, uint64_t address, void *to, size_t bytes, struct error *err)
{
    return alive(err) && timing.emu->read(dev, address, to, bytes, err);
}
static bool timed_write(struct device *dev, uint64_t address, const void *from, size_t bytes, struct error *err)
{
    return alive(err) && timing.emu->write(dev, address, from, bytes, err);
}
static bool timed_fill(struct device *dev, uint64_t address, uint32_t pattern, size_t bytes, struct error *err)
{
    timing.wiped |= bytes == 32 * sizeof(float);
    return alive(err) && timing.emu->fill(dev, address, pattern, bytes, err);
}
static bool timed_sync(struct device *dev, struct error *err)
{
    assert_false(virtual_clock.held); /* or the GPU would wait for who waits for it */
    return alive(err) && timing.emu->sync(dev, err);
}
static bool timed_event(struct device *dev, struct device_event **e, struct error *err)
{
    return !timing.no_events ? alive(err) && clock_event(dev, e, err) : error_set(err, ERROR_ENVIRONMENT, "no more events");
}

static bool timed_stamp(struct device *dev, int slot, struct error *err)
{
    return alive(err);
}
/* Of every fifth sample, and when that is taken again, of the next one, lower. */
static double stamped_hz(struct device *dev, int from, int to)
{
    int nth = timing.stamped++;
    if (timing.low_of)
        return nth / timing.low_of % 2 ? 1.5e9 : 1.98e9;
    return nth % 5 == 4 ? 1.5e9 : 1.98e9;
}

static void give_clock(struct device *dev)
{
    timing.emu = dev->ops;
    timing.ops = *dev->ops;
    timing.ops.function = timed_function;
    timing.ops.launch = timed_launch;
    clock_give(&timing.ops, FLUSH_NS);
    virtual_clock.runs_out = timing.unheld;
    timing.ops.graph_end = graph_end;
    timing.ops.graph_launch = graph_launch;
    timing.ops.graph_free = graph_free;
    timing.ops.alloc = timed_alloc;
    timing.ops.release = timed_release;
    timing.ops.load = timed_load;
    timing.ops.read = timed_read;
    timing.ops.write = timed_write;
    timing.ops.fill = timed_fill;
    timing.ops.sync = timed_sync;
    timing.ops.event = timed_event;
    timing.ops.record = timed_record;
    timing.ops.flush = timed_flush;
    if (timing.stamps) {
        timing.ops.stamp = timed_stamp;
        timing.ops.stamped_hz = stamped_hz;
    }
    dev->ops = &timing.ops;
}

/* ---- a worker with rows ---- */

/* Copies of conv2d/naive whose kernel has another name; a file called cudnn... stands for the library. */
static int set_up(void **state)
{
    static const char *const names[][2] = {{"cudnn_slow", "conv_slow"}, {"cudnn_fast", "conv_fast"}, {"ours", "conv_ours"},
                                           {"brief", "conv_brief"},     {"prepared", "conv_after"},  {"even", "conv_even"},
                                           {"odd", "conv_odd"},         {"keeper", "conv_state"},    {"masked", "conv_even"}};
    static const char first[] =
        "  - kernel: conv_prep\n    grid: 1\n    block: 32\n    args: x\nscratch:\n  x: f32[32]\n", /* naive has `prepare` */
        kernel[] = "\nextern \"C\" __global__ void conv_prep(float *x) { x[threadIdx.x] = 1; }\n";
    struct error err = {0};
    size_t bytes;
    char *naive = file_read("kernels/variants/conv2d/naive.cu", 1 << 20, &bytes, &err);
    bool ok = naive && variant_folder_open();
    for (int i = 0; ok && i < 9; i++) {
        struct text t = {0};
        for (const char *at = naive, *next; *at; at = next) {
            next = strstr(at, "conv_naive");
            text_addf(&t, "%.*s%s", (int)(next ? next - at : (long)strlen(at)), at, next ? names[i][1] : "");
            next = next ? next + strlen("conv_naive") : at + strlen(at);
        }
        if (i == 4) { /* with a step that runs once, before */
            char *steps = strstr(t.data, "steps:\n"),
                 *whole = text_format("%.*s%s%s%s", (int)(steps - t.data), t.data, first, steps, kernel);
            text_free(&t);
            text_add(&t, whole);
            free(whole);
        }
        if (i == 8) { /* it leaves what is not marked */
            char *steps = strstr(t.data, "steps:\n"),
                 *whole = text_format("%.*smask: {needs: input, tile: [1, 1]}\n%s", (int)(steps - t.data), t.data, steps);
            text_free(&t);
            text_add(&t, whole);
            free(whole);
        }
        if (i == 7) { /* its code looks at a variable of its module */
            char *begin = strstr(t.data, "extern \"C\""), *body = strstr(begin, "\n{\n"),
                 *whole = text_format("%.*s__device__ int kept;\n%.*s\n{\n    if (kept == 7)\n        return;\n%s", (int)(begin - t.data),
                                      t.data, (int)(body - begin), begin, body + 3);
            text_free(&t);
            text_add(&t, whole);
            free(whole);
        }
        ok = variant_put(names[i][0], &t);
    }
    free(naive);
    return !ok;
}

#define ROWS_MOST 32
struct result {
    struct row *rows[ROWS_MOST];
    char names[ROWS_MOST][64], configs[ROWS_MOST][64];
    int count, blamed; /* row; -1 */
    bool ok;
    struct error err;
};

static void take(void *context, json_t *event)
{
    struct result *r = context;
    const char *name = json_string_value(json_object_get(event, "event"));
    if (name && !strcmp(name, "row"))
        wire_row_merge(json_object_get(event, FRAME_PACKED), r->rows[json_integer_value(json_object_get(event, "row"))]);
    if (name && !strcmp(name, "blame"))
        r->blamed = (int)json_integer_value(json_object_get(event, "row"));
    const char *stage = json_string_value(json_object_get(event, "stage"));
    if (stage && !strcmp(stage, "run"))
        timing.longest_run = fmax(timing.longest_run, json_number_value(json_object_get(event, "limit")));
    timing.loads += stage && !strcmp(stage, "load");
    timing.plans += stage && !strcmp(stage, "plans");
    if (stage && !strcmp(stage, "time")) {
        int row = (int)json_integer_value(json_object_get(event, "row"));
        double *longest = &timing.longest[row < 0];
        timing.told |= row < 0 ? 0 : 1u << row;
        *longest = fmax(*longest, json_number_value(json_object_get(event, "limit")));
    }
    json_decref(event);
}

static int layer_of(const struct plan *plan, const char *variant)
{
    int layer = -1;
    for (int i = 0; i < plan->row_count; i++)
        if (plan->rows[i].kind == PLAN_LAYER && !strcmp(plan_row_variant(&plan->rows[i]), variant))
            layer = i;
    return layer;
}

/* Rows as the two sides of a gate: a `measure` is told of them beside. */
static void add_gate(json_t *measure, const struct plan *plan)
{
    json_t *pairs = json_array();
    for (int i = 0; i < 2 && timing.versus[i][0]; i++)
        json_array_append_new(pairs, json_pack("[i,i,f]", layer_of(plan, timing.versus[i][0]), layer_of(plan, timing.versus[i][1]), 0.01));
    json_auto_t *gate = json_pack("{s:o,s:i,s:f,s:f}", "pairs", pairs, "library_row", layer_of(plan, "my/cudnn_fast"), "alpha", 0.001,
                                  "budget", timing.budget_s);
    if (json_array_size(pairs))
        json_object_update(measure, gate);
}

/* The networks run whole, on variants that were chosen. */
static json_t *whole(const struct plan *plan, json_t *rows)
{
    json_t *choices = json_array();
    for (int i = 0; i < plan->row_count; i++) {
        const char *name = plan_row_variant(&plan->rows[i]);
        bool best = timing.whole_best && !strcmp(name, "chain/best");
        if (plan->rows[i].kind != PLAN_CHAIN || strncmp(name, "chain/", 6) != 0)
            continue;
        json_array_append_new(rows, json_integer(i));
        json_t *links = json_array();
        for (int k = 0; k < plan->rows[i].chain->work->chain->count; k++)
            json_array_append_new(links, json_integer(plan->rows[i].chain->work->chain->links[k].layer < 0
                                                          ? -1 /* a change of layout */
                                                          : layer_of(plan, best ? timing.whole_best : timing.whole)));
        json_array_append_new(choices, json_pack("[i,o]", i, links));
    }
    return choices;
}

/* The device and what checks on it, from one worker to the next: to make them is half of what a worker takes. */
static struct {
    struct device *dev;
    struct card *card;
    bool known;
    int allocated; /* buffers of the card */
} kept;
static void take_kept(struct worker *w)
{
    w->data.card = kept.card;
    w->data.card_tried = kept.card != NULL;
    kept.dev = NULL;
    kept.card = NULL;
}
static void keep(struct worker *w)
{
    kept.dev = w->job.dev;
    kept.card = w->data.card;
    w->job.dev = NULL;
    w->data.card = NULL;
    kept.dev->clock = NULL;
}
static int tear_down(void **state)
{
    card_close(kept.card);
    if (kept.dev)
        device_close(kept.dev);
    return variant_folder_remove(state);
}

/* Times the variants (a YAML list) of one small layer. */
static struct result timed(const char *variants, const char *time)
{
    char *text = text_format("scenario: t\n"
                             "layers: {a: {op: conv2d, n: 1, c: 2, h: 6, w: 8, k: 2, kernel: 3, pad: 1, dtype: %s, layout: NCHW%s}%s}\n"
                             "variants: %s\ntime: %s\n",
                             timing.dtype ? timing.dtype : "f32", timing.layer ? timing.layer : "",
                             timing.more_layers ? timing.more_layers : "", variants, time);
    char *path = text_file(text), *set = text_format("my=%s", variant_folder);
    const char *const dirs[] = {set, NULL};
    const struct plan_options options = {
        .scenario_path = path, .device = "emu:GH100", .variant_dirs = dirs, .tune = timing.tune, .seed = timing.seed};
    struct result r = {.blamed = -1};
    struct error err = {0};
    struct worker w;
    worker_init(&w, take, &r);
    w.job.dev = kept.dev;
    json_t *rows = json_array(), *setup;
    struct plan plan;
    if (!plan_make(&options, "emu", chip_find("GH100"), &plan, &err))
        fail_msg("%s", err.text);
    setup = json_pack("{s:s,s:o,s:o,s:s,s:f}", "do", "setup", "options", options_write(&options), "chip", wire_chip(chip_find("GH100")),
                      "files", plan.files, "time_limit", 60.0);
    if (!worker_handle(&w, setup, &err))
        fail_msg("%s", err.text);
    take_kept(&w);
    give_clock(w.job.dev);
    for (int i = 0; i < plan.row_count && i < ROWS_MOST; i++) {
        r.rows[i] = row_new();
        snprintf(r.names[i], sizeof r.names[i], "%s", plan_row_variant(&plan.rows[i]));
        snprintf(r.configs[i], sizeof r.configs[i], "%s", plan.rows[i].config ? plan.rows[i].config->label : "");
        if (!timing.whole && plan.rows[i].kind == PLAN_LAYER && !plan.rows[i].broken && plan.rows[i].facts.feasible &&
            !strncmp(r.names[i], "my/", 3))
            json_array_append_new(rows, json_integer(i));
    }
    r.count = plan.row_count;
    if (timing.opened)
        timing.opened(&w);
    json_t *choices = timing.whole ? whole(&plan, rows) : json_array();
    json_t *measure = json_pack("{s:s,s:O,s:o,s:o*}", "do", timing.tune ? "race" : "measure", "rows", rows, "choices", choices, "next",
                                timing.next ? json_deep_copy(rows) : NULL);
    add_gate(measure, &plan);
    json_decref(rows);
    bool may_fail = timing.may_fail || timing.fails || timing.fail_at;
    if (may_fail)
        leaks_are_looked_for(false);
    r.ok = worker_handle(&w, measure, &r.err);
    if (may_fail)
        leaks_are_looked_for(true);
    if (!r.ok && !may_fail)
        fail_msg("%s", r.err.text);
    json_decref(measure);
    json_decref(setup);
    if (timing.ends)
        timing.ends(&w);
    if (r.ok) /* else it may be lost, with all that is on it */
        keep(&w);
    else
        w.job.dev->ops = timing.emu;
    worker_close(&w);
    if (r.ok) {
        kept.dev->ops = timing.emu;
        kept.allocated = kept.known ? kept.allocated : timing_allocated;
        kept.known = true;
        assert_int_equal(timing_allocated, kept.allocated); /* nothing but the checks' own is left of a group */
    } else {
        kept.known = false;
        timing_allocated = 0;
    }
    plan_free(&plan);
    unlink(path);
    free(path);
    free(set);
    free(text);
    return r;
}

static const struct row *row_of(const struct result *r, const char *name)
{
    for (int i = 0; i < r->count; i++)
        if (!strcmp(r->names[i], name))
            return r->rows[i];
    fail_msg("no row %s", name);
    return NULL;
}

static const struct row_time *time_of(const struct result *r, const char *name, const char *cache, const char *load)
{
    const struct row_time *t = row_time(row_of(r, name), mode_of(cache, load));
    if (!t)
        fail_msg("%s has no time %s, %s (%d, %s)", name, cache, load, row_of(r, name)->status,
                 row_of(r, name)->reason ? row_of(r, name)->reason : "");
    return t;
}

static void let_go(struct result *r)
{
    for (int i = 0; i < r->count; i++)
        row_free(r->rows[i]);
}

static void begin(void)
{
    need_compiler();
    timing = (struct timing){.noise = 0};
    noise_state = 31;
}

#endif
