/* worker/time on emu with a clock of its own: kernels run for real and are checked for real, and each takes the virtual time that its name
 * stands for. So it is known what every printed time and ratio must be. */
#include "op/shape.h"
#include "noise.h"
#include "variant_folder.h"
#include "virtual_clock.h"
#include "message/options.h"
#include "worker/private.h"
#include <limits.h>
#include <math.h>
#include <sys/wait.h>

#define FLUSH_NS 74000.0

/* ---- the clock ---- */

static struct world {
    const struct device_ops *emu;
    struct device_ops ops;
    double noise;
    struct {
        struct device_function *function;
        char name[64];
    } known[32];
    int known_count;
    int calls, fail_at; /* of launches, flushes and events; the device is lost from then on (0: never) */
    const char *fails;  /* a kernel that cannot be launched */
    const char *idle;   /* a kernel of this name does nothing from its `idle_from`th launch on */
    int idle_from, launches;
    const char *whole; /* the network is timed in place of its layer, with this variant on every link */
    bool stamps;
    int stamped, low_of; /* so many stamps are high, so many low, and again; 0: every fifth is low */
} world;

static const struct {
    const char *kernel;
    double ns;
} costs[] = {{"conv_slow", 200000}, {"conv_fast", 100000}, {"conv_ours", 80000},
             {"conv_brief", 4000},  {"conv_after", 60000}, {"conv_prep", 5000}};

static bool function(struct device *dev, struct device_module *module, const char *name, struct device_function **f, struct error *err)
{
    if (!world.emu->function(dev, module, name, f, err))
        return false;
    assert_true(world.known_count < 32);
    world.known[world.known_count].function = *f;
    snprintf(world.known[world.known_count++].name, sizeof world.known[0].name, "%s", name);
    return true;
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
    return !world.fail_at || ++world.calls < world.fail_at || error_set(err, ERROR_WRONG, "the device is lost");
}
static bool launch(struct device *dev, struct device_function *f, const struct device_launch *l, struct error *err)
{
    const char *name = "";
    if (!alive(err))
        return false;
    for (int i = 0; i < world.known_count; i++)
        if (world.known[i].function == f)
            name = world.known[i].name; /* the last one: addresses come again */
    if (world.fails && !strcmp(name, world.fails))
        return error_set(err, ERROR_WRONG, "%s is refused", name);
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++)
        if (!strcmp(name, costs[i].kernel))
            spend(costs[i].ns * exp(world.noise * noise_normal()));
    if (world.idle && !strcmp(name, world.idle) && ++world.launches >= world.idle_from)
        return true;
    if (!virtual_clock.capturing)
        return world.emu->launch(dev, f, l, err);
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
        if (queue[i].graph == graph && !world.emu->launch(dev, queue[i].function, &l, err))
            return false;
    }
    return clock_graph_launch(dev, graph, err);
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
static bool record(struct device *dev, struct device_event *e, struct error *err)
{
    return alive(err) && clock_record(dev, e, err);
}
static bool flush(struct device *dev, struct error *err)
{
    return alive(err) && clock_flush(dev, err);
}

static bool stamp(struct device *dev, int slot, struct error *err)
{
    return alive(err);
}
/* Of every fifth sample, and when that is taken again, of the next one, lower. */
static double stamped_hz(struct device *dev, int from, int to)
{
    int nth = world.stamped++;
    if (world.low_of)
        return nth / world.low_of % 2 ? 1.5e9 : 1.98e9;
    return nth % 5 == 4 ? 1.5e9 : 1.98e9;
}

static void give_clock(struct device *dev)
{
    world.emu = dev->ops;
    world.ops = *dev->ops;
    world.ops.function = function;
    world.ops.launch = launch;
    clock_give(&world.ops, FLUSH_NS);
    world.ops.graph_end = graph_end;
    world.ops.graph_launch = graph_launch;
    world.ops.graph_free = graph_free;
    world.ops.record = record;
    world.ops.flush = flush;
    if (world.stamps) {
        world.ops.stamp = stamp;
        world.ops.stamped_hz = stamped_hz;
    }
    dev->ops = &world.ops;
}

/* ---- a worker with rows ---- */

/* Copies of conv2d/naive whose kernel has another name; a file called cudnn... stands for the library. */
static int set_up(void **state)
{
    static const char *const names[][2] = {{"cudnn_slow", "conv_slow"},
                                           {"cudnn_fast", "conv_fast"},
                                           {"ours", "conv_ours"},
                                           {"brief", "conv_brief"},
                                           {"prepared", "conv_after"}};
    static const char first[] = "scratch:\n  x: f32[32]\nprepare:\n  - kernel: conv_prep\n    grid: 1\n    block: 32\n    args: x\n",
                      kernel[] = "\nextern \"C\" __global__ void conv_prep(float *x) { x[threadIdx.x] = 1; }\n";
    struct error err = {0};
    size_t bytes;
    char *naive = file_read("kernels/variants/conv2d/naive.cu", 1 << 20, &bytes, &err);
    bool ok = naive && variant_folder_open("");
    for (int i = 0; ok && i < 5; i++) {
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
        ok = variant_put(names[i][0], &t);
    }
    free(naive);
    return !ok;
}

#define ROWS_MOST 8
struct result {
    struct row *rows[ROWS_MOST];
    char names[ROWS_MOST][64];
    int count, blamed; /* row; -1 */
    bool ok;
    struct error err;
};

static void take(void *context, json_t *event)
{
    struct result *r = context;
    const char *name = json_string_value(json_object_get(event, "event"));
    if (name && !strcmp(name, "row"))
        wire_row_merge(json_object_get(event, "fields"), r->rows[json_integer_value(json_object_get(event, "row"))]);
    if (name && !strcmp(name, "blame"))
        r->blamed = (int)json_integer_value(json_object_get(event, "row"));
    json_decref(event);
}

/* Two rows as the two sides of a gate: NULL, or what a `measure` is told of them beside. */
static const char *versus[2];
static json_t *gate_of(const struct plan *plan)
{
    int at[2] = {-1, -1}, library = -1;
    if (!versus[0])
        return NULL;
    for (int i = 0; i < plan->row_count; i++) {
        const char *name = plan_row_variant(&plan->rows[i]);
        for (int k = 0; k < 2; k++)
            at[k] = !strcmp(name, versus[k]) ? i : at[k];
        library = !strcmp(name, "my/cudnn_fast") ? i : library;
    }
    return json_pack("{s:[{s:i,s:i,s:f}],s:i,s:f,s:f}", "pairs", "base", at[0], "head", at[1], "margin", 0.01, "library", library, "alpha",
                     0.001, "budget", 60.0);
}

/* The networks run whole, and on each of their links `variant`. */
static json_t *whole(const struct plan *plan, const char *variant, json_t *rows)
{
    json_t *choices = json_object();
    int layer = -1;
    for (int i = 0; i < plan->row_count; i++) {
        char number[16];
        if (plan->rows[i].kind == PLAN_LAYER && !strcmp(plan_row_variant(&plan->rows[i]), variant))
            layer = i;
        if (plan->rows[i].kind != PLAN_CHAIN || strncmp(plan_row_variant(&plan->rows[i]), "chain/", 6) != 0)
            continue;
        json_array_append_new(rows, json_integer(i));
        json_t *links = json_array();
        for (int k = 0; k < plan->rows[i].chain->work->chain->count; k++)
            json_array_append_new(links, json_integer(layer));
        snprintf(number, sizeof number, "%d", i);
        json_object_set_new(choices, number, links);
    }
    return choices;
}

/* Times the variants (a YAML list) of one small layer. */
static struct result timed(const char *variants, const char *time)
{
    char *text = text_format("scenario: t\n"
                             "layers: {a: {op: conv2d, n: 1, c: 2, h: 6, w: 8, k: 2, kernel: 3, pad: 1, dtype: f32, layout: NCHW}}\n"
                             "variants: %s\ntime: %s\n",
                             variants, time);
    char *path = text_file(text), *set = text_format("my=%s", variant_folder);
    const char *const dirs[] = {set, NULL};
    const struct plan_options options = {.scenario_path = path, .device = "emu:GH100", .variant_dirs = dirs};
    struct result r = {.blamed = -1};
    struct error err = {0};
    struct worker w;
    worker_init(&w, take, &r);
    json_t *rows = json_array(), *setup;
    struct plan plan;
    if (!plan_make(&options, "emu", chip_find("GH100"), &plan, &err))
        fail_msg("%s", err.text);
    setup = json_pack("{s:s,s:o,s:o,s:s,s:f}", "do", "setup", "options", options_write(&options), "chip", wire_chip(chip_find("GH100")),
                      "files", plan.files, "time_limit", 60.0);
    if (!worker_handle(&w, setup, &err))
        fail_msg("%s", err.text);
    give_clock(w.dev);
    for (int i = 0; i < plan.row_count && i < ROWS_MOST; i++) {
        r.rows[i] = row_new();
        snprintf(r.names[i], sizeof r.names[i], "%s", plan_row_variant(&plan.rows[i]));
        if (!world.whole && plan.rows[i].kind == PLAN_LAYER && !plan.rows[i].broken && plan.rows[i].program.feasible &&
            !strncmp(r.names[i], "my/", 3))
            json_array_append_new(rows, json_integer(i));
    }
    r.count = plan.row_count;
    json_t *choices = world.whole ? whole(&plan, world.whole, rows) : json_object();
    json_t *measure = json_pack("{s:s,s:o,s:o,s:o*}", "do", "measure", "rows", rows, "choices", choices, "gate", gate_of(&plan));
    r.ok = worker_handle(&w, measure, &r.err);
    if (!r.ok && !world.fail_at && !world.fails)
        fail_msg("%s", r.err.text);
    json_decref(measure);
    json_decref(setup);
    w.dev->ops = world.emu;
    worker_close(&w);
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
    const struct row_time *t = row_time(row_of(r, name), cache, load);
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
    world = (struct world){.noise = 0};
    noise_state = 31;
}

/* Whatever the order of the rows, the denominator is the fastest of the library's, and a time is what the kernel takes, without the flush.
 */
static void ratios_are_to_the_fastest_of_the_library(void **state)
{
    static const char *const orders[] = {"[my/cudnn_slow, my/ours, my/cudnn_fast]", "[my/cudnn_fast, my/cudnn_slow, my/ours]"};
    for (int i = 0; i < 2; i++) {
        begin();
        struct result r = timed(orders[i], "{rounds: [12, 12]}");
        const struct row_time *slow = time_of(&r, "my/cudnn_slow", "cold", "isolated"), *ours = time_of(&r, "my/ours", "cold", "isolated"),
                              *fast = time_of(&r, "my/cudnn_fast", "cold", "isolated");
        assert_true(fabs(slow->median_ns - 200000) < 1 && fabs(fast->median_ns - 100000) < 1 && fabs(ours->median_ns - 80000) < 1);
        assert_true(fabs(ours->ratio - 1.25) < 1e-9 && fabs(slow->ratio - 0.5) < 1e-9 && fast->ratio == 1);
        assert_true(fabs(ours->ratio_low - 1.25) < 1e-9 && fabs(fast->ratio_low - 1) < 1e-9 && fabs(fast->ratio_high - 1) < 1e-9);
        assert_true(ours->rounds == 12 && row_of(&r, "my/ours")->status == ROW_OK);
        let_go(&r);
    }
}

static int placements_of(const struct row_time *t)
{
    int count = 0;
    for (int i = 0; i < t->rounds; i++)
        count += !i || t->places[i] != t->places[i - 1];
    return count;
}

/* What the next `count` functions were that a bout loaded, from number `at`, by kernel. */
static bool was_loaded(int at, const char *first, const char *second, const char *third)
{
    const char *const names[] = {first, second, third};
    bool same = true;
    for (int i = 0; i < 3 && names[i]; i++)
        same = same && !strcmp(world.known[at + i].name, names[i]);
    return same;
}

/* Two builds sit down three times at least, loaded the other way round each time, and get up when it is decided: 20 % in 15 rounds, in
 * which evidence must be strong. */
static void pairs_sit_down_until_decided(void **state)
{
    versus[0] = "my/cudnn_slow";
    versus[1] = "my/ours";
    begin();
    world.noise = 0.01;
    struct result r = timed("[my/cudnn_fast, my/cudnn_slow, my/ours]", "{}");
    const struct row_time *base = time_of(&r, "my/cudnn_slow", "cold", "isolated"), *head = time_of(&r, "my/ours", "cold", "isolated");
    assert_true(base->rounds == head->rounds && base->rounds >= 15 && base->rounds <= 21);
    assert_true(placements_of(base) == 3 && placements_of(head) == 3);
    int first = world.known_count - 7; /* the library's once; before them those that check */
    assert_true(first >= 0 && was_loaded(first, "conv_fast", "conv_slow", "conv_ours"));
    assert_true(was_loaded(first + 3, "conv_ours", "conv_slow", "conv_slow") && was_loaded(first + 6, "conv_ours", NULL, NULL));
    assert_true(fabs(head->median_ns / base->median_ns - 0.4) < 0.01);
    let_go(&r);
    versus[0] = versus[1] = NULL;
}

/* Who is right at first and idle later is wrong in this, too. */
static void a_pair_is_looked_at(void **state)
{
    versus[0] = "my/cudnn_slow";
    versus[1] = "my/ours";
    begin();
    world.idle = "conv_ours";
    world.idle_from = 30;
    struct result r = timed("[my/cudnn_fast, my/cudnn_slow, my/ours]", "{}");
    assert_true(row_of(&r, "my/ours")->status == ROW_WRONG && row_of(&r, "my/ours")->time_count == 0);
    assert_true(row_of(&r, "my/cudnn_slow")->status == ROW_OK);
    let_go(&r);
    versus[0] = versus[1] = NULL;
}

/* 1 % a round: A/A says how far two times of the same lie apart, which is more than nothing and less than 3 %; without noise it is 0. */
static void the_twin_says_how_noisy_it_is(void **state)
{
    begin();
    struct result r = timed("[my/cudnn_fast, my/ours]", "{rounds: [40, 40]}");
    assert_true(row_of(&r, "my/ours")->noise < 1e-9);
    let_go(&r);
    begin();
    world.noise = 0.01;
    r = timed("[my/cudnn_fast, my/ours]", "{rounds: [40, 40]}");
    const struct row_time *t = time_of(&r, "my/ours", "cold", "isolated");
    double noise = row_of(&r, "my/ours")->noise;
    assert_true(noise > 0.001 && noise < 0.03 && noise == row_of(&r, "my/cudnn_fast")->noise);
    assert_true(t->ratio_low < t->ratio && t->ratio < t->ratio_high && t->ratio_low > 1.2 && t->ratio_high < 1.3);
    assert_true(t->low_ns < t->median_ns && t->median_ns < t->high_ns && t->p05_ns < t->low_ns && t->high_ns < t->p95_ns);
    let_go(&r);
}

/* Every round says where it was taken and at what clock; what nobody knows is absent. */
static void rounds_say_their_conditions(void **state)
{
    for (int clock = 0; clock < 2; clock++) {
        bool places[6] = {0};
        begin();
        world.stamps = clock;
        struct result r = timed("[my/cudnn_fast, my/ours]", "{rounds: [60, 60]}");
        const struct row_time *t = time_of(&r, "my/ours", "cold", "isolated"), *other = time_of(&r, "my/cudnn_fast", "cold", "isolated");
        assert_int_equal(t->rounds, 60);
        assert_non_null(t->places);
        for (int i = 0; i < 60; i++) {
            assert_true(t->places[i] >= 0 && t->places[i] < 6 && t->places[i] == other->places[i]);
            places[(int)t->places[i]] = true;
            assert_true(!clock || t->clock_hz[i] == 1.98e9);
        }
        for (int i = 0; i < 6; i++)
            assert_true(places[i]);
        assert_true(clock ? t->retaken + other->retaken > 20 && t->kept_low == 0 : t->retaken == -1 && t->kept_low == -1 && !t->clock_hz);
        assert_true(!t->power_w && !t->throttle); /* no board */
        let_go(&r);
    }
}

/* A card whose clock is held down for half of the time: the samples that began there all three times stand, and the row says so. */
static void a_low_clock_is_said(void **state)
{
    begin();
    world.stamps = true;
    world.low_of = 60;
    struct result r = timed("[my/cudnn_fast, my/ours]", "{rounds: [80, 80]}");
    const struct row_time *t = time_of(&r, "my/ours", "cold", "isolated");
    char *words = text_format("%d of 80 samples began at a lower clock than a rested card's", t->kept_low);
    assert_true(t->kept_low > 8 && t->kept_low < 40);
    assert_non_null(row_of(&r, "my/ours")->note);
    assert_non_null(strstr(row_of(&r, "my/ours")->note, words));
    free(words);
    let_go(&r);
    begin();
    world.stamps = true; /* one in five, taken again: nothing to say */
    r = timed("[my/cudnn_fast, my/ours]", "{rounds: [80, 80]}");
    assert_true(!row_of(&r, "my/ours")->note || !strstr(row_of(&r, "my/ours")->note, "lower clock"));
    let_go(&r);
}

/* Right when it is verified and idle later: nobody is believed because of what he did before he was timed; nor in his last launch of all,
 * which nobody times. */
static void who_stops_working_is_wrong(void **state)
{
    for (int i = 0, idle_from = INT_MAX; i < 3; i++) {
        begin();
        world.idle = "conv_ours";
        world.idle_from = idle_from;
        struct result r = timed("[my/cudnn_fast, my/ours]", "{rounds: [12, 12]}");
        const struct row *ours = row_of(&r, "my/ours");
        assert_true(ours->status == (i ? ROW_WRONG : ROW_OK) && row_of(&r, "my/cudnn_fast")->status == ROW_OK);
        assert_true(!i || (strstr(ours->reason, "(after the timed loop)") != NULL) == (i == 1));
        idle_from = i ? 12 : world.launches;
        let_go(&r);
    }
}

/* A network run whole sees several sets of inputs like any row; one that stops working once it was believed is found out. */
static void a_network_is_timed_on_several_inputs(void **state)
{
    for (int idle = 0; idle < 2; idle++) {
        begin();
        world.whole = "my/ours";
        world.idle = idle ? "conv_ours" : NULL;
        world.idle_from = 20;
        struct result r = timed("[my/cudnn_fast, my/ours]", "{rounds: [40, 40]}\nnetworks: {net: {order: [{repeat: 2, of: [a]}]}}");
        const struct row *best = row_of(&r, "chain/best");
        const struct row_time *t = row_time(best, "cold", "isolated");
        bool places[6] = {false};
        assert_int_equal(best->status, idle ? ROW_WRONG : ROW_OK);
        for (int i = 0; !idle && i < t->rounds; i++)
            places[(int)t->places[i]] = true;
        for (int i = 0; !idle && i < 6; i++)
            assert_true(places[i]);
        assert_true(idle || fabs(t->median_ns - 160000) < 1);
        let_go(&r);
    }
}

/* Where a network runs as a graph a short row is timed in one too, a long one is not. */
static void short_rows_are_timed_in_a_graph(void **state)
{
    begin();
    struct result r = timed("[my/cudnn_fast, my/brief]", "{rounds: [12, 12]}");
    assert_null(row_time(row_of(&r, "my/brief"), "warm", "sustained")); /* nobody asked */
    let_go(&r);
    begin();
    r = timed("[my/cudnn_fast, my/brief]", "{rounds: [12, 12]}\nnetworks: {net: {order: [a], launch: [graph]}}");
    assert_true(fabs(time_of(&r, "my/brief", "cold", "isolated")->median_ns - 4000) < 1);
    assert_true(fabs(time_of(&r, "my/brief", "warm", "sustained")->median_ns - 4000) < 1);
    assert_null(row_time(row_of(&r, "my/cudnn_fast"), "warm", "sustained"));
    let_go(&r);
}

/* A budget that is spent leaves a note; a measurement that ends because everything is known does not. */
static void an_early_end_is_said(void **state)
{
    begin();
    world.noise = 0.05;
    struct result r = timed("[my/cudnn_fast, my/ours]", "{rounds: [10, 15], half_width: 0.1 %}");
    const struct row *ours = row_of(&r, "my/ours");
    assert_true(ours->note && strstr(ours->note, "its budget ended at 15 rounds: an interval is still wider than 0.1 %"));
    let_go(&r);
    begin();
    r = timed("[my/cudnn_fast, my/ours]", "{rounds: [10, 15]}");
    ours = row_of(&r, "my/ours");
    assert_true(!ours->note || !strstr(ours->note, "stopped"));
    assert_int_equal(time_of(&r, "my/ours", "cold", "isolated")->rounds, 10);
    let_go(&r);
}

/* Every mode that is asked for, and no other. */
static void modes_are_those_asked_for(void **state)
{
    begin();
    struct result r = timed("[my/cudnn_fast, my/ours]", "{rounds: [12, 12], cache: [cold, warm], load: [isolated, sustained]}");
    const struct row *ours = row_of(&r, "my/ours");
    assert_int_equal(ours->time_count, 3);
    assert_true(fabs(time_of(&r, "my/ours", "cold", "isolated")->median_ns - 80000) < 1);
    assert_true(fabs(time_of(&r, "my/ours", "warm", "isolated")->median_ns - 80000) < 1);
    assert_true(fabs(time_of(&r, "my/ours", "warm", "sustained")->median_ns - 80000) < 1);
    for (int i = 0; i < 3; i++)
        assert_int_equal(ours->times[i].step, -1);
    let_go(&r);
}

/* In a process of its own, as a worker is: what a lost device holds is not given back. 0: the error was told and blamed on the row (NULL:
 * anyone), 1: all was reported as well, 2: something else. */
static int lost(int at, const char *kernel, const char *row)
{
    int status, child = fork();
    if (child == 0) {
        begin();
        world.fail_at = at;
        world.fails = kernel;
        struct result r = timed("[my/cudnn_fast, my/prepared]", "{rounds: [6, 6]}");
        bool blamed = !row || (r.blamed >= 0 && !strcmp(r.names[r.blamed], row));
        _exit(r.ok ? 1 : blamed && strstr(r.err.text, kernel ? "is refused" : "the device is lost") ? 0 : 2);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

/* A device that is lost at any call ends the measurement: nothing is reported as if it had gone well. A kernel that is refused is named. */
static void a_lost_device_is_noticed(void **state)
{
    begin();
    world.fail_at = 1 << 30;
    struct result r = timed("[my/cudnn_fast, my/prepared]", "{rounds: [6, 6]}");
    int calls = world.calls;
    assert_true(r.ok && calls > 40);
    assert_true(fabs(row_of(&r, "my/prepared")->prepare_ns - 5000) < 1 && isnan(row_of(&r, "my/cudnn_fast")->prepare_ns));
    assert_true(fabs(time_of(&r, "my/prepared", "cold", "isolated")->median_ns - 60000) < 1); /* without it */
    let_go(&r);
    for (int at = 1; at < calls; at += at < 12 ? 1 : 1 + calls / 12)
        if (lost(at, NULL, NULL))
            fail_msg("lost at call %d of %d and not noticed", at, calls);
    assert_int_equal(lost(0, "conv_after", "my/prepared"), 0);
    assert_int_equal(lost(0, "conv_prep", "my/prepared"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ratios_are_to_the_fastest_of_the_library),
        cmocka_unit_test(pairs_sit_down_until_decided),
        cmocka_unit_test(a_pair_is_looked_at),
        cmocka_unit_test(the_twin_says_how_noisy_it_is),
        cmocka_unit_test(rounds_say_their_conditions),
        cmocka_unit_test(who_stops_working_is_wrong),
        cmocka_unit_test(a_low_clock_is_said),
        cmocka_unit_test(a_network_is_timed_on_several_inputs),
        cmocka_unit_test(short_rows_are_timed_in_a_graph),
        cmocka_unit_test(an_early_end_is_said),
        cmocka_unit_test(modes_are_those_asked_for),
        cmocka_unit_test(a_lost_device_is_noticed),
    };
    return cmocka_run_group_tests(tests, set_up, variant_folder_remove);
}
