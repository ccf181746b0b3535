/* measure/rig/rig on a device in host memory that records its calls: parameters packed after a kernel's signature, launches, fills and
 * copies, for each input set and output replica; and what the rig refuses. */
#include "host_memory.h"
#include "works.h"
#include "device/compile/compile.h"
#include "op/shape.h"
#include "measure/rig/rig.h"
#include "measure/rig/buffer_pool.h"
#include <stdint.h>
#include <stdio.h>

/* ---- the device ---- */

static struct param signed_as[STEP_MAX_ARGS];
static int signed_count;
static struct told {
    struct device_launch launch;
    unsigned char params[512];
    int launches, graphs, begun;
    struct device_tensor_map map;
    size_t symbol_bytes;
    unsigned char symbol[64];
    int live; /* buffers */
    size_t filled, copied;
    bool refuses, no_begin, no_end; /* the launch, a graph */
    int frame;
    int modules, loads; /* of them still loaded; in all */
    struct device_function *ran;
    const unsigned char *given; /* a cubin */
    int unlike;                 /* bytes of the one that is loaded */
} told;

static bool alloc(struct device *dev, const char *label, size_t bytes, uint64_t *address, struct error *err)
{
    told.live++;
    *address = (uint64_t)(uintptr_t)calloc(1, bytes);
    return true;
}
static void release(struct device *dev, uint64_t address)
{
    told.live--;
    free((void *)(uintptr_t)address);
}
static bool fill(struct device *dev, uint64_t address, uint32_t pattern, size_t bytes, struct error *err)
{
    told.filled = bytes;
    return host_fill(dev, address, pattern, bytes, err);
}
static bool copy(struct device *dev, uint64_t to, uint64_t from, size_t bytes, struct error *err)
{
    memcpy((void *)(uintptr_t)to, (void *)(uintptr_t)from, bytes);
    told.copied = bytes;
    return true;
}
static bool load(struct device *dev, const struct device_image *image, struct device_module **module, struct error *err)
{
    told.modules++;
    told.loads++;
    for (size_t i = 0; told.given && i < image->cubin_bytes; i++)
        told.unlike += ((const unsigned char *)image->cubin)[i] != told.given[i];
    *module = calloc(1, 1);
    return true;
}
static void unload(struct device *dev, struct device_module *module)
{
    told.modules--;
    free(module);
}
static bool function(struct device *dev, struct device_module *module, const char *name, struct device_function **f, struct error *err)
{
    *f = (struct device_function *)module;
    return true;
}
static int signature(struct device *dev, const struct device_function *f, const struct param **params, size_t *param_bytes)
{
    *params = signed_as;
    *param_bytes = sizeof told.params;
    return signed_count;
}
static bool symbol(struct device *dev, struct device_module *module, const char *name, uint64_t *address, size_t *bytes, struct error *err)
{
    *address = (uint64_t)(uintptr_t)told.symbol;
    *bytes = told.symbol_bytes;
    return strcmp(name, "missing") || error_set(err, ERROR_USAGE, "no symbol");
}
static bool tensor_map(struct device *dev, const struct device_tensor_map *map, void *out, struct error *err)
{
    told.map = *map;
    memset(out, 0xab, 128);
    return true;
}
static bool launch(struct device *dev, struct device_function *f, const struct device_launch *l, struct error *err)
{
    told.launch = *l;
    told.ran = f;
    assert_int_equal(l->param_bytes, sizeof told.params);
    memcpy(told.params, l->params, sizeof told.params);
    told.launches++;
    return !told.refuses || error_set(err, ERROR_ENVIRONMENT, "refused");
}
static bool sync(struct device *dev, struct error *err)
{
    return true;
}
static bool graph_begin(struct device *dev, struct error *err)
{
    told.begun += !told.no_begin;
    return !told.no_begin || error_set(err, ERROR_ENVIRONMENT, "no graph begins");
}
static bool graph_end(struct device *dev, struct device_graph **graph, struct error *err)
{
    *graph = told.no_end ? NULL : (struct device_graph *)dev;
    return !told.no_end || error_set(err, ERROR_ENVIRONMENT, "no graph ends");
}
static bool graph_launch(struct device *dev, struct device_graph *graph, struct error *err)
{
    told.graphs++;
    return true;
}
static void graph_free(struct device *dev, struct device_graph *graph)
{
    told.begun--;
}
static bool clusters(struct device *dev, struct device_function *f, const struct device_launch *l, int *count, struct error *err)
{
    *count = (int)(l->grid[0] + l->cluster[0]);
    return true;
}
static int frame_bytes(struct device *dev, const struct device_function *f)
{
    return told.frame;
}

static struct device_ops ops = {.name = "host",
                                .keeps_time = true,
                                .alloc = alloc,
                                .release = release,
                                .write = host_write,
                                .read = host_read,
                                .fill = fill,
                                .copy = copy,
                                .load = load,
                                .unload = unload,
                                .function = function,
                                .signature = signature,
                                .symbol = symbol,
                                .tensor_map = tensor_map,
                                .launch = launch,
                                .sync = sync,
                                .graph_begin = graph_begin,
                                .graph_end = graph_end,
                                .graph_launch = graph_launch,
                                .graph_free = graph_free,
                                .clusters = clusters,
                                .frame_bytes = frame_bytes};
static struct device device = {.ops = &ops, .spec = "host"};

/* ---- a program ---- */

static struct work work;
static struct program p;
static struct step steps[4];
static struct unit units[] = {{.label = "kernel"}, {.label = "other"}};
static struct tensor_map map;
static struct scratch scratch[2];
static struct rig *rig;
static struct error err;

static struct buffer_ref tensor(const char *name)
{
    return (struct buffer_ref){.kind = BUFFER_TENSOR, .index = program_tensor(&p, name)};
}

static void begin(void)
{
    told = (struct told){.symbol_bytes = sizeof told.symbol};
    err = (struct error){0};
    signed_count = 0;
    memset(steps, 0, sizeof steps);
    work = conv_work(3, 5, 5, 7, 3);
    work.dtype = DTYPE_F32;
    finish(&work);
    p = program_of(&work);
    p.units = units, p.unit_count = 1, p.steps = steps, p.step_count = 1;
    steps[0] = (struct step){.kind = STEP_KERNEL, .name = "k", .grid = {1, 1, 1}, .block = {32, 1, 1}};
}

static void end(void)
{
    rig_close(rig);
    rig = NULL;
    p.units = NULL, p.steps = NULL, p.scratch = NULL, p.tensor_maps = NULL;
    p.unit_count = p.step_count = p.scratch_count = p.tensor_map_count = 0;
    program_free(&p);
    assert_int_equal(told.live, 0);
    assert_int_equal(told.modules, 0);
}

static void end_in(struct buffer_pool *room)
{
    rig_close(rig);
    rig = NULL;
    buffer_pool_close(room, false);
    end();
}

static void give(struct param param, struct arg arg)
{
    param.offset = (uint32_t)signed_count * 16;
    if (signed_count && signed_as[signed_count - 1].kind == PARAM_BYTES)
        param.offset = signed_as[signed_count - 1].offset + 128;
    signed_as[signed_count++] = param;
    snprintf(arg.name, sizeof arg.name, "a%d", signed_count);
    steps[0].args[steps[0].arg_count++] = arg;
}

static struct device_image images[2] = {{.label = "kernel", .ptx = "."}};
static bool opened(struct buffer_pool *room)
{
    return rig_open_in(room, 0, &device, NULL, &p, images, false, &rig, &err);
}
static void open_or_fail(struct buffer_pool *room)
{
    if (!opened(room))
        fail_msg("%s", err.text);
}
static void is_refused(const char *words)
{
    assert_false(opened(NULL));
    if (!strstr(err.text, words))
        fail_msg("'%s', want '%s'", err.text, words);
    assert_null(rig);
    end();
}

#define INT(b) ((struct param){.kind = PARAM_INT, .bytes = b})
#define FLOAT(b) ((struct param){.kind = PARAM_FLOAT, .bytes = b})
#define NUMBER(v) ((struct arg){.kind = ARG_INT, .i = v})
#define REAL(v) ((struct arg){.kind = ARG_REAL, .d = v})
#define AT(type, k) (*(const type *)(const void *)(told.params + signed_as[k].offset))

/* Whole and real numbers in every width that they fit, as a kernel's C types have them. */
static void numbers_are_packed(void **state)
{
    begin();
    give(INT(8), NUMBER(-5000000000));
    give(INT(4), NUMBER(4000000000)); /* whether it has a sign is not in a signature */
    give(INT(4), NUMBER(-2147483648));
    give(INT(2), NUMBER(65535));
    give(INT(1), NUMBER(-128));
    give(INT(4), REAL(3.0));
    give(FLOAT(4), REAL(0.1));
    give(FLOAT(8), REAL(0.1));
    give(FLOAT(2), REAL(0.1));
    give(FLOAT(4), NUMBER(7));
    give((struct param){.kind = PARAM_ANY, .bytes = 4}, REAL(2.5));
    give((struct param){.kind = PARAM_ANY, .bytes = 8}, NUMBER(INT64_MAX));
    open_or_fail(NULL);
    assert_true(rig_run(rig, &err) && told.launches == 1);
    assert_true(AT(int64_t, 0) == -5000000000 && AT(uint32_t, 1) == 4000000000 && AT(int32_t, 2) == INT32_MIN && AT(uint16_t, 3) == 65535);
    assert_true(AT(int8_t, 4) == -128 && AT(int32_t, 5) == 3 && AT(float, 6) == 0.1f && AT(double, 7) == 0.1);
    assert_true(AT(uint16_t, 8) == f16_from_f64(0.1) && AT(float, 9) == 7 && AT(float, 10) == 2.5f && AT(int64_t, 11) == INT64_MAX);
    end();
}

static void numbers_that_do_not_fit(void **state)
{
    static const struct {
        struct param param;
        struct arg arg;
        const char *says;
    } wrong[] = {
        {{.kind = PARAM_INT, .bytes = 4}, {.kind = ARG_INT, .i = 4294967296}, "a1 = 4294967296 does not fit the kernel's 4-byte parameter"},
        {{.kind = PARAM_INT, .bytes = 4}, {.kind = ARG_INT, .i = -2147483649}, "does not fit the kernel's 4-byte"},
        {{.kind = PARAM_INT, .bytes = 1}, {.kind = ARG_INT, .i = 256}, "does not fit the kernel's 1-byte"},
        {{.kind = PARAM_INT, .bytes = 4}, {.kind = ARG_REAL, .d = 2.5}, "a1 is 2.5, but the kernel's parameter is an integer"},
        {{.kind = PARAM_BYTES, .bytes = 16}, {.kind = ARG_INT, .i = 1}, "takes 2 parameters, `args:` lists 1"},
        {{.kind = PARAM_BYTES, .bytes = 8}, {.kind = ARG_REAL, .d = 2}, "a1: the parameter is a struct by value"},
        {{.kind = PARAM_BYTES, .bytes = 4}, {.kind = ARG_BUFFER}, "a1: the parameter is a struct by value"},
        {{.kind = PARAM_INT, .bytes = 4}, {.kind = ARG_BUFFER}, "a1 is a buffer, but the kernel's parameter is not a pointer"},
        {{.kind = PARAM_FLOAT, .bytes = 8}, {.kind = ARG_BUFFER}, "a1 is a buffer, but the kernel's parameter is not a pointer"},
        {{.kind = PARAM_INT, .bytes = 8}, {.kind = ARG_TENSOR_MAP}, "a1 is a tensor map, but the kernel's parameter is not"},
        {{.kind = PARAM_BYTES, .bytes = 64}, {.kind = ARG_TENSOR_MAP}, "a1 is a tensor map, but the kernel's parameter is not"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        begin();
        give(wrong[i].param, wrong[i].arg);
        if (wrong[i].arg.kind == ARG_BUFFER)
            steps[0].args[0].buffer = tensor("input");
        is_refused(wrong[i].says);
    }
    begin();
    give(INT(8), (struct arg){.kind = ARG_BUFFER, .buffer = tensor("input")});
    signed_count = 2;
    is_refused("kernel k takes 2 parameters, `args:` lists 1");
    begin();
    give(INT(4), NUMBER(1));
    give(INT(4), REAL(0.5));
    is_refused("kernel k, parameter 2: ");
    for (int args = 0; args < 3; args++) { /* where the last one stands, or the step */
        static const char *const places[] = {"v.cu:5:1: ", "v.cu:7:3: ", "v.cu:9:4: "};
        begin();
        steps[0].file = "v.cu", steps[0].line = 5, steps[0].column = 1;
        for (int i = 0; i < args; i++)
            give(INT(4), (struct arg){.kind = ARG_INT, .i = 1, .line = 7 + 2 * i, .column = 3 + i});
        signed_count = 3;
        is_refused(places[args]);
    }
}

/* A launch as its step says, with the map of a tensor by value; what a work does not have is zeros. */
static void launches_are_as_they_were_asked_for(void **state)
{
    begin();
    steps[0] = (struct step){.kind = STEP_KERNEL,
                             .name = "k",
                             .grid = {2, 3, 4},
                             .block = {32, 5, 6},
                             .cluster = {2, 1, 1},
                             .smem = 777,
                             .cooperative = true,
                             .pdl = true,
                             .carveout = 50};
    map = (struct tensor_map){.buffer = tensor("input"),
                              .dtype = DTYPE_F32,
                              .rank = 3,
                              .dim = {7, 5, 3},
                              .stride_bytes = {28, 140},
                              .box = {4, 2, 1},
                              .element_stride = {1, 2, 3},
                              .swizzle = 64,
                              .interleave = 16,
                              .l2_promotion = 128,
                              .oob_nan = true};
    p.tensor_maps = &map, p.tensor_map_count = 1;
    give((struct param){.kind = PARAM_BYTES, .bytes = 128}, (struct arg){.kind = ARG_TENSOR_MAP, .map = 0});
    give((struct param){.kind = PARAM_BYTES, .bytes = 128}, (struct arg){.kind = ARG_TENSOR_MAP, .map = ARG_NO_MAP});
    open_or_fail(NULL);
    rig_time_limit(rig, 2.5);
    assert_true(rig_run(rig, &err));
    const struct device_launch *l = &told.launch;
    assert_true(!memcmp(l->grid, steps[0].grid, sizeof l->grid) && !memcmp(l->block, steps[0].block, sizeof l->block));
    assert_true(!memcmp(l->cluster, steps[0].cluster, sizeof l->cluster) && l->smem == 777 && l->cooperative && l->pdl &&
                l->carveout == 50);
    assert_true(l->time_limit_s == 2.5 && rig_clusters(rig, 0) == 4);
    const struct device_tensor_map *m = &told.map;
    assert_true(m->address == rig_address(rig, map.buffer) && m->element_bytes == 4 && m->element_kind == DTYPE_F32 && m->rank == 3);
    assert_true(!memcmp(m->dim, map.dim, sizeof m->dim) && !memcmp(m->stride_bytes, map.stride_bytes, sizeof m->stride_bytes) &&
                !memcmp(m->box, map.box, sizeof m->box) && !memcmp(m->element_stride, map.element_stride, sizeof m->element_stride));
    assert_true(m->swizzle == 64 && m->interleave == 16 && m->l2_promotion == 128 && m->oob_nan);
    for (int i = 0; i < 128; i++)
        assert_true(told.params[i] == 0xab && told.params[128 + i] == 0);
    told.refuses = true;
    assert_false(rig_run(rig, &err));
    assert_string_equal(err.text, "kernel k: refused");
    end();
    begin();
    p.tensor_maps = &map, p.tensor_map_count = 1;
    give((struct param){.kind = PARAM_BYTES, .bytes = 128}, (struct arg){.kind = ARG_TENSOR_MAP, .map = 0});
    ops.tensor_map = NULL;
    is_refused("this device has no tensor maps");
    ops.tensor_map = tensor_map;
}

/* In every set and replica a kernel is given what lies there: inputs by set, but for weights, outputs by replica. */
static void each_seat_has_its_addresses(void **state)
{
    struct buffer_pool *room = buffer_pool_open(&device, NULL, 3, 2);
    begin();
    const char *const names[] = {"input", "filter", "output"};
    uint64_t at[3][3][2];
    for (int i = 0; i < 3; i++)
        give(INT(8), (struct arg){.kind = ARG_BUFFER, .buffer = tensor(names[i])});
    open_or_fail(room);
    for (int set = 0; set < 3; set++)
        for (int replica = 0; replica < 2; replica++) {
            rig_select(rig, set, replica);
            assert_true(rig_run(rig, &err));
            for (int i = 0; i < 3; i++) {
                at[i][set][replica] = AT(uint64_t, i);
                assert_true(at[i][set][replica] == rig_address(rig, tensor(names[i])));
            }
        }
    for (int set = 0; set < 3; set++)
        for (int replica = 0; replica < 2; replica++)
            for (int other = 0; other < 3; other++)
                for (int beside = 0; beside < 2; beside++) {
                    assert_true((at[0][set][replica] == at[0][other][beside]) == (set == other));
                    assert_true(at[1][set][replica] == at[1][other][beside]);
                    assert_true((at[2][set][replica] == at[2][other][beside]) == (replica == beside));
                }
    end_in(room);
}

/* In a pool each input set and output replica has a copy of the code. There is no copy if code could keep something in its module for a
 * launch of another copy, if a step fills the module, if the driver would compile it each time, or if it is large. */
static void each_seat_has_its_code(void **state)
{
    const char *const keeps = ".visible .global .align 4 .u32 kept;\n.visible .entry k()\n{\n\tld.global.u32 %r1, [kept];\n}\n";
    static char cubin[1 << 20];
    struct device_function *ran[6];
    for (int kind = 0; kind < 6; kind++) { /* 5: without a room */
        struct buffer_pool *room = kind == 5 ? NULL : buffer_pool_open(&device, NULL, 3, 2);
        begin();
        images[0].cubin = kind == 3 ? NULL : cubin;
        images[0].cubin_bytes = sizeof cubin + (kind == 4);
        images[0].ptx = kind == 1 ? keeps : ".";
        if (kind == 2)
            steps[p.step_count++] =
                (struct step){.kind = STEP_SYMBOL, .name = "symbol", .from = tensor("filter"), .symbol = "s", .bytes = 4};
        open_or_fail(room);
        assert_int_equal(told.loads, kind ? 1 : 6);
        for (int view = 0; view < (room ? 6 : 1); view++) {
            rig_select(rig, view / 2, view % 2);
            assert_true(rig_run_step(rig, 0, &err));
            ran[view] = told.ran;
            for (int other = 0; other < view; other++)
                assert_true((ran[other] == ran[view]) == (kind > 0));
        }
        for (int view = 0; view < 7 && kind == 0; view++) {
            rig_select(rig, 2, 0);
            rig_use_code(rig, view);
            assert_true(rig_run_step(rig, 0, &err) && told.ran == ran[view % 6]);
            rig_select(rig, 1, 1);
            assert_true(rig_run_step(rig, 0, &err) && told.ran == ran[3]);
        }
        end_in(room);
    }
    begin(); /* of two files each */
    images[1] = images[0] = (struct device_image){.label = "kernel", .ptx = ".", .cubin = cubin, .cubin_bytes = sizeof cubin};
    steps[p.step_count++] = (struct step){.kind = STEP_KERNEL, .name = "k", .unit = 1, .grid = {1, 1, 1}, .block = {32, 1, 1}};
    p.unit_count = 2;
    struct buffer_pool *room = buffer_pool_open(&device, NULL, 3, 2);
    struct device_function *all[12];
    open_or_fail(room);
    assert_int_equal(told.loads, 12);
    for (int i = 0; i < 12; i++) {
        rig_select(rig, i / 4, i / 2 % 2);
        assert_true(rig_run_step(rig, i % 2, &err));
        all[i] = told.ran;
        for (int other = 0; other < i; other++)
            assert_true(all[other] != all[i]);
    }
    end_in(room);
    images[0] = (struct device_image){.label = "kernel", .ptx = "."};
}

/* The variables of a cubin are shown by their names, in a copy: the bytes of data/state.cu that say so are four (test_state). */
static void variables_of_a_cubin_are_shown(void **state)
{
    struct compiled c = {0};
    struct compile_request r = {.path = "tests/unit/data/state.cu", .label = "test/state", .arch = "sm_90a"};
    if (!compile(&r, &c, &err))
        fail_msg("%s", err.text);
    begin();
    char *ptx = xstrndup(c.ptx, c.ptx_bytes);
    images[0] = (struct device_image){.label = "kernel", .ptx = ptx, .cubin = c.cubin, .cubin_bytes = c.cubin_bytes};
    told.given = c.cubin;
    open_or_fail(NULL);
    assert_int_equal(told.loads, 1);
    assert_int_equal(told.unlike, 4);
    end();
    compiled_free(&c);
    free(ptx);
    images[0] = (struct device_image){.label = "kernel", .ptx = "."};
}

static unsigned char *bytes_of(struct buffer_ref ref)
{
    return (unsigned char *)(uintptr_t)rig_address(rig, ref);
}

/* Fills and copies, of the whole destination where no bytes are said; uploads to a symbol; what would reach past an end is refused. */
static void fills_copies_and_symbols(void **state)
{
    static const struct buffer_ref a = {.kind = BUFFER_SCRATCH}, b = {.kind = BUFFER_SCRATCH, .index = 1};
    begin();
    scratch[0] = (struct scratch){.dtype = DTYPE_F32, .elements = 10, .name = "a"};
    scratch[1] = (struct scratch){.dtype = DTYPE_F32, .elements = 8, .name = "b"};
    p.scratch = scratch, p.scratch_count = 2, p.step_count = 4;
    steps[0] = (struct step){.kind = STEP_FILL, .name = "fill", .to = a, .fill = 0x01020304};
    steps[1] = (struct step){.kind = STEP_FILL, .name = "fill", .to = b, .fill = 0, .bytes = 12};
    steps[2] = (struct step){.kind = STEP_COPY, .name = "copy", .to = b, .from = a, .bytes = 8};
    steps[3] = (struct step){.kind = STEP_SYMBOL, .name = "symbol", .from = a, .symbol = "s"};
    open_or_fail(NULL);
    memset(bytes_of(b), 9, 32);
    assert_true(rig_run_step(rig, 0, &err) && told.filled == 40 && bytes_of(a)[0] == 4 && bytes_of(a)[39] == 1);
    assert_true(rig_run_step(rig, 1, &err) && told.filled == 12 && bytes_of(b)[11] == 0 && bytes_of(b)[12] == 9);
    assert_true(rig_run_step(rig, 2, &err) && told.copied == 8 && bytes_of(b)[7] == 1 && bytes_of(b)[8] == 0);
    assert_true(rig_run_step(rig, 3, &err) && told.copied == 40 && told.symbol[39] == 1 && told.symbol[40] == 0);
    double value;
    assert_true(rig_read(rig, b, 7, &value, &err) && !rig_read(rig, b, 8, &value, &err) && strstr(err.text, "element 8, past the end"));
    assert_false(rig_read(rig, b, -1, &value, &err));
    memcpy(bytes_of(a) + 4, &(float){1.5f}, 4);
    assert_true(rig_read(rig, a, 1, &value, &err) && value == 1.5);
    steps[2].bytes = 0; /* the whole of b from a, which is longer */
    assert_true(rig_run_step(rig, 2, &err) && told.copied == 32);
    steps[2] = (struct step){.kind = STEP_COPY, .name = "copy", .to = a, .from = b, .bytes = 32}; /* all of b */
    assert_true(rig_run_step(rig, 2, &err) && told.copied == 32);
    steps[2].bytes = 0;
    err = (struct error){0};
    assert_false(rig_run_step(rig, 2, &err));
    assert_string_equal(err.text, "step copy copies 40 bytes, from 32 to 40");
    steps[2] = (struct step){.kind = STEP_COPY, .name = "copy", .to = b, .from = a, .bytes = 36};
    assert_false(rig_run_step(rig, 2, &err));
    steps[3].bytes = 16;
    assert_true(rig_run_step(rig, 3, &err) && told.copied == 16);
    assert_int_equal(rig_clusters(rig, 0), 0); /* is no kernel */
    steps[2] = (struct step){.kind = STEP_FILL, .to = b};
    end();
    for (int i = 0; i < 3; i++) {
        begin();
        p.scratch = scratch, p.scratch_count = 2;
        steps[0] = (struct step){.kind = STEP_SYMBOL, .name = "symbol", .from = a, .bytes = i ? 0 : 65};
        strcpy(steps[0].symbol, i == 2 ? "missing" : "s");
        told.symbol_bytes = i ? 39 : 64;
        is_refused(i == 2 ? "no symbol"
                   : i    ? "symbol s holds 39 bytes, the step uploads 40"
                          : "symbol s holds 64 bytes, the step uploads 65");
    }
}

/* What is prepared runs by itself and is no part of a run; a graph is caught after the first run, once for each set and replica. */
static void preparing_and_graphs(void **state)
{
    double ns;
    begin();
    p.step_count = 2;
    steps[1] = steps[0];
    steps[0].prepare = true;
    p.graph = true;
    open_or_fail(NULL);
    assert_true(rig_prepare(rig, &ns, &err) && ns >= 0 && told.launches == 1);
    assert_true(rig_run(rig, &err) && told.launches == 2 && told.graphs == 0);
    assert_true(rig_run(rig, &err) && told.launches == 3 && told.graphs == 1 && told.begun == 1);
    assert_true(rig_run(rig, &err) && rig_capture(rig, &err) && told.launches == 3 && told.graphs == 2 && told.begun == 1);
    rig_close(rig);
    rig = NULL;
    assert_int_equal(told.begun, 0);
    open_or_fail(NULL);
    assert_true(rig_capture(rig, &err) && told.begun == 0); /* what a library does at its first call is not caught */
    assert_true(rig_run(rig, &err) && rig_capture(rig, &err) && told.begun == 1 && told.launches == 5 && told.graphs == 2);
    assert_true(rig_run(rig, &err) && told.begun == 1 && told.launches == 5 && told.graphs == 3);
    told.refuses = true; /* nothing is prepared by a step that cannot run */
    assert_false(rig_prepare(rig, &ns, &err));
    told.refuses = false;
    end();
    begin();
    open_or_fail(NULL);
    assert_true(rig_prepare(rig, &ns, &err) && isnan(ns) && told.launches == 0); /* nothing to prepare has no time */
    assert_true(rig_run(rig, &err) && rig_run(rig, &err) && told.launches == 2 && told.graphs == 0);
    assert_int_equal(told.begun, 0);
    end();
}

/* A graph that cannot be begun or ended is no run. */
static void graphs_that_are_refused(void **state)
{
    for (int i = 0; i < 3; i++) {
        begin();
        p.graph = true;
        open_or_fail(NULL);
        assert_true(rig_run(rig, &err));
        told.no_begin = i == 0, told.no_end = i > 0, told.refuses = i == 2;
        assert_false(rig_run(rig, &err) || told.graphs);
        assert_non_null(strstr(err.text, i == 0 ? "no graph begins" : i == 1 ? "no graph ends" : "refused")); /* what was first */
        end();
    }
}

/* A kernel can keep something from run to run where it has scratch, or a frame of its threads' own; a call of a library alone cannot. */
static void who_can_keep_something(void **state)
{
    for (int i = 0; i < 4; i++) {
        begin();
        scratch[0] = (struct scratch){.dtype = DTYPE_F32, .elements = 10, .name = "a"};
        if (i & 1)
            p.scratch = scratch, p.scratch_count = 1;
        told.frame = i == 2 ? 16 : 0;
        if (i == 3)
            steps[0] = (struct step){.kind = STEP_FILL, .name = "fill", .to = {.kind = BUFFER_SCRATCH}};
        open_or_fail(NULL);
        assert_true(rig_has_state(rig) == (i == 1 || i == 2));
        end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(numbers_are_packed),
                                       cmocka_unit_test(numbers_that_do_not_fit),
                                       cmocka_unit_test(launches_are_as_they_were_asked_for),
                                       cmocka_unit_test(each_seat_has_its_addresses),
                                       cmocka_unit_test(each_seat_has_its_code),
                                       cmocka_unit_test(variables_of_a_cubin_are_shown),
                                       cmocka_unit_test(fills_copies_and_symbols),
                                       cmocka_unit_test(preparing_and_graphs),
                                       cmocka_unit_test(graphs_that_are_refused),
                                       cmocka_unit_test(who_can_keep_something)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
