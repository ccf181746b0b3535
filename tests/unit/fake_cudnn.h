/* A stand-in for cuDNN and for the device that converts a bias. The test defines its engines, notes, refusals and failures. Included after
 * cmocka.h. */
#ifndef BENCH_TESTS_FAKE_CUDNN_H
#define BENCH_TESTS_FAKE_CUDNN_H

#include "device/cudnn/private.h"
#include <stdlib.h>
#include <string.h>

#define MOST 300

/* An engine configuration that a heuristic offers. */
struct offered {
    int engine, workspace;
    bool refused;
    int notes[4], note_count; /* -1 and NOTE_COUNT are notes that nobody knows */
    int knobs[2][2], knob_count;
    bool compiled; /* its kernel is compiled when a plan is made */
};
/* A descriptor of the stand-in: its type, its attributes, and the descriptor it belongs to.
 */
struct fake {
    int type;
    bool final;
    int names[16], types[16], count;
    int64_t elements[16];
    unsigned char values[16][64];
    const struct offered *of;
    const struct fake *graph; /* of a configuration, and of a plan made of it */
    int knob;
};
static struct world {
    struct offered list[4][MOST]; /* by number of the heuristic; HEURISTIC_A is 3 */
    int counts[4];
    bool narrow_offers_nothing, wide_offers_nothing, narrow_is_no_graph, is_no_graph, lists_nothing, is_no_pack;
    int no_more; /* the type that cannot be made once `room` of it are there; 0:
                    none */
    int room;
    int alive, packs, narrowed; /* descriptors; packs that were made; conversions of a bias */
    bool narrow;                /* of the last graph */
    int64_t uids[5], uid_count;
    uint64_t pointers[5], workspace;
    int executed, asked[4];
    int compiled, read; /* plans that were compiled; that came out of a text */
    bool reads_nothing;
    int maker; /* the GPU that makes plans; texts of another one are refused, unless it is 0 */
} world;

static const unsigned char *attribute(const struct fake *d, int name, int64_t *count)
{
    for (int i = d->count - 1; i >= 0; i--)
        if (d->names[i] == name) {
            if (count)
                *count = d->elements[i];
            return d->values[i];
        }
    return NULL;
}

static int create(int type, void **out)
{
    if (world.no_more && type == world.no_more && world.room-- <= 0)
        return STATUS_NOT_SUPPORTED;
    struct fake *d = calloc(1, sizeof *d);
    d->type = type;
    *out = d;
    world.alive++;
    world.packs += type == DESCRIPTOR_VARIANT_PACK;
    return STATUS_SUCCESS;
}

static int destroy(void *d)
{
    assert_non_null(d);
    world.alive--;
    free(d);
    return STATUS_SUCCESS;
}

static int set(void *descriptor, int name, int type, int64_t count, const void *values)
{
    struct fake *d = descriptor;
    if (type == TYPE_CHAR) { /* a plan's text: whose it is */
        ptrdiff_t at;
        int maker;
        assert_int_equal(name, ATTR_EXECUTION_PLAN_JSON_REPRESENTATION);
        if (world.reads_nothing || count != (int64_t)strlen(values) || sscanf(values, "{\"plan\":%td,\"gpu\":%d}", &at, &maker) != 2 ||
            (world.maker && maker != world.maker))
            return STATUS_NOT_SUPPORTED;
        d->of = &world.list[0][0] + at;
        world.read++;
        return STATUS_SUCCESS;
    }
    size_t bytes = (size_t)count * (type == TYPE_DATA_TYPE || type == TYPE_HEUR_MODE || type == TYPE_POINTWISE_MODE ||
                                            type == TYPE_CONVOLUTION_MODE || type == TYPE_FLOAT
                                        ? 4
                                    : type == TYPE_BOOLEAN ? 1
                                                           : 8);
    assert_true(!d->final && d->count < 16 && bytes <= sizeof *d->values);
    d->names[d->count] = name;
    d->types[d->count] = type;
    d->elements[d->count] = count;
    memcpy(d->values[d->count++], values, bytes);
    return STATUS_SUCCESS;
}

static bool described; /* no handle: the heuristics and plans are told the GPU's
                          properties instead */
static struct fake gpu;
static int a_handle;

static bool is_about_the_gpu(const struct fake *d, int properties, int handle)
{
    int64_t one = 1, two = 1;
    void *const *p = (void *const *)attribute(d, properties, &one), *const *h = handle ? (void *const *)attribute(d, handle, &two) : NULL;
    assert_true(one == 1 && two == 1);
    return described ? p && *p == &gpu && !h : !p && (!handle || (h && *h == &a_handle));
}

static int finalize(void *descriptor)
{
    struct fake *d = descriptor;
    int64_t count;
    const unsigned char *of;
    assert_false(d->final);
    d->final = true;
    if (d->type == DESCRIPTOR_TENSOR && *(const int64_t *)attribute(d, ATTR_TENSOR_UNIQUE_ID, NULL) == UID_BIAS)
        world.narrow = *(const int *)attribute(d, ATTR_TENSOR_DATA_TYPE, NULL) != DATA_FLOAT;
    if (d->type == DESCRIPTOR_OPERATIONGRAPH)
        return world.is_no_graph || (world.narrow && world.narrow_is_no_graph) ? STATUS_NOT_SUPPORTED : STATUS_SUCCESS;
    if (d->type == DESCRIPTOR_ENGINEHEUR) {
        of = attribute(d, ATTR_ENGINEHEUR_OPERATION_GRAPH, &count);
        assert_true(of && count == 1 && (*(struct fake *const *)of)->final && is_about_the_gpu(d, ATTR_ENGINEHEUR_DEVICEPROP, 0));
        assert_true(attribute(d, ATTR_ENGINEHEUR_MODE, &count) && count == 1);
    }
    if (d->type == DESCRIPTOR_VARIANT_PACK && world.is_no_pack)
        return STATUS_NOT_SUPPORTED;
    if (d->type == DESCRIPTOR_EXECUTION_PLAN && d->of) {
        assert_true(is_about_the_gpu(d, ATTR_EXECUTION_PLAN_DEVICEPROP, ATTR_EXECUTION_PLAN_HANDLE));
        return STATUS_SUCCESS;
    }
    if (d->type == DESCRIPTOR_EXECUTION_PLAN) {
        of = attribute(d, ATTR_EXECUTION_PLAN_ENGINE_CONFIG, &count);
        assert_true(of && count == 1 && is_about_the_gpu(d, ATTR_EXECUTION_PLAN_DEVICEPROP, ATTR_EXECUTION_PLAN_HANDLE));
        d->of = (*(struct fake *const *)of)->of;
        world.compiled += d->of->compiled && !d->of->refused;
        d->graph = (*(struct fake *const *)of)->graph;
        return d->of->refused ? STATUS_NOT_SUPPORTED : STATUS_SUCCESS;
    }
    return STATUS_SUCCESS;
}

static int get(void *descriptor, int name, int type, int64_t wanted, int64_t *count, void *values)
{
    struct fake *d = descriptor;
    struct fake *const *there = values;
    switch (name) {
    case ATTR_ENGINEHEUR_RESULTS: {
        int mode = *(const int *)attribute(d, ATTR_ENGINEHEUR_MODE, NULL);
        bool nothing = world.narrow ? world.narrow_offers_nothing : world.wide_offers_nothing;
        *count = nothing ? 0 : world.counts[mode];
        world.asked[mode] += wanted == 0;
        assert_true(d->final && type == TYPE_BACKEND_DESCRIPTOR && (wanted == 0) == !values);
        for (int64_t i = 0; i < wanted && i < *count; i++) {
            assert_int_equal(there[i]->type, DESCRIPTOR_ENGINECFG);
            there[i]->of = &world.list[mode][i];
            there[i]->graph = *(struct fake *const *)attribute(d, ATTR_ENGINEHEUR_OPERATION_GRAPH, NULL);
        }
        if (wanted && world.lists_nothing)
            return STATUS_NOT_SUPPORTED;
        *count = wanted && wanted < *count ? wanted : *count;
        return STATUS_SUCCESS;
    }
    case ATTR_ENGINECFG_ENGINE: (*there)->of = d->of; return d->of->engine < 0 ? STATUS_NOT_SUPPORTED : STATUS_SUCCESS;
    case ATTR_ENGINE_GLOBAL_INDEX: *(int64_t *)values = d->of->engine; return STATUS_SUCCESS;
    case ATTR_ENGINE_NUMERICAL_NOTE:
        *count = d->of->note_count;
        for (int64_t i = 0; i < wanted; i++)
            ((int *)values)[i] = -1;
        memcpy(values, d->of->notes, sizeof d->of->notes);
        return STATUS_SUCCESS;
    case ATTR_ENGINE_BEHAVIOR_NOTE:
        *count = 1 + d->of->compiled;
        ((int *)values)[0] = 3; /* takes part in graphs */
        ((int *)values)[1] = BEHAVIOR_RUNTIME_COMPILATION;
        return STATUS_SUCCESS;
    case ATTR_EXECUTION_PLAN_JSON_REPRESENTATION: {
        char text[64];
        *count = snprintf(text, sizeof text, "{\"plan\":%td,\"gpu\":%d}", d->of - &world.list[0][0], world.maker);
        assert_true(d->final && type == TYPE_CHAR && (wanted == 0) == !values);
        memcpy(values ? values : text, text, (size_t)wanted);
        return STATUS_SUCCESS;
    }
    case ATTR_ENGINECFG_KNOB_CHOICES:
        *count = d->of->knob_count;
        for (int i = 0; i < d->of->knob_count && i < wanted; i++)
            there[i]->of = d->of, there[i]->knob = i;
        return STATUS_SUCCESS;
    case ATTR_KNOB_CHOICE_KNOB_TYPE: *(int *)values = d->of->knobs[d->knob][0]; return STATUS_SUCCESS;
    case ATTR_KNOB_CHOICE_KNOB_VALUE: *(int64_t *)values = d->of->knobs[d->knob][1]; return STATUS_SUCCESS;
    case ATTR_EXECUTION_PLAN_WORKSPACE_SIZE: *(int64_t *)values = d->of->workspace; return STATUS_SUCCESS;
    }
    fail_msg("attribute %d", name);
    return STATUS_NOT_SUPPORTED;
}

static int execute_status;
static int execute(void *handle, void *plan, void *pack)
{
    const struct fake *p = pack;
    int64_t count;
    assert_true(handle == &a_handle && ((struct fake *)plan)->final && p->final);
    memcpy(world.uids, attribute(p, ATTR_VARIANT_PACK_UNIQUE_IDS, &world.uid_count), sizeof world.uids);
    memcpy(world.pointers, attribute(p, ATTR_VARIANT_PACK_DATA_POINTERS, &count), sizeof world.pointers);
    assert_int_equal(count, world.uid_count);
    memcpy(&world.workspace, attribute(p, ATTR_VARIANT_PACK_WORKSPACE, &count), sizeof world.workspace);
    assert_int_equal(count, 1);
    world.executed++;
    return execute_status;
}

static int ended(void *handle)
{
    return STATUS_SUCCESS;
}
static const char *words(int status)
{
    return "a status";
}
static void last_words(char *message, size_t bytes)
{
    snprintf(message, bytes, "why");
}

static const struct cudnn_api api = {.cudnnGetErrorString = words,
                                     .cudnnGetLastErrorString = last_words,
                                     .cudnnDestroy = ended,
                                     .cudnnBackendCreateDescriptor = create,
                                     .cudnnBackendDestroyDescriptor = destroy,
                                     .cudnnBackendFinalize = finalize,
                                     .cudnnBackendSetAttribute = set,
                                     .cudnnBackendGetAttribute = get,
                                     .cudnnBackendExecute = execute};

/* ---- a device that converts a bias ---- */

static bool narrow_fails;
static bool alloc(struct device *dev, const char *label, size_t bytes, uint64_t *address, struct error *err)
{
    *address = 0xb1a5;
    return true;
}
static void release(struct device *dev, uint64_t address) {}
static bool load(struct device *dev, const struct device_image *image, struct device_module **module, struct error *err)
{
    *module = (struct device_module *)dev;
    return true;
}
static void unload(struct device *dev, struct device_module *module) {}
static bool function(struct device *dev, struct device_module *module, const char *name, struct device_function **f, struct error *err)
{
    *f = (struct device_function *)dev;
    return true;
}
static bool launch(struct device *dev, struct device_function *f, const struct device_launch *l, struct error *err)
{
    world.narrowed++;
    return !narrow_fails || error_set(err, ERROR_WRONG, "lost");
}
static const struct device_ops ops = {
    .alloc = alloc, .release = release, .load = load, .unload = unload, .function = function, .launch = launch};
static inline struct device *fake_device(void)
{
    static struct device device = {.ops = &ops};
    return &device;
}

/* 8->16 3x3 on 9 x 9. */
static inline struct cudnn_conv small_conv(enum dtype t, enum math m)
{
    return (struct cudnn_conv){.n = 1,
                               .c = 8,
                               .h = 9,
                               .w = 9,
                               .k = 16,
                               .r = 3,
                               .s = 3,
                               .p = 9,
                               .q = 9,
                               .stride = 1,
                               .pad = 1,
                               .dilation = 1,
                               .groups = 1,
                               .dtype = t,
                               .layout = LAYOUT_NHWC,
                               .math = m};
}

#endif
