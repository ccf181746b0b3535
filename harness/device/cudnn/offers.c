/* The plans that cuDNN's heuristics offer for a graph, and which of them the math mode permits. */
#include "base/phase.h"
#include "base/pool.h"
#include "base/text.h"
#include "device/cudnn/private.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RESULTS_MAX 256
#define KNOBS_MAX 32
#define BEHAVIORS_MAX 8          /* at most NOTE_COUNT */
#define NARROWED "BIAS_NARROWED" /* among the notes: the bias is given in 16 bits */

/* Engine configurations of one heuristic mode, best first. */
struct offer {
    char mode;
    void *heuristic;
    void *configurations[RESULTS_MAX];
    int count;
};

static bool get(const struct cudnn_api *api, void *d, enum cudnn_attribute name, enum cudnn_type type, int64_t wanted, int64_t *count,
                void *values)
{
    int64_t got = 0;
    bool ok = api->cudnnBackendGetAttribute(d, (int)name, (int)type, wanted, &got, values) == STATUS_SUCCESS;
    if (count)
        *count = ok ? got : 0;
    return ok;
}

static bool set(const struct cudnn_api *api, void *d, enum cudnn_attribute name, enum cudnn_type type, int64_t count, const void *values)
{
    return api->cudnnBackendSetAttribute(d, (int)name, (int)type, count, values) == STATUS_SUCCESS;
}

static void offer_close(const struct cudnn_api *api, struct offer *o)
{
    for (int i = 0; i < o->count; i++)
        if (o->configurations[i])
            api->cudnnBackendDestroyDescriptor(o->configurations[i]);
    if (o->heuristic)
        api->cudnnBackendDestroyDescriptor(o->heuristic);
    o->count = 0;
    o->heuristic = NULL;
}

/* Count stays 0 if the mode offers nothing for this graph. */
static void offer_open(struct cudnn *h, struct cudnn_graph *g, char name, int mode, struct offer *o)
{
    const struct cudnn_api *api = h->api;
    int64_t found = 0;
    *o = (struct offer){.mode = name};
    if (api->cudnnBackendCreateDescriptor(DESCRIPTOR_ENGINEHEUR, &o->heuristic) != STATUS_SUCCESS)
        return;
    bool ok = set(api, o->heuristic, ATTR_ENGINEHEUR_OPERATION_GRAPH, TYPE_BACKEND_DESCRIPTOR, 1, &g->operations) &&
              set(api, o->heuristic, ATTR_ENGINEHEUR_MODE, TYPE_HEUR_MODE, 1, &mode) &&
              (!h->properties || set(api, o->heuristic, ATTR_ENGINEHEUR_DEVICEPROP, TYPE_BACKEND_DESCRIPTOR, 1, &h->properties)) &&
              api->cudnnBackendFinalize(o->heuristic) == STATUS_SUCCESS &&
              get(api, o->heuristic, ATTR_ENGINEHEUR_RESULTS, TYPE_BACKEND_DESCRIPTOR, 0, &found, NULL);
    if (!ok)
        return;
    int wanted = found < RESULTS_MAX ? (int)found : RESULTS_MAX;
    while (o->count < wanted && api->cudnnBackendCreateDescriptor(DESCRIPTOR_ENGINECFG, &o->configurations[o->count]) == STATUS_SUCCESS)
        o->count++;
    if (o->count && !get(api, o->heuristic, ATTR_ENGINEHEUR_RESULTS, TYPE_BACKEND_DESCRIPTOR, o->count, &found, o->configurations))
        found = 0;
    while (o->count > found)
        api->cudnnBackendDestroyDescriptor(o->configurations[--o->count]);
}

static const char *knob_name(int knob, char *unknown, size_t bytes)
{
    static const char *const names[] = {/* by cuDNN's number of the knob */
                                        "SPLIT_K",
                                        "SWIZZLE",
                                        "TILE_SIZE",
                                        "USE_TEX",
                                        "EDGE",
                                        "KBLOCK",
                                        "LDGA",
                                        "LDGB",
                                        "CHUNK_K",
                                        "SPLIT_H",
                                        "WINO_TILE",
                                        "MULTIPLY",
                                        "SPLIT_K_BUF",
                                        "TILEK",
                                        "STAGES",
                                        "REDUCTION_MODE",
                                        "CTA_SPLIT_K_MODE",
                                        "SPLIT_K_SLC",
                                        "IDX_MODE",
                                        "SLICED",
                                        "SPLIT_RS",
                                        "SINGLEBUFFER",
                                        "LDGC",
                                        "SPECFILT",
                                        "KERNEL_CFG",
                                        "WORKSPACE",
                                        "TILE_CGA",
                                        "CGA_M",
                                        "CGA_N",
                                        "BLOCK_SIZE",
                                        "OCCUPANCY",
                                        "ARRAY_SIZE_PER_THREAD",
                                        "NUM_C_PER_BLOCK",
                                        "SPLIT_COLS",
                                        "TILE_ROWS",
                                        "TILE_COLS",
                                        "LOAD_SIZE",
                                        "CTA_COUNT",
                                        "STREAM_K",
                                        "SPLIT_P_SLC",
                                        "TILE_M",
                                        "TILE_N",
                                        "WARP_SPEC_CFG",
                                        "SWAP_AB"};
    if (knob >= 0 && knob < (int)(sizeof names / sizeof *names) && names[knob])
        return names[knob];
    snprintf(unknown, bytes, "KNOB%d", knob);
    return unknown;
}

static void describe_knobs(const struct cudnn_api *api, void *configuration, struct text *t)
{
    void *choices[KNOBS_MAX] = {0};
    int made = 0;
    int64_t count = 0; /* asked for its count alone, this attribute answers 0: offer more than enough */
    while (made < KNOBS_MAX && api->cudnnBackendCreateDescriptor(DESCRIPTOR_KNOB_CHOICE, &choices[made]) == STATUS_SUCCESS)
        made++;
    if (made && get(api, configuration, ATTR_ENGINECFG_KNOB_CHOICES, TYPE_BACKEND_DESCRIPTOR, made, &count, choices))
        for (int i = 0; i < made && i < count; i++) {
            int knob = -1;
            int64_t value = 0;
            char unknown[24];
            if (get(api, choices[i], ATTR_KNOB_CHOICE_KNOB_TYPE, TYPE_KNOB_TYPE, 1, NULL, &knob) &&
                get(api, choices[i], ATTR_KNOB_CHOICE_KNOB_VALUE, TYPE_INT64, 1, NULL, &value))
                text_addf(t, " %s=%lld", knob_name(knob, unknown, sizeof unknown), (long long)value);
        }
    for (int i = 0; i < made; i++)
        api->cudnnBackendDestroyDescriptor(choices[i]);
}

/* Engine, knobs and numerical notes of a configuration; false when it does not say. */
static bool cudnn_plan_describe(struct cudnn *h, void *configuration, bool narrow_bias, struct cudnn_plan_facts *facts, unsigned *notes)
{
    static const char *const names[NOTE_COUNT] = {"TENSOR_CORE",
                                                  "DOWN_CONVERT_INPUTS",
                                                  "REDUCED_PRECISION_REDUCTION",
                                                  "FFT",
                                                  "NONDETERMINISTIC",
                                                  "WINOGRAD",
                                                  "WINOGRAD_TILE_4x4",
                                                  "WINOGRAD_TILE_6x6",
                                                  "WINOGRAD_TILE_13x13",
                                                  "STRICT_NAN_PROP"};
    const struct cudnn_api *api = h->api;
    void *engine = NULL;
    int64_t index = -1, count = 0;
    int list[NOTE_COUNT];
    struct text t = {0};
    if (api->cudnnBackendCreateDescriptor(DESCRIPTOR_ENGINE, &engine) != STATUS_SUCCESS)
        return false;
    bool ok = get(api, configuration, ATTR_ENGINECFG_ENGINE, TYPE_BACKEND_DESCRIPTOR, 1, NULL, &engine) &&
              get(api, engine, ATTR_ENGINE_GLOBAL_INDEX, TYPE_INT64, 1, NULL, &index);
    *notes = 0;
    if (ok) {
        facts->engine = (int)index;
        if (!get(api, engine, ATTR_ENGINE_NUMERICAL_NOTE, TYPE_NUMERICAL_NOTE, NOTE_COUNT, &count, list))
            count = 0;
        for (int64_t i = 0; i < count && i < NOTE_COUNT; i++)
            if (list[i] >= 0 && list[i] < NOTE_COUNT) {
                *notes |= 1u << list[i];
                text_addf(&t, "%s%s", t.len ? " " : "", names[list[i]]);
            }
        if (narrow_bias)
            text_addf(&t, "%s" NARROWED, t.len ? " " : "");
        if (!get(api, engine, ATTR_ENGINE_BEHAVIOR_NOTE, TYPE_BEHAVIOR_NOTE, BEHAVIORS_MAX, &count, list))
            count = 0;
        facts->compiled = false;
        for (int64_t i = 0; i < count && i < BEHAVIORS_MAX; i++)
            facts->compiled |= list[i] == BEHAVIOR_RUNTIME_COMPILATION;
        snprintf(facts->notes, sizeof facts->notes, "%s", text_get(&t));
        text_free(&t);
        text_addf(&t, "engine %d", facts->engine);
        describe_knobs(api, configuration, &t);
        snprintf(facts->text, sizeof facts->text, "%s", text_get(&t));
        text_free(&t);
    }
    api->cudnnBackendDestroyDescriptor(engine);
    return ok;
}

bool cudnn_plan_sums(const struct cudnn_plan_facts *facts)
{
    return !strstr(facts->notes, "FFT") && !strstr(facts->notes, "WINOGRAD");
}

/* What a math mode permits. f32: IEEE products, so neither tensor cores nor narrower inputs. tf32: tensor cores, but on f32 inputs. 16-bit
 * modes with f32 sums: no engine with less precise sums. f16_acc16: anything. */
bool cudnn_obeys(enum math math, unsigned notes)
{
    bool tensor = notes & 1u << NOTE_TENSOR_CORE, narrow = notes & 1u << NOTE_DOWN_CONVERT_INPUTS,
         low = notes & 1u << NOTE_REDUCED_PRECISION_REDUCTION;
    switch (math) {
    case MATH_F32: return !tensor && !narrow && !low;
    case MATH_TF32: return !narrow && !low;
    case MATH_F16_ACC32:
    case MATH_BF16_ACC32: return !low;
    default: return true;
    }
}

/* NULL: the device refuses what the heuristics offered. */
static void *plan_finalize(struct cudnn *h, void *handle, void *const *configuration)
{
    const struct cudnn_api *api = h->api;
    void *plan = NULL;
    if (api->cudnnBackendCreateDescriptor(DESCRIPTOR_EXECUTION_PLAN, &plan) != STATUS_SUCCESS)
        return NULL;
    if (set(api, plan, ATTR_EXECUTION_PLAN_ENGINE_CONFIG, TYPE_BACKEND_DESCRIPTOR, 1, configuration) &&
        (!handle || set(api, plan, ATTR_EXECUTION_PLAN_HANDLE, TYPE_HANDLE, 1, &handle)) &&
        (!h->properties || set(api, plan, ATTR_EXECUTION_PLAN_DEVICEPROP, TYPE_BACKEND_DESCRIPTOR, 1, &h->properties)) &&
        api->cudnnBackendFinalize(plan) == STATUS_SUCCESS)
        return plan;
    api->cudnnBackendDestroyDescriptor(plan);
    return NULL;
}

/* The same; takes the configuration when it is not refused. */
static struct cudnn_plan *plan_make(struct cudnn *h, void *handle, struct cudnn_graph *g, const struct cudnn_conv *conv,
                                    void **configuration, const struct cudnn_plan_facts *facts)
{
    const struct cudnn_api *api = h->api;
    int64_t workspace = 0;
    void *found = facts->compiled && handle ? cudnn_compiled_find(h, handle, conv, facts) : NULL,
         *plan = found ? found : plan_finalize(h, handle, configuration);
    if (!plan)
        return NULL;
    if (!get(api, plan, ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, TYPE_INT64, 1, NULL, &workspace) || workspace < 0) {
        api->cudnnBackendDestroyDescriptor(plan);
        return NULL;
    }
    if (facts->compiled && !found)
        cudnn_compiled_keep(h, conv, facts, plan);
    struct cudnn_plan *p = xcalloc(1, sizeof *p);
    *p = (struct cudnn_plan){.api = api, .graph = g, .configuration = *configuration, .plan = plan, .facts = *facts, .users = 1};
    p->facts.workspace_bytes = (uint64_t)workspace;
    p->tensors = 1u << UID_X | 1u << UID_W | 1u << UID_Y | (conv->bias ? 1u << UID_BIAS : 0) | (conv->residual ? 1u << UID_RESIDUAL : 0);
    *configuration = NULL; /* the plan's now */
    return p;
}

/* A permitted configuration, and the plan made of it. */
struct candidate {
    void **configuration;
    struct cudnn_plan_facts facts;
    struct cudnn_plan *plan;
};
struct plan_list {
    struct cudnn_plan **items;
    char (*seen)[sizeof((struct cudnn_plan_facts *)0)->text]; /* texts of all configurations so far, to skip duplicates */
    int count, seen_count, disobedient, refused;
};

/* Is this one to be made? */
static bool consider(struct cudnn *h, struct cudnn_graph *g, const struct cudnn_conv *conv, struct offer *o, int rank,
                     struct plan_list *list, struct candidate *out)
{
    unsigned notes;
    *out = (struct candidate){.configuration = &o->configurations[rank], .facts = {.mode = o->mode, .rank = rank}};
    if (!cudnn_plan_describe(h, o->configurations[rank], g->bias_is_narrow, &out->facts, &notes))
        return false;
    if (ANY_OF(i, list->seen_count, strcmp(list->seen[i], out->facts.text) == 0))
        return false;
    memcpy(list->seen[list->seen_count++], out->facts.text, sizeof out->facts.text);
    if (!cudnn_allows(h, &out->facts))
        return false;
    bool obeys = cudnn_obeys(conv->math, notes);
    list->disobedient += !obeys;
    return obeys;
}

struct making {
    struct cudnn *h;
    struct cudnn_graph *graph;
    const struct cudnn_conv *conv;
    struct candidate *candidates;
};

static void make_one(void *context, int64_t i, int thread)
{
    struct making *m = context;
    struct candidate *c = &m->candidates[i];
    void *handle = cudnn_handle_of(m->h, thread);
    if (handle || !m->h->handle)
        c->plan = plan_make(m->h, handle, m->graph, m->conv, c->configuration, &c->facts);
}

/* Makes as many plans as are still wanted concurrently, since one with a compiled kernel takes half a second; refused ones are replaced
 * from the following candidates. The list therefore does not depend on the number of threads. */
static void make_all(struct making *m, int count, int most, struct plan_list *list)
{
    for (int first = 0, batch; first < count && list->count < most; first += batch) {
        batch = count - first < most - list->count ? count - first : most - list->count;
        struct making part = *m;
        part.candidates = m->candidates + first;
        pool_for(batch, cudnn_handles(m->h, batch), make_one, &part);
        for (int i = first; i < first + batch; i++) {
            struct candidate *c = &m->candidates[i];
            list->refused += !c->plan;
            if (!c->plan)
                continue;
            m->graph->users++;
            list->items[list->count++] = c->plan;
        }
    }
}

static bool check_conv(const struct cudnn_conv *c, struct error *err)
{
    bool f32 = c->dtype == DTYPE_F32, f16 = c->dtype == DTYPE_F16, bf16 = c->dtype == DTYPE_BF16, i8 = c->dtype == DTYPE_I8;
    if (!f32 && !f16 && !bf16 && !i8)
        return error_set(err, ERROR_USAGE, "cuDNN has no convolution for %s", dtype_name(c->dtype));
    if (c->layout != LAYOUT_NHWC && c->layout != LAYOUT_NCHW)
        return error_set(err, ERROR_USAGE, "cuDNN has no convolution for layout %s", layout_name(c->layout));
    bool fits = f32   ? c->math == MATH_F32 || c->math == MATH_TF32
                : f16 ? c->math == MATH_F16_ACC32 || c->math == MATH_F16_ACC16
                : i8  ? c->math == MATH_I8_ACC32
                      : c->math == MATH_BF16_ACC32;
    if (!fits)
        return error_set(err, ERROR_USAGE, "cuDNN's convolution of %s data has no math mode %s", dtype_name(c->dtype), math_name(c->math));
    if (c->groups < 1 || c->c % c->groups || c->k % c->groups)
        return error_set(err, ERROR_USAGE, "%lld groups do not divide %lld and %lld channels", (long long)c->groups, (long long)c->c,
                         (long long)c->k);
    return true;
}

static struct phase_clock *clock_of(const struct cudnn *h)
{
    return h->dev ? h->dev->clock : NULL;
}

/* The offers of all heuristics for a graph, sorted by rank, so that the first ones hold the best of each mode. */
struct offering {
    struct cudnn_graph *graph;
    struct offer offers[3];
    struct candidate candidates[3 * RESULTS_MAX];
    int count;
};

/* NULL: it is not a graph for cuDNN. */
static struct offering *offering_open(struct cudnn *h, const struct cudnn_conv *conv, bool narrow_bias, struct plan_list *list,
                                      struct error *err)
{
    static const struct {
        char name;
        int mode;
    } modes[] = {{'A', HEURISTIC_A}, {'B', HEURISTIC_B}, {'F', HEURISTIC_FALLBACK}};
    struct cudnn_graph *g = cudnn_graph_make(h, conv, narrow_bias, err);
    if (!g)
        return NULL;
    struct offering *o = xcalloc(1, sizeof *o);
    o->graph = g;
    int ranks = 0;
    phase_part(clock_of(h), "heuristics");
    for (int m = 0; m < 3; m++) {
        offer_open(h, g, modes[m].name, modes[m].mode, &o->offers[m]);
        ranks = o->offers[m].count > ranks ? o->offers[m].count : ranks;
    }
    for (int rank = 0; rank < ranks; rank++)
        for (int m = 0; m < 3; m++)
            if (rank < o->offers[m].count)
                o->count += consider(h, g, conv, &o->offers[m], rank, list, &o->candidates[o->count]);
    phase_pop(clock_of(h));
    return o;
}

static void offering_close(struct cudnn *h, struct offering *o)
{
    for (int m = 0; m < 3; m++)
        offer_close(h->api, &o->offers[m]);
    cudnn_graph_release(o->graph);
    free(o);
}

/* All plans of one graph into the list. False when it is not a graph for cuDNN. */
static bool offer_all(struct cudnn *h, const struct cudnn_conv *conv, bool narrow_bias, int most, struct plan_list *list, struct error *err)
{
    struct offering *o = offering_open(h, conv, narrow_bias, list, err);
    if (!o)
        return false;
    phase_part(clock_of(h), "made");
    make_all(&(struct making){h, o->graph, conv, o->candidates}, o->count, most, list);
    phase_pop(clock_of(h));
    offering_close(h, o);
    return true;
}

/* Precompiled engines need a bias of the data's type; engines that compile their kernel (seconds each) take it as f32. */
static bool takes_narrow(const struct cudnn_conv *conv)
{
    return conv->bias && (conv->dtype == DTYPE_F16 || conv->dtype == DTYPE_BF16);
}

/* How many plans of that part have a kernel that the cache lacks; `makes`: compiles them. */
static int compile_missing(struct cudnn *h, const struct cudnn_conv *conv, int most, int part, int parts, bool makes)
{
    struct error ignored = {0}; /* it comes again, and is told, when the plans are asked for */
    struct plan_list list = {.seen = xcalloc(6 * RESULTS_MAX, sizeof *list.seen)};
    int offered = 0, nth = 0, missing = 0;
    for (int wide = !takes_narrow(conv); wide < 2 && !offered && check_conv(conv, &ignored); wide++) {
        struct offering *o = offering_open(h, conv, !wide, &list, &ignored);
        offered = o ? o->count : 0;
        for (int i = 0; i < offered && i < most; i++) {
            const struct candidate *c = &o->candidates[i];
            if (!c->facts.compiled || nth++ % parts != part || cudnn_compiled_has(h, conv, &c->facts))
                continue;
            missing++;
            void *plan = makes ? plan_finalize(h, h->handle, c->configuration) : NULL;
            if (!plan)
                continue;
            cudnn_compiled_keep(h, conv, &c->facts, plan);
            h->api->cudnnBackendDestroyDescriptor(plan);
        }
        if (o)
            offering_close(h, o);
    }
    free(list.seen);
    return missing;
}

void cudnn_compile(struct cudnn *h, const struct cudnn_conv *conv, int most, int part, int parts)
{
    for (int i = 0; i < h->seen_count; i++)
        if (h->seen[i].part == part && cudnn_conv_same(&h->seen[i].conv, conv))
            return;
    __typeof__(h->seen) one = APPEND(h->seen, h->seen_count);
    one->conv = *conv;
    one->part = part;
    compile_missing(h, conv, most, part, parts, true);
}

/* Only cuDNN's first plan, with which rows are checked: it is needed again for many rows of a network. */
static int first_plan(struct cudnn *h, const struct cudnn_conv *conv, struct cudnn_plan ***plans)
{
    struct cudnn_plan *made = h->only ? NULL : cudnn_cache_find(h, conv, NULL, NULL);
    if (!made)
        return 0;
    *plans = xcalloc(1, sizeof **plans);
    (*plans)[0] = made;
    return 1;
}

int cudnn_plans(struct cudnn *h, const struct cudnn_conv *conv, int most, struct cudnn_plan ***plans, struct error *err)
{
    *plans = NULL;
    if (most <= 0 || !check_conv(conv, err))
        return 0;
    if (most == 1 && first_plan(h, conv, plans))
        return 1;
    struct cudnn_prefetched *stock = cudnn_prefetched_find(h, conv, most);
    if (stock) {
        int count = stock->count;
        *plans = stock->plans;
        *stock = h->prefetched[--h->prefetched_count];
        return count;
    }
    struct plan_list list = {.items = xcalloc((size_t)most, sizeof *list.items), .seen = xcalloc(6 * RESULTS_MAX, sizeof *list.seen)};
    bool narrow = takes_narrow(conv);
    bool known = offer_all(h, conv, narrow, most, &list, err);
    if (list.count == 0 && narrow) {
        list.seen_count = 0;
        known = offer_all(h, conv, false, most, &list, err) || known;
    }
    if (known && list.count == 0 && h->only)
        error_set(err, ERROR_USAGE, "cuDNN does not support engine %d here, although its heuristic %c lists it at place %d",
                  h->only->engine, h->only->heuristic, h->only->rank);
    else if (known && list.count == 0 && list.disobedient)
        error_set(err, ERROR_ENVIRONMENT, "cuDNN has no engine for this layer under math %s (%d under another math, %d refused)",
                  math_name(conv->math), list.disobedient, list.refused);
    else if (known && list.count == 0)
        error_set(err, ERROR_ENVIRONMENT, "cuDNN has no engine for this layer with this epilogue (%d offered, all refused)", list.refused);
    free(list.seen);
    if (list.count) {
        error_clear(err);
        if (most == 1 && !h->only)
            cudnn_cache_keep(h, conv, list.items[0])->first = true;
        *plans = list.items;
    } else {
        free(list.items);
    }
    return list.count;
}

struct cudnn_plan *cudnn_plan_again(struct cudnn *h, const struct cudnn_conv *conv, const struct cudnn_plan_facts *wanted,
                                    struct error *err)
{
    int mode = wanted->mode == 'A' ? HEURISTIC_A : wanted->mode == 'B' ? HEURISTIC_B : HEURISTIC_FALLBACK;
    struct cudnn_plan *made = cudnn_cache_find(h, conv, wanted->text, NULL);
    if (made)
        return made;
    struct cudnn_graph *g = cudnn_graph_make(h, conv, strstr(wanted->notes, NARROWED) != NULL, err);
    if (!g)
        return NULL;
    SCOPED struct offer *offer = xcalloc(1, sizeof *offer);
    offer_open(h, g, wanted->mode, mode, offer);
    for (int i = 0; i < offer->count && !made; i++) {
        struct cudnn_plan_facts facts = {.mode = wanted->mode, .rank = i};
        unsigned notes;
        if (cudnn_plan_describe(h, offer->configurations[i], g->bias_is_narrow, &facts, &notes) && !strcmp(facts.text, wanted->text))
            made = plan_make(h, h->handle, g, conv, &offer->configurations[i], &facts);
    }
    offer_close(h->api, offer);
    g->users += made != NULL;
    cudnn_graph_release(g);
    if (made)
        cudnn_cache_keep(h, conv, made);
    else
        error_set(err, ERROR_ENVIRONMENT, "cuDNN does not return %s a second time", wanted->text);
    return made;
}

void cudnn_prefetch(struct cudnn *h, const struct cudnn_conv *conv, int most, bool compiles)
{
    struct cudnn_prefetched made = {.conv = *conv, .most = most};
    struct error ignored = {0}; /* it comes again, and is told, when the row's turn comes */
    if (cudnn_prefetched_find(h, conv, most) || (!compiles && h->builder && compile_missing(h, conv, most, 0, 1, false)) ||
        (made.count = cudnn_plans(h, conv, most, &made.plans, &ignored)) < 1)
        return;
    cudnn_cache_keep(h, conv, made.plans[0])->first = true;
    *APPEND(h->prefetched, h->prefetched_count) = made;
}
