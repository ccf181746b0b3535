/* measure/rig/rig on a device in host memory that, like a GPU, has no safety checks: what a kernel harms around its buffers is found. */
#include "host_memory.h"
#include "works.h"
#include "op/shape.h"
#include "measure/verify/device_check_private.h"
#include "measure/rig/rig_private.h"
#include "measure/rig/buffer_pool.h"
#include "op/chain/chain.h"
#include <stdint.h>
#include <stdio.h>

#define NOTHING (-1)
#define SCRATCH (-2)
/* Where the kernel writes: a byte of a buffer, counted from its start. */
static struct harm {
    int tensor; /* NOTHING, or SCRATCH: the first scratch buffer */
    int64_t at;
    size_t bytes;
} harm;
static unsigned wrong; /* bits of the tensors of which an element is wrong: */
static size_t wrong_at = 3;
static struct rig *rig;
static const struct program *program;
static uint64_t scratch;
static bool full;
static int calls, lost_at; /* lost_at: the call that finds no device; 0: none */
static bool alive(struct error *err)
{
    return ++calls != lost_at || error_set(err, ERROR_ENVIRONMENT, "the device is lost");
}
static bool alloc(struct device *dev, const char *label, size_t bytes, uint64_t *address, struct error *err)
{
    if (full)
        return error_set(err, ERROR_ENVIRONMENT, "out of memory");
    if (!alive(err))
        return false;
    *address = (uint64_t)(uintptr_t)calloc(1, bytes);
    if (!strcmp(label, "filter of a"))
        scratch = *address + 4096; /* behind the zone before it */
    return true;
}
static void release(struct device *dev, uint64_t address)
{
    free((void *)(uintptr_t)address);
}
static bool load(struct device *dev, const struct device_image *image, struct device_module **module, struct error *err)
{
    *module = (struct device_module *)dev;
    return alive(err);
}
static void unload(struct device *dev, struct device_module *module) {}
static bool function(struct device *dev, struct device_module *module, const char *name, struct device_function **f, struct error *err)
{
    *f = (struct device_function *)dev;
    return true;
}
/* What sums words of 8 bytes up, as measure/card's kernel does. */
static int sums_there;
static struct device_function *const summing = (struct device_function *)&sums_there;
static int signature(struct device *dev, const struct device_function *f, const struct param **params, size_t *param_bytes)
{
    static const struct param summed[] = {{.bytes = 8}, {.offset = 8, .bytes = 8}, {.offset = 16, .bytes = 8}};
    *params = summed;
    *param_bytes = f == summing ? 24 : 8;
    if (f == summing)
        return 3;
    return 0;
}
static bool sync(struct device *dev, struct error *err)
{
    return alive(err);
}
static int threads_wiped;
static bool wipe_threads(struct device *dev, struct error *err)
{
    threads_wiped++;
    return alive(err);
}
static size_t bytes_written, bytes_read;
static bool write_living(struct device *dev, uint64_t address, const void *from, size_t bytes, struct error *err)
{
    bytes_written += bytes;
    return alive(err) && host_write(dev, address, from, bytes, err);
}
static bool fill_living(struct device *dev, uint64_t address, uint32_t pattern, size_t bytes, struct error *err)
{
    return alive(err) && host_fill(dev, address, pattern, bytes, err);
}

/* The kernel: the reference's values, and the harm. */
static const struct op_data *expected;
static bool launch(struct device *dev, struct device_function *f, const struct device_launch *l, struct error *err)
{
    if (!alive(err))
        return false;
    if (f == summing) {
        uint64_t args[3], word;
        memcpy(args, l->params, sizeof args);
        for (size_t at = 0; at + sizeof word <= args[1]; at += sizeof word) {
            memcpy(&word, (void *)(uintptr_t)(args[0] + at), sizeof word);
            *(uint64_t *)(uintptr_t)args[2] += word * (2 * at + 1);
        }
        return true;
    }
    for (int t = 0; t < program->tensor_count; t++) {
        const struct tensor *o = &program->tensors[t];
        uint64_t to = rig_address(rig, (struct buffer_ref){.kind = BUFFER_TENSOR, .index = t});
        for (size_t i = 0; o->written && i < expected->at[SLOT_OUTPUT].elements; i++) {
            dtype_set(o->dtype, (void *)(uintptr_t)to, tensor_index(o, i), expected->at[SLOT_OUTPUT].reference[i]);
            if (i == wrong_at && wrong & 1u << t)
                dtype_set(o->dtype, (void *)(uintptr_t)to, tensor_index(o, i), expected->at[SLOT_OUTPUT].reference[i] + 1);
        }
    }
    if (harm.tensor != NOTHING) {
        uint64_t to = harm.tensor == SCRATCH ? scratch : rig_address(rig, (struct buffer_ref){.kind = BUFFER_TENSOR, .index = harm.tensor});
        unsigned char *p = (unsigned char *)(uintptr_t)(to + (uint64_t)harm.at);
        for (size_t i = 0; i < harm.bytes; i++)
            p[i] ^= 0x5a;
    }
    return true;
}

static bool read_counted(struct device *dev, uint64_t address, void *to, size_t bytes, struct error *err)
{
    bytes_read += bytes;
    return alive(err) && host_read(dev, address, to, bytes, err);
}

static const struct device_ops ops = {.name = "host",
                                      .keeps_time = true,
                                      .alloc = alloc,
                                      .release = release,
                                      .write = write_living,
                                      .read = read_counted,
                                      .fill = fill_living,
                                      .load = load,
                                      .unload = unload,
                                      .function = function,
                                      .signature = signature,
                                      .launch = launch,
                                      .wipe_threads = wipe_threads,
                                      .sync = sync};
static struct device device = {.ops = &ops, .spec = "host"};

/* What is said of a program of one kernel that does `h`; values stay right. */
static void program_says(struct program *p, const struct work *w, struct harm h, const char *want)
{
    struct op_data data;
    make_data(w, w->chain ? DATA_PART_PRECISION : DATA_PART_EXACT, &data);
    struct unit unit = {.label = "kernel"};
    struct step step = {.kind = STEP_KERNEL, .name = "kernel"};
    struct device_image image = {.label = "kernel", .ptx = "."};
    struct error err = {0};
    struct verdict v;
    struct text unsafe = {0};
    p->units = &unit, p->unit_count = 1, p->steps = &step, p->step_count = 1;
    program = p, expected = &data, harm = h;
    if (!rig_open(&device, NULL, p, &image, true, &rig, &err) || !rig_feed(rig, &data, &err) || !rig_run(rig, &err) ||
        !rig_check(rig, &data, &v, &unsafe, NULL, &err))
        fail_msg("%s", err.text);
    assert_true(v.ok);
    if (strcmp(text_get(&unsafe), want))
        fail_msg("said '%s', not '%s'", text_get(&unsafe), want);
    text_free(&unsafe);
    unsafe = (struct text){0};
    harm.tensor = NOTHING; /* the next launch is not accused of what the one before wrote around its buffers */
    if (!rig_run(rig, &err) || !rig_check(rig, &data, &v, &unsafe, NULL, &err))
        fail_msg("%s", err.text);
    assert_true(v.ok && !strstr(text_get(&unsafe), "wrote"));
    text_free(&unsafe);
    if (p->constant_count && h.tensor == NOTHING) { /* weights are fed, and no prepare step's to make; without data there are none */
        bool depends;
        unsafe = (struct text){0};
        step.prepare = true;
        if (!rig_feed(rig, &data, &err) || !rig_prepare_depends(rig, &depends, &err) || !rig_check_memory(rig, &unsafe, &err))
            fail_msg("%s", err.text);
        assert_true(!strstr(text_get(&unsafe), p->scratch[0].name));
        text_free(&unsafe);
        int links = data.link_count;
        data.link_count = 0;
        rig_close(rig);
        assert_true(rig_open(&device, NULL, p, &image, true, &rig, &err));
        assert_false(rig_feed(rig, &data, &err));
        assert_non_null(strstr(err.text, "no data for filter of a"));
        data.link_count = links;
    }
    rig_close(rig);
    p->units = NULL, p->steps = NULL, p->unit_count = p->step_count = 0;
    program_free(p);
    op_data_free(&data);
}

/* All that a row goes through before it is timed, and in a room behind each launch. */
static bool walk(struct buffer_pool *room, struct program *p, const struct op_data *data, struct error *err)
{
    static struct unit unit = {.label = "kernel"};
    static struct step step = {.kind = STEP_KERNEL, .name = "kernel"};
    struct device_image image = {.label = "kernel", .ptx = "."};
    struct verdict v;
    struct text unsafe = {0};
    double value;
    p->units = &unit, p->unit_count = 1, p->steps = &step, p->step_count = 1;
    program = p, expected = data, harm.tensor = NOTHING;
    calls = 0;
    enum rig_left left = RIG_AS_ACCEPTED;
    bool ok = room ? rig_open_in(room, 0, &device, NULL, p, &image, true, &rig, err) : rig_open(&device, NULL, p, &image, true, &rig, err);
    ok = ok && rig_feed(rig, data, err);
    int before = threads_wiped;
    ok = ok && rig_poison_all(rig, err);
    assert_true(!ok || threads_wiped == before + 1); /* what it left on the SMs goes with its outputs */
    ok = ok && rig_prepare(rig, NULL, err) && rig_run(rig, err) && rig_check(rig, data, &v, &unsafe, NULL, err) &&
         rig_read(rig, (struct buffer_ref){.kind = BUFFER_TENSOR}, 0, &value, err) && rig_checksum_accept(rig, err) &&
         rig_checksum(rig, err) && rig_checksum_matches(rig, &left, err);
    assert_true(!ok || (v.ok && !unsafe.len && left == RIG_AS_ACCEPTED));
    text_free(&unsafe);
    if (rig)
        rig_close(rig);
    rig = NULL;
    p->units = NULL, p->steps = NULL, p->unit_count = p->step_count = 0;
    return ok;
}

static void says(int64_t k, struct harm h, const char *want)
{
    struct work w = conv_work(3, k, 5, 7, 3); /* with k odd the buffers end inside a word of f16 */
    finish(&w);
    struct program p = program_of(&w);
    program_says(&p, &w, h, want);
}

/* A network's weights are scratch buffers that were fed. */
static void chain_says(struct harm h, const char *want)
{
    struct error err = {0};
    struct chain_link link = {.work = conv_work(3, 4, 5, 7, 3), .name = "a", .input = CHAIN_INPUT, .residual = CHAIN_NONE};
    finish(&link.work);
    struct chain chain = {&link, 1};
    struct work w;
    if (!chain_work(&chain, &w, &err))
        fail_msg("%s", err.text);
    struct program p = program_of(&w);
    int kept = 0;
    for (int i = 0; i < p.tensor_count; i++)
        if (!strcmp(p.tensors[i].role->name, "input") || p.tensors[i].role->result)
            p.tensors[kept++] = p.tensors[i];
    p.tensor_count = kept;
    p.scratch = calloc(1, sizeof *p.scratch);
    p.constants = calloc(1, sizeof *p.constants);
    p.scratch_count = p.constant_count = 1;
    p.scratch[0] = (struct scratch){"filter of a", DTYPE_F16, 4 * 27, SCRATCH_PREPARED};
    p.constants[0] = (struct constant){.span = 1};
    assert_true(work_tensor(&link.work, "filter", &p.constants[0].tensor));
    program_says(&p, &w, h, want);
}

/* A device that is lost at any call ends it: nobody goes on with what was not written or read. */
static void a_lost_device_is_noticed(void **state)
{
    struct work w = conv_work(3, 4, 5, 7, 3);
    finish(&w);
    struct op_data data;
    struct error err = {0};
    make_data(&w, DATA_PART_EXACT, &data);
    struct program p = program_of(&w);
    struct scratch own = {"sums", DTYPE_F32, 64, SCRATCH_WORK}, *before = p.scratch;
    p.scratch = &own, p.scratch_count = 1;
    struct card sums = {.dev = &device, .functions[CARD_SUM] = summing};
    for (int shared = 0, all = 0; shared < 2; shared++)
        for (lost_at = 0; lost_at <= all; lost_at++) {
            struct buffer_pool *room = shared ? buffer_pool_open(&device, &sums, 1, 1) : NULL;
            err = (struct error){0};
            bool ok = walk(room, &p, &data, &err);
            if (ok != !lost_at || (lost_at && !strstr(err.text, "the device is lost")))
                fail_msg("lost at call %d of %d and not noticed: %s", lost_at, all, err.text);
            all = lost_at ? all : calls;
            assert_true(all > 20);
            buffer_pool_close(room, false);
        }
    lost_at = 0;
    p.scratch = before, p.scratch_count = 0;
    program_free(&p);
    op_data_free(&data);
}

static int tensor(const char *name)
{
    struct work w = conv_work(3, 5, 5, 7, 3);
    finish(&w);
    struct program p = program_of(&w);
    int index = program_tensor(&p, name);
    program_free(&p);
    return index;
}

static void guards(void **state)
{
    int out = tensor("output"), filter = tensor("filter");
    int64_t even = 1 * 4 * 5 * 7 * 2, odd = 1 * 5 * 5 * 7 * 2; /* bytes of the output */
    says(4, (struct harm){NOTHING, 0, 0}, "");
    says(5, (struct harm){NOTHING, 0, 0}, "");
    says(4, (struct harm){out, even, 2}, "wrote past the end of output, first 0 bytes after it");
    says(5, (struct harm){out, odd, 2}, "wrote past the end of output, first 0 bytes after it"); /* the word's other half */
    says(5, (struct harm){out, odd + 3, 1}, "wrote past the end of output, first 3 bytes after it");
    says(5, (struct harm){out, odd + 4000, 4}, "wrote past the end of output, first 4000 bytes after it");
    says(4, (struct harm){out, -2, 2}, "wrote before the start of output, 2 bytes before it");
    says(4, (struct harm){out, -4096, 1}, "wrote before the start of output, 4096 bytes before it");
    says(5, (struct harm){filter, 5 * 27 * 2, 2}, "wrote past the end of filter, first 0 bytes after it");
}

static void inputs(void **state)
{
    int in = tensor("input"), filter = tensor("filter");
    says(4, (struct harm){in, 2 * 17, 2}, "changed its input: input, first at element 17 of its storage");
    says(4, (struct harm){filter, 1, 1}, "changed its input: filter, first at element 0 of its storage");
    says(80000, (struct harm){filter, 80000 * 54 - 1, 1}, "changed its input: filter, first at element 2159999 of its storage");
    chain_says((struct harm){NOTHING, 0, 0}, "");
    chain_says((struct harm){SCRATCH, 2 * 100, 2}, "changed its input: filter of a, first at element 100 of its storage");
    chain_says((struct harm){SCRATCH, 2 * 4 * 27, 2}, "wrote past the end of filter of a, first 0 bytes after it");
}

/* 514 bytes, two more than a whole number of 512: the zone behind goes on to the end of what was allocated. */
static void guards_reach_the_end(void **state)
{
    static const struct {
        int64_t at;
        const char *want;
    } harms[] = {{4096 + 1024 - 1, "wrote past the end of output, first 4605 bytes after it"},
                 {514, "wrote past the end of output, first 0 bytes after it"}};
    for (int i = 0; i < 2; i++) {
        struct work w = conv_work(1, 1, 1, 257, 1);
        finish(&w);
        struct program p = program_of(&w);
        assert_true(tensor_bytes(&p.tensors[program_tensor(&p, "output")]) == 514);
        program_says(&p, &w, (struct harm){program_tensor(&p, "output"), harms[i].at, 1}, harms[i].want);
    }
}

/* Zones lie around what a buffer holds, however large it is: between them nothing is filled but the rest of a word. */
static void zones_lie_around(void **state)
{
    static const size_t sizes[] = {1, 4, 514, 4096, 100000, 100002};
    for (int i = 0; i < 6; i++) {
        struct place place;
        struct error err = {0};
        assert_true(place_make(&device, "some", sizes[i], 4096, 0, &place, &err));
        const unsigned char *at = (const unsigned char *)(uintptr_t)place.base;
        uint32_t word;
        assert_true(place.address == place.base + 4096 && place.whole >= sizes[i] + 2 * 4096 && place.whole % 512 == 0);
        for (size_t k = 0; k < place.whole; k += 4) {
            memcpy(&word, at + k, 4);
            assert_true((word == RIG_GUARD_PATTERN) == (k < 4096 || k >= 4096 + sizes[i] / 4 * 4));
        }
        release(&device, place.base);
    }
}

static uint64_t lies_at(struct rig *of, const struct program *p, const char *name)
{
    return rig_address(of, (struct buffer_ref){.kind = BUFFER_TENSOR, .index = program_tensor(p, name)});
}

/* If the device sums guard zones, nothing of them is read except the bytes that share a word of 8 with an odd buffer's end, and these are
 * compared. The zone behind has two megabytes. */
static void ends_beside_sums(void **state)
{
    static const struct {
        int64_t at;
        const char *want;
    } harms[] = {{0, ""},
                 {5 * 5 * 7 * 2, "wrote past the end of output, first 0 bytes after it; "},
                 {5 * 5 * 7 * 2 + 1, "wrote past the end of output, first 1 bytes after it; "},
                 {5 * 5 * 7 * 2 + 2, "wrote past the end of output, first 2 bytes after it; "},
                 {-3, "wrote before the start of output, 3 bytes before it; "}};
    struct card sums = {.dev = &device, .functions[CARD_SUM] = summing};
    struct error err = {0};
    struct work w = conv_work(3, 5, 5, 7, 3);
    finish(&w);
    struct program p = program_of(&w);
    struct buffer_pool *room = buffer_pool_open(&device, &sums, 1, 1);
    if (!rig_open_in(room, 0, &device, NULL, &p, NULL, false, &rig, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < sizeof harms / sizeof *harms; i++) {
        struct text unsafe = {0};
        unsigned char *at = (unsigned char *)(uintptr_t)lies_at(rig, &p, "output") + harms[i].at;
        at[0] ^= i ? 0x5a : 0;
        bytes_read = 0;
        assert_true(rig_check_guards(rig, &unsafe, &err));
        if (strcmp(text_get(&unsafe), harms[i].want))
            fail_msg("said '%s', not '%s'", text_get(&unsafe), harms[i].want);
        assert_true(i > 2 || bytes_read < 100);
        text_free(&unsafe);
    }
    struct text unsafe = {0};
    calls = lost_at = 0;
    assert_true(rig_check_guards(rig, &unsafe, &err));
    for (int all = calls; lost_at < all;) { /* half of a look is none */
        calls = 0, lost_at++;
        assert_false(rig_check_guards(rig, &unsafe, &err));
    }
    assert_true(lost_at > 3);
    lost_at = 0;
    text_free(&unsafe);
    rig_close(rig);
    buffer_pool_close(room, false);
    program_free(&p);
}

/* What a run of a program of one kernel comes to. */
static struct verdict checked(struct program *p, const struct work *w, const char *dump, uint64_t *sum)
{
    struct op_data data;
    make_data(w, DATA_PART_EXACT, &data);
    struct unit unit = {.label = "kernel"};
    struct step step = {.kind = STEP_KERNEL, .name = "kernel"};
    struct device_image image = {.label = "kernel", .ptx = "."};
    struct error err = {0};
    struct verdict v;
    struct text unsafe = {0};
    p->units = &unit, p->unit_count = 1, p->steps = &step, p->step_count = 1;
    program = p, expected = &data, harm = (struct harm){NOTHING, 0, 0};
    if (!rig_open(&device, NULL, p, &image, true, &rig, &err) || !rig_feed(rig, &data, &err) || !rig_run(rig, &err) ||
        !rig_check(rig, &data, &v, &unsafe, dump, &err))
        fail_msg("%s", err.text);
    *sum = rig_output_sum(rig);
    text_free(&unsafe);
    rig_close(rig);
    p->units = NULL, p->steps = NULL, p->unit_count = p->step_count = 0;
    op_data_free(&data);
    return v;
}

static bool dumped(const char *folder, const char *name)
{
    char path[96];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return !remove(path);
}

/* Of two output tensors each must be right; an error of the second is reported after that of the first. A wrong one is dumped and a right
 * one is not. Another value changes the checksum. */
static void two_outputs(void **state)
{
    struct work w = conv_work(3, 4, 5, 7, 3);
    finish(&w);
    char folder[] = "/tmp/test_rig.XXXXXX";
    uint64_t sums[4];
    assert_non_null(mkdtemp(folder));
    for (unsigned bad = 0; bad < 4; bad++) {
        struct program p = program_of(&w);
        int first = program_tensor(&p, "output"), second = p.tensor_count++;
        p.tensors[second] = p.tensors[first];
        wrong = (bad & 1) << first | bad >> 1 << second;
        struct verdict v = checked(&p, &w, folder, &sums[bad]);
        assert_int_equal(v.ok, !bad);
        const char *once = strstr(v.text, "output(0,0,3,0)"), *twice = once ? strstr(once + 1, "output(0,0,3,0)") : NULL;
        assert_true(!once == !bad && !twice == (bad != 3));
        assert_true(!twice || !strncmp(twice - 2, "; ", 2));
        assert_true(dumped(folder, "output.npy") == (bad > 0));
        assert_true(dumped(folder, "reference.npy") == (bad > 0));
        assert_true(dumped(folder, "error.pgm") == (bad > 0));
        for (unsigned k = 0; k < bad; k++)
            assert_true(sums[k] != sums[bad]);
        wrong = 0;
        program_free(&p);
    }
    assert_int_equal(remove(folder), 0);
    w = conv_work(1, 1, 1, 257, 1); /* two bytes more than whole words of eight: they count, too */
    finish(&w);
    wrong_at = 256;
    for (unsigned bad = 0; bad < 2; bad++) {
        struct program p = program_of(&w);
        wrong = bad << program_tensor(&p, "output");
        assert_true(checked(&p, &w, NULL, &sums[bad]).ok == !bad);
        program_free(&p);
    }
    assert_true(sums[0] != sums[1]);
    wrong = 0;
    wrong_at = 3;
}

/* A buffer of a room is whose name, number and size are the same, and nobody else's; what cannot be made is nobody's. */
static void rooms(void **state)
{
    struct buffer_pool *room = buffer_pool_open(&device, NULL, 3, 2);
    static const struct {
        const char *name;
        int index;
        size_t bytes;
        int as; /* the place that it must be; itself: a fresh one */
    } asked[] = {{"filter", 0, 100, 0}, {"filter", 0, 100, 0}, {"filter", 1, 100, 2}, {"filter", 0, 200, 3},
                 {"output", 0, 100, 4}, {"filter", 1, 100, 2}, {"output", 0, 100, 4}};
    struct place places[7];
    struct error err = {0};
    bool fresh;
    for (int i = 0; i < 7; i++) {
        assert_true(buffer_pool_place(room, asked[i].name, asked[i].index, asked[i].bytes, 512, &places[i], &fresh, &err));
        assert_true(fresh == (asked[i].as == i) && places[i].bytes == asked[i].bytes && places[i].address == places[i].base + 512);
        for (int k = 0; k < i; k++)
            assert_true((places[k].address == places[i].address) == (asked[k].as == asked[i].as));
    }
    full = true;
    assert_true(buffer_pool_place(room, "output", 0, 100, 512, &places[0], &fresh, &err) && !fresh);
    assert_false(buffer_pool_place(room, "output", 2, 100, 512, &places[0], &fresh, &err));
    assert_non_null(strstr(err.text, "out of memory"));
    full = false;
    assert_true(buffer_pool_place(room, "output", 2, 100, 512, &places[0], &fresh, &err) && fresh);
    buffer_pool_close(room, false);
}

/* If a mask marks inputs, bench times a dense row on a full input and a sparse one on the changes, where it may rely on zeros in between.
 * They share weights and masks, and no input. */
static void rows_of_other_values(void **state)
{
    struct error err = {0};
    struct rig *rigs[3];
    struct work w = conv_work(3, 5, 5, 7, 3);
    w.mask = (struct mask){.pattern = MASK_IID, .density = 0.5, .seed = 1};
    finish(&w);
    struct program p = program_of(&w);
    struct buffer_pool *room = buffer_pool_open(&device, NULL, 3, 2);
    for (int i = 0; i < 3; i++)
        if (!rig_open_in(room, i == 1 ? DATA_FULL : 0, &device, NULL, &p, NULL, false, &rigs[i], &err))
            fail_msg("%s", err.text);
    assert_true(lies_at(rigs[0], &p, "input") == lies_at(rigs[2], &p, "input"));
    assert_true(lies_at(rigs[0], &p, "input") != lies_at(rigs[1], &p, "input"));
    static const char *const shared[] = {"filter", "mask_in", "output"};
    for (int i = 0; i < 3; i++)
        assert_true(lies_at(rigs[0], &p, shared[i]) == lies_at(rigs[1], &p, shared[i]));
    /* what the first one fed the others find; what was spoilt is fed again, and all of it */
    struct op_data data;
    make_data(&w, DATA_PART_EXACT, &data);
    size_t all = 0, input = tensor_bytes(&p.tensors[program_tensor(&p, "input")]);
    for (int i = 0; i < p.tensor_count; i++)
        all += p.tensors[i].written ? 0 : tensor_bytes(&p.tensors[i]);
    const size_t written[] = {all, input, 0};
    for (int again = 0; again < 2; again++)
        for (int i = 0; i < 3; i++) {
            bytes_written = 0;
            assert_true(again ? rig_restore(rigs[i], &data, &err) : rig_feed(rigs[i], &data, &err));
            assert_int_equal(bytes_written, again ? all : written[i]);
        }
    for (int i = 0; i < 3; i++)
        rig_close(rigs[i]);
    buffer_pool_close(room, false);
    program_free(&p);
    op_data_free(&data);
}

/* Who promises to read marked inputs alone finds NaN in the others: nobody else does, whatever else its head says. */
static void promises_meet_nan(void **state)
{
    static const struct {
        bool uses_mask, reads_inactive, marks_output, nan;
    } rows[] = {{true, false, false, true},
                {true, true, false, false},
                {false, false, false, false},
                {false, true, false, false},
                {true, false, true, false}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        struct error err = {0};
        struct op_data data;
        struct work w = conv_work(3, 5, 5, 7, 3);
        w.mask = (struct mask){.pattern = MASK_IID, .density = 0.5, .seed = 1, .marks_output = rows[k].marks_output};
        finish(&w);
        make_data(&w, DATA_PART_EXACT, &data);
        struct program p = program_of(&w);
        p.uses_mask = rows[k].uses_mask, p.reads_inactive = rows[k].reads_inactive;
        program = &p, expected = &data;
        if (!rig_open(&device, NULL, &p, NULL, true, &rig, &err) || !rig_feed(rig, &data, &err))
            fail_msg("%s", err.text);
        int at = program_tensor(&p, "input"), blank = 0, marked = 0;
        for (int64_t i = 0; i < 3 * 5 * 7; i++) {
            double v;
            assert_true(rig_read(rig, (struct buffer_ref){.kind = BUFFER_TENSOR, .index = at}, i, &v, &err));
            blank += isnan(v);
        }
        for (int64_t i = 0; i < 5 * 7 && !rows[k].marks_output; i++)
            marked += op_data_of(w.op, &data, "mask_in")->value[i] != 0;
        assert_int_equal(blank, rows[k].nan ? 3 * (35 - marked) : 0);
        rig_close(rig);
        rig = NULL;
        program_free(&p);
        op_data_free(&data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_lost_device_is_noticed),
                                       cmocka_unit_test(promises_meet_nan),
                                       cmocka_unit_test(guards),
                                       cmocka_unit_test(rows_of_other_values),
                                       cmocka_unit_test(guards_reach_the_end),
                                       cmocka_unit_test(zones_lie_around),
                                       cmocka_unit_test(inputs),
                                       cmocka_unit_test(rooms),
                                       cmocka_unit_test(ends_beside_sums),
                                       cmocka_unit_test(two_outputs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
