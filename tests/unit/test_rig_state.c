/* measure/rig/rig_state on emu: what code keeps between launches, and what prepare finds. */
#include "works.h"
#include "measure/verify/device_check.h"
#include "measure/verify/verify.h"
#include "measure/rig/rig.h"
#include "op/reference/generate.h"
#include "op/shape.h"
#include "op/reference/data.h"
#include "run/child/devices.h"
#include <stdio.h>

#define HEADER ".version 8.0\n.target sm_90\n.address_size 64\n.visible .global .align 4 .u32 hits;\n.global .align 4 .b8 other[4];\n"
#define ENTRY(body) \
    HEADER ".visible .entry k(.param .u64 to)\n{\n.reg .b32 %r<4>; .reg .b64 %d<4>;\nld.param.u64 %d1, [to];\n" body "ret;\n}\n"

static struct device *dev;
static struct program p;
static struct work w;
static struct op_data data, checked_there; /* the latter where the check on the device can be had, else nothing */
static const struct op_data *fed = &data;
static struct card *card;
static const struct device_ops *whole; /* emu's own, where a test has put some that fail in their place */

/* input and filter of a small convolution, a scratch buffer of the input's size; the steps are the test's. */
static int begin(void **state)
{
    struct error err = {0};
    w = conv_work(3, 4, 5, 7, 3);
    finish(&w);
    if (!getenv("BENCH_HOME"))
        setenv("BENCH_HOME", ".", 1);
    if (!device_open("emu", &dev, &err) || !op_data_make(&w, DATA_PART_EXACT, &data, &err))
        return -1;
    whole = dev->ops;
    if (card_open(dev, NULL, &card, &err) && !card_data_make(card, &w, DATA_PART_EXACT, &checked_there, &err))
        return -1;
    return 0;
}

static int end(void **state)
{
    card_data_free(checked_there.card);
    op_data_free(&checked_there);
    op_data_free(&data);
    card_close(card);
    device_close(dev);
    return 0;
}

static struct rig *rig_of(struct step *steps, int count, const char *ptx)
{
    static struct unit unit = {.label = "kernel"};
    static struct device_image image;
    static struct tensor tensors[OP_MAX_TENSORS];
    static struct scratch scratch;
    struct error err = {0};
    struct rig *rig;
    scratch = (struct scratch){.name = "kept", .dtype = DTYPE_F16, .elements = 3 * 5 * 7};
    for (int i = 0; i < count; i++)
        scratch.kind = steps[i].prepare ? SCRATCH_PREPARED : scratch.kind;
    image = (struct device_image){.label = "kernel", .path = "k.ptx", .ptx = ptx, .ptx_bytes = ptx ? strlen(ptx) : 0};
    p = (struct program){.work = w,
                         .tensors = tensors,
                         .scratch = &scratch,
                         .scratch_count = 1,
                         .units = &unit,
                         .unit_count = 1,
                         .steps = steps,
                         .step_count = count};
    p.tensor_count = w.op->tensors(&w, tensors);
    if (!rig_open(dev, NULL, &p, &image, true, &rig, &err) || !rig_feed(rig, fed, &err))
        fail_msg("%s", err.text);
    return rig;
}

/* Emu runs PTX: of machine code alone it says so. */
static void machine_code_alone(void **state)
{
    struct unit unit = {.label = "kernel"};
    struct device_image image = {.label = "kernel", .cubin = "cubin", .cubin_bytes = 5};
    struct tensor tensors[OP_MAX_TENSORS];
    struct error err = {0};
    struct rig *rig;
    p = (struct program){.work = w, .tensors = tensors, .units = &unit, .unit_count = 1};
    p.tensor_count = w.op->tensors(&w, tensors);
    assert_false(rig_open(dev, NULL, &p, &image, true, &rig, &err));
    assert_string_equal(err.text, "not on emu: kernel is a cubin, and emu runs only PTX");
}

static bool depends(struct step *steps, int count)
{
    struct error err = {0};
    bool yes;
    struct rig *rig = rig_of(steps, count, NULL);
    if (!rig_prepare_depends(rig, &yes, &err))
        fail_msg("%s", err.text);
    rig_close(rig);
    return yes;
}

/* Steps that no head could have, for binding refuses them: what a kernel does that looks for its inputs in memory. */
static void prepare_that_reads_inputs(void **state)
{
    struct work *own = &w;
    struct tensor all[OP_MAX_TENSORS];
    int count = own->op->tensors(own, all), input = -1, filter = -1;
    for (int i = 0; i < count; i++) {
        input = !strcmp(all[i].role->name, "input") ? i : input;
        filter = !strcmp(all[i].role->name, "filter") ? i : filter;
    }
    const struct buffer_ref kept = {.kind = BUFFER_SCRATCH};
    struct step from_input = {
        .kind = STEP_COPY, .name = "copy", .prepare = true, .to = kept, .from = {.kind = BUFFER_TENSOR, .index = input}, .bytes = 64};
    struct step from_filter = {
        .kind = STEP_COPY, .name = "copy", .prepare = true, .to = kept, .from = {.kind = BUFFER_TENSOR, .index = filter}, .bytes = 64};
    struct step fill = {.kind = STEP_FILL, .name = "fill", .prepare = true, .to = kept};
    struct step timed = {.kind = STEP_COPY, .name = "copy", .to = kept, .from = {.kind = BUFFER_TENSOR, .index = input}, .bytes = 64};
    assert_true(depends((struct step[]){from_input, timed}, 2));
    assert_true(depends((struct step[]){fill, from_input, timed}, 3));
    assert_false(depends((struct step[]){from_filter, timed}, 2));
    assert_false(depends((struct step[]){fill, timed}, 2));
    assert_false(depends((struct step[]){timed}, 1)); /* nothing is prepared */
    assert_false(depends(NULL, 0));
}

/* The same where what was prepared is summed up on the device. */
static void prepare_is_looked_at_there(void **state)
{
    if (!card)
        skip();
    fed = &checked_there;
    prepare_that_reads_inputs(state);
    fed = &data;
}

/* Inputs of the device's own follow such of the host: what is compared with is what was fed last. */
static void fed_from_either_side(void **state)
{
    if (!card)
        skip();
    struct rig *rig = rig_of(NULL, 0, NULL);
    struct error err = {0};
    struct verdict v;
    struct text unsafe = {0};
    for (int i = 0; i < 2; i++)
        if (!rig_feed(rig, &checked_there, &err) || !rig_check(rig, &checked_there, &v, &unsafe, NULL, &err))
            fail_msg("%s", err.text);
    assert_string_equal(text_get(&unsafe), "");
    text_free(&unsafe);
    rig_close(rig);
}

/* The same, hidden in the module. */
static void prepare_that_hides_inputs(void **state)
{
    struct step hunt = {
        .kind = STEP_KERNEL, .name = "k", .prepare = true, .grid = {1, 1, 1}, .block = {1, 1, 1}, .carveout = -1, .arg_count = 1};
    const char *hides = ENTRY("ld.global.u32 %r1, [%d1]; st.global.u32 [hits], %r1;\n");
    static const char *const roles[] = {"input", "filter"};
    for (int i = 0; i < 2; i++) {
        struct error err = {0};
        bool yes;
        struct rig *rig = rig_of(&hunt, 0, NULL);
        rig_close(rig);
        hunt.args[0] =
            (struct arg){.kind = ARG_BUFFER, .name = "at", .buffer = {.kind = BUFFER_TENSOR, .index = program_tensor(&p, roles[i])}};
        rig = rig_of(&hunt, 1, hides);
        if (!rig_prepare_depends(rig, &yes, &err))
            fail_msg("%s", err.text);
        assert_true(yes == (i == 0));
        rig_close(rig);
    }
}

/* What is said after two launches of a kernel with this body. */
static void says(const char *ptx, const char *first, const char *second)
{
    struct step step = {.kind = STEP_KERNEL, .name = "k", .grid = {1, 1, 1}, .block = {1, 1, 1}, .carveout = -1, .arg_count = 1};
    step.args[0] = (struct arg){.kind = ARG_BUFFER, .name = "kept", .buffer = {.kind = BUFFER_SCRATCH}};
    struct error err = {0};
    struct rig *rig = rig_of(&step, 1, ptx);
    const char *const wants[] = {first, second};
    if (!rig_state_keep(rig, &err))
        fail_msg("%s", err.text);
    for (int launch = 0; launch < 2; launch++) {
        struct text said = {0};
        if (!rig_run(rig, &err) || !rig_state_check(rig, &said, &err))
            fail_msg("%s", err.text);
        assert_string_equal(text_get(&said), wants[launch]);
        text_free(&said);
    }
    rig_close(rig);
}

#define CHANGED "a launch changed module memory, where a kernel could keep results for later launches: "
static void module_memory(void **state)
{
    says(ENTRY("mov.u64 %d2, hits; atom.global.add.u32 %r1, [%d2], 1;\n"), CHANGED "`hits` (4 bytes)", CHANGED "`hits` (4 bytes)");
    says(ENTRY("mov.u32 %r1, 7; st.global.u32 [hits], %r1; st.global.u32 [other], %r1;\n"), CHANGED "`hits` (4 bytes), `other` (4 bytes)",
         "");
    says(".version 8.0\n.target sm_90\n.address_size 64\n.visible .global .align 4 .b32 __cudart_kept;\n" /* called as the compiler's tables
                                                                                                           */
         ".visible .entry k(.param .u64 to)\n{\n.reg .b32 %r<4>;\nmov.u32 %r1, 7; st.global.u32 [__cudart_kept], %r1;\nret;\n}\n",
         CHANGED "`__cudart_kept` (4 bytes)", "");
    says(ENTRY("ld.global.u32 %r1, [hits]; st.global.u32 [%d1], %r1;\n"), "", ""); /* a table that is read */
    says(ENTRY("mov.u32 %r1, 0; st.global.u32 [hits], %r1;\n"), "", "");           /* the same bytes are no state */
    says(ENTRY("mov.u32 %r1, 7; st.global.u32 [%d1], %r1;\n"), "", "");            /* merely there */
}

/* Of a variable larger than the piece that is read at a time the second piece counts, too. */
static void large_variables(void **state)
{
    says(".version 8.0\n.target sm_90\n.address_size 64\n.visible .global .align 4 .b8 wide[1572864];\n"
         ".visible .entry k(.param .u64 to)\n{\n.reg .b32 %r<4>;\nmov.u32 %r1, 7; st.global.u32 [wide+1200000], %r1;\nret;\n}\n",
         CHANGED "`wide` (1572864 bytes)", "");
}

static void heap(void **state)
{
    struct device_image images[] = {{.ptx = ENTRY("")}, {.ptx = ".entry k() { call.uni (r), malloc, (n); }"}, {0}};
    struct text how = {0};
    assert_false(rig_may_remember(images, 1, &how));
    assert_false(rig_may_remember(&images[2], 1, &how));
    assert_true(rig_may_remember(images, 2, &how));
    assert_non_null(strstr(text_get(&how), "malloc"));
    text_free(&how);
}

/* What tells one launch from another: nothing else needs to be kept. */
static void launches(void **state)
{
    static const char *const read[] = {"mov.u64 %d2, %gridid;\n", "mov.u64 %d2,%current_graph_exec;\n", "mov.u32 %r1, %pm3;\n",
                                       "mov.u64 %d2, %pm7_64;\n"};
    static const char *const others[] = {"mov.u64 %d2, %globaltimer;\n", "// %gridid\n", "mov.u32 %r1, %smid; /* %pm0 */\n",
                                         "mov.u32 %pm0_x, %gridid_2;\n"};
    for (int i = 0; i < 4; i++) {
        char ptx[256], word[32];
        struct text how = {0};
        struct device_image image = {.ptx = ptx};
        snprintf(ptx, sizeof ptx, ".entry k() { %s }", others[i]);
        assert_false(rig_may_remember(&image, 1, &how));
        snprintf(ptx, sizeof ptx, ".entry k() { %s }", read[i]);
        assert_true(rig_may_remember(&image, 1, &how));
        snprintf(word, sizeof word, "reads %.*s,", (int)strcspn(strrchr(read[i], '%'), ";"), strrchr(read[i], '%'));
        assert_non_null(strstr(text_get(&how), word));
        text_free(&how);
    }
}

/* What a step fills before the kernel in every launch is no state, whatever the kernel writes there. State are: the rest of a variable that
 * the step fills in part, what is filled after the kernel, which found the previous launch's values there, and other variables.
 */
static void what_is_filled_is_no_state(void **state)
{
    const struct step fill = {.kind = STEP_SYMBOL, .name = "symbol hits", .symbol = "hits", .from = {.kind = BUFFER_SCRATCH}, .bytes = 4};
    struct step k = {.kind = STEP_KERNEL, .name = "k", .grid = {1, 1, 1}, .block = {1, 1, 1}, .carveout = -1, .arg_count = 1};
    const struct step once = {.kind = STEP_FILL, .name = "fill", .prepare = true, .to = {.kind = BUFFER_SCRATCH}, .fill = 5};
    const char *both = ENTRY("mov.u32 %r1, 458759; st.global.u32 [hits], %r1; st.global.u32 [other], %r1;\n");
    static const struct {
        bool prepare, late;
        size_t bytes;
        const char *want;
    } fills[] = {{false, false, 4, CHANGED "`other` (4 bytes)"},
                 {true, false, 4, CHANGED "`hits` (4 bytes), `other` (4 bytes)"},
                 {false, true, 4, CHANGED "`hits` (4 bytes), `other` (4 bytes)"},
                 {false, false, 2, CHANGED "`hits` (2 bytes), `other` (4 bytes)"}};
    k.args[0] = (struct arg){.kind = ARG_BUFFER, .name = "kept", .buffer = {.kind = BUFFER_SCRATCH}};
    for (int i = 0; i < 4; i++) {
        struct error err = {0};
        struct text said = {0};
        struct step steps[3] = {once, fill, k}; /* what runs once, before, changes nothing in that */
        if (fills[i].late)
            steps[1] = k, steps[2] = fill;
        steps[1 + fills[i].late].prepare = fills[i].prepare;
        steps[1 + fills[i].late].bytes = fills[i].bytes;
        struct rig *rig = rig_of(steps, 3, both);
        if (!rig_prepare(rig, NULL, &err) || !rig_state_keep(rig, &err) || !rig_run(rig, &err) || !rig_state_check(rig, &said, &err))
            fail_msg("%s", err.text);
        if (strcmp(text_get(&said), fills[i].want))
            fail_msg("%d: '%s', want '%s'", i, text_get(&said), fills[i].want);
        text_free(&said);
        rig_close(rig);
    }
}

/* What scratch is wiped with is no number in f32 or f16 and another one each time: nobody can count from it. Outputs have their mark. */
static void scratch_is_wiped_otherwise(void **state)
{
    struct error err = {0};
    struct rig *rig = rig_of(NULL, 0, NULL);
    uint32_t now, last = VERIFY_POISON, output;
    for (int i = 0; i < 6; i++, last = now) {
        if (!rig_poison_all(rig, &err) ||
            !dev->ops->read(dev, rig_address(rig, (struct buffer_ref){.kind = BUFFER_SCRATCH}), &now, 4, &err) ||
            !dev->ops->read(dev, rig_address(rig, (struct buffer_ref){.kind = BUFFER_TENSOR, .index = program_tensor(&p, "output")}),
                            &output, 4, &err))
            fail_msg("%s", err.text);
        assert_true(output == VERIFY_POISON && now != VERIFY_POISON && now != last);
        assert_true((now & 0x7fffffff) > 0x7f800000); /* IEEE 754: beyond infinity */
        assert_true((now & 0x7fff) > 0x7c00 && (now >> 16 & 0x7fff) > 0x7c00);
    }
    rig_close(rig);
}

/* No kernel writes a constant; a step does, and behind a kernel it keeps what that left in scratch for the next launch. */
static void constants_are_kept_by_steps(void **state)
{
    struct step steps[2] = {
        {.kind = STEP_KERNEL, .name = "k", .grid = {1, 1, 1}, .block = {1, 1, 1}, .carveout = -1, .arg_count = 1},
        {.kind = STEP_SYMBOL, .name = "symbol before", .symbol = "before", .from = {.kind = BUFFER_SCRATCH}, .bytes = 4}};
    const char *ptx = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .const .align 4 .b32 before;\n.visible .global .u32 hits;\n"
                      ".visible .entry k(.param .u64 to)\n{\n.reg .b32 %r<4>; .reg .b64 %d<4>;\nld.param.u64 %d1, [to];\n"
                      "ld.global.u32 %r2, [hits];\n" /* a variable beside it */
                      "ld.const.u32 %r1, [before]; add.u32 %r1, %r1, 7; st.global.u32 [%d1], %r1;\nret;\n}\n";
    steps[0].args[0] = (struct arg){.kind = ARG_BUFFER, .name = "kept", .buffer = {.kind = BUFFER_SCRATCH}};
    for (int first = 0; first < 2; first++) { /* filled before it runs it is what the step says */
        struct error err = {0};
        struct text said = {0};
        struct step order[2] = {steps[first], steps[!first]};
        struct rig *rig = rig_of(order, 2, ptx);
        if (!rig_state_keep(rig, &err) || !rig_run(rig, &err) || !rig_state_check(rig, &said, &err))
            fail_msg("%s", err.text);
        assert_string_equal(text_get(&said), first ? "" : CHANGED "`before` (4 bytes)");
        text_free(&said);
        rig_close(rig);
    }
}

/* Launches may only read prepared data. A changed byte is reported once; a byte written with the same value is not. The comparison runs on
 * the device or on data that were read back. */
static void what_was_prepared_is_not_changed(void **state)
{
    struct step steps[2] = {{.kind = STEP_FILL, .name = "fill", .prepare = true, .to = {.kind = BUFFER_SCRATCH}, .fill = 7},
                            {.kind = STEP_KERNEL, .name = "k", .grid = {1, 1, 1}, .block = {1, 1, 1}, .carveout = -1, .arg_count = 1}};
    static const char *const prepared = "a launch changed the prepared data, where a kernel could keep results for later launches: `kept`";
    steps[1].args[0] = (struct arg){.kind = ARG_BUFFER, .name = "kept", .buffer = {.kind = BUFFER_SCRATCH}};
    for (int i = 0; i < 4; i++) {
        struct error err = {0};
        fed = i >= 2 && card ? &checked_there : &data;
        struct rig *rig = rig_of(steps, 2,
                                 i % 2 ? ENTRY("mov.u32 %r1, 8; st.global.u32 [%d1 + 204], %r1;\n")
                                       : ENTRY("mov.u32 %r1, 7; st.global.u32 [%d1 + 204], %r1;\n"));
        for (int round = 0; round < 2; round++) {
            struct text said = {0}, again = {0};
            if (!rig_prepare(rig, NULL, &err) || !rig_state_keep(rig, &err) || !rig_run(rig, &err) || !rig_state_check(rig, &said, &err) ||
                !rig_state_check(rig, &again, &err))
                fail_msg("%s", err.text);
            assert_string_equal(text_get(&said), i % 2 ? prepared : "");
            assert_string_equal(text_get(&again), "");
            text_free(&said);
            text_free(&again);
        }
        rig_close(rig);
    }
    fed = &data;
}

/* A device that can no longer be read is an error, whichever read it is, and no verdict. */
static struct device_ops failing;
static int reads, read_fails;
static bool read_or_fail(struct device *d, uint64_t address, void *to, size_t bytes, struct error *err)
{
    return ++reads == read_fails ? error_set(err, ERROR_WRONG, "the device is lost") : whole->read(d, address, to, bytes, err);
}

static void what_cannot_be_read_is_not_judged(void **state)
{
    struct step copy = {.kind = STEP_COPY, .name = "copy", .to = {.kind = BUFFER_SCRATCH}, .from = {.kind = BUFFER_TENSOR}, .bytes = 64};
    struct error err = {0};
    struct verdict v;
    struct rig *rig = rig_of(&copy, 1, NULL);
    failing = *whole;
    failing.read = read_or_fail;
    dev->ops = &failing;
    if (!rig_run(rig, &err))
        fail_msg("%s", err.text);
    for (bool ok = false; !ok;) {
        struct text unsafe = {0};
        reads = 0;
        read_fails++;
        ok = rig_check(rig, &data, &v, &unsafe, NULL, &err);
        assert_true(ok == (reads < read_fails));
        assert_true(ok || !strcmp(err.text, "the device is lost"));
        err = (struct error){0};
        text_free(&unsafe);
    }
    assert_true(read_fails > 2); /* inputs, the output */
    dev->ops = whole;
    rig_close(rig);
}

static bool waiting_fails(struct device *d, struct error *err)
{
    return error_set(err, ERROR_WRONG, "the device is lost");
}
static bool reading_fails(struct device *d, uint64_t address, void *to, size_t bytes, struct error *err)
{
    return error_set(err, ERROR_WRONG, "the device is lost");
}

/* Before a variable is looked at the launches are waited for, and it is read; without one nothing is. */
static void what_cannot_be_waited_for_is_not_judged(void **state)
{
    struct step step = {.kind = STEP_KERNEL, .name = "k", .grid = {1, 1, 1}, .block = {1, 1, 1}, .carveout = -1, .arg_count = 1};
    step.args[0] = (struct arg){.kind = ARG_BUFFER, .name = "kept", .buffer = {.kind = BUFFER_SCRATCH}};
    for (int has = 0; has < 2; has++) {
        struct error err = {0};
        struct text said = {0};
        struct verdict v;
        struct rig *rig = rig_of(&step, 1, has ? ENTRY("mov.u64 %d2, hits; atom.global.add.u32 %r1, [%d2], 1;\n") : ENTRY(""));
        failing = *whole;
        failing.sync = waiting_fails;
        dev->ops = &failing;
        assert_true(rig_state_keep(rig, &err) == !has);
        assert_true(rig_state_check(rig, &said, &err) == !has);
        assert_false(rig_check(rig, &data, &v, &said, NULL, &err));
        assert_string_equal(err.text, "the device is lost");
        assert_int_equal(said.len, 0);
        failing = *whole;
        failing.read = reading_fails;
        assert_true(rig_state_keep(rig, &err) == !has && rig_state_check(rig, &said, &err) == !has);
        dev->ops = whole;
        text_free(&said);
        rig_close(rig);
    }
}

/* What is prepared cannot be compared where a step of it, or what spoils it, fails: whichever call it is, nothing is said. */
static int fills, copies, fails_at;
static bool copy_or_fail(struct device *d, uint64_t to, uint64_t from, size_t bytes, struct error *err)
{
    return fills + ++copies == fails_at ? error_set(err, ERROR_WRONG, "the device is lost") : whole->copy(d, to, from, bytes, err);
}
static bool fill_or_fail(struct device *d, uint64_t address, uint32_t pattern, size_t bytes, struct error *err)
{
    return ++fills + copies == fails_at ? error_set(err, ERROR_WRONG, "the device is lost") : whole->fill(d, address, pattern, bytes, err);
}

static void what_cannot_be_prepared_is_not_judged(void **state)
{
    struct step copy = {
        .kind = STEP_COPY, .name = "copy", .prepare = true, .to = {.kind = BUFFER_SCRATCH}, .from = {.kind = BUFFER_TENSOR}, .bytes = 64};
    struct rig *rig = rig_of(&copy, 1, NULL);
    failing = *whole;
    failing.copy = copy_or_fail;
    failing.fill = fill_or_fail;
    dev->ops = &failing;
    fails_at = 0;
    for (bool ok = false, yes; !ok;) {
        struct error err = {0};
        fills = copies = 0;
        fails_at++;
        ok = rig_prepare_depends(rig, &yes, &err);
        assert_true(ok == (fills + copies < fails_at));
        assert_true(ok || (!yes && !strcmp(err.text, "the device is lost")));
    }
    assert_true(copies == 2 && fills > 2);
    dev->ops = whole;
    rig_close(rig);
}

/* A GPU shows a variable by its name only where the code says so; emu shows all, and runs the code as it is given. */
static char *loaded;
static bool load_and_tell(struct device *d, const struct device_image *image, struct device_module **module, struct error *err)
{
    free(loaded);
    loaded = xstrdup(image->ptx);
    return whole->load(d, image, module, err);
}

static void variables_are_made_visible(void **state)
{
    static const char hidden[] = "\n.global .align 4 .b8 other", shown[] = "\n.visible .global .align 4 .b8 other";
    failing = *whole;
    failing.load = load_and_tell;
    dev->ops = &failing;
    for (int gpu = 0; gpu < 2; gpu++) {
        failing.keeps_time = gpu;
        rig_close(rig_of(NULL, 0, ENTRY("mov.u32 %r1, 7; st.global.u32 [other], %r1;\n")));
        assert_true((strstr(loaded, shown) != NULL) == gpu && (strstr(loaded, hidden) != NULL) == !gpu);
    }
    free(loaded);
    loaded = NULL;
    dev->ops = whole;
}

static bool show_none(struct device *d, struct device_module *module, const char *name, uint64_t *address, size_t *bytes, struct error *err)
{
    return error_set(err, ERROR_ENVIRONMENT, "no such name");
}

/* State that a device does not expose is reported by the name of the first variable. Tables of the compiler's own library (sinf's, among
 * others) are no state.
 */
static void what_is_not_shown_is_said(void **state)
{
    static const char
        table[] = ".version 8.0\n.target sm_90\n.address_size 64\n.global .align 4 .b32 __cudart_i2opi_f;\n"
                  ".visible .entry k(.param .u64 to)\n{\n.reg .b32 %r<4>;\nld.global.u32 %r1, [__cudart_i2opi_f];\nret;\n}\n",
        told[] =
            "its code refers to `hits`, module memory that bench cannot read on this device: it cannot check whether a launch changes it";
    failing = *whole;
    failing.symbol = show_none;
    dev->ops = &failing;
    says(ENTRY("mov.u32 %r1, 7; st.global.u32 [hits], %r1; st.global.u32 [other], %r1;\n"), told, told);
    says(table, "", "");
    dev->ops = whole;
}

/* What a device was told: fills by their letter, streams by their number; fills fail from `letter_fails` on, streams at `stream_fails`. */
static char order[16], letter_fails;
static int stream_fails;

static bool note(char what)
{
    order[strlen(order)] = what;
    return true;
}

static bool noted_fill(struct device *d, uint64_t address, uint32_t pattern, size_t bytes, struct error *err)
{
    return note((char)pattern) && ((char)pattern != letter_fails || error_set(err, ERROR_WRONG, "the device is lost"));
}

static bool noted_stream(struct device *d, int index, struct error *err)
{
    return note((char)('0' + index)) && (index != stream_fails || error_set(err, ERROR_WRONG, "no stream"));
}

static bool look(void *context, int step, struct error *err)
{
    return note('.');
}

static void is_told(struct rig *rig, bool (*between)(void *context, int step, struct error *err), bool works, const char *want)
{
    struct error err = {0};
    memset(order, 0, sizeof order);
    assert_int_equal(rig_run_stepwise(rig, between, NULL, &err), works);
    assert_string_equal(order, want);
}

/* Steps of other streams lie between a fork and a join; what looks between steps, and a device of one stream, have them in order. */
static void steps_have_streams(void **state)
{
    struct step steps[4];
    struct device_ops noting = *whole;
    for (int i = 0; i < 4; i++)
        steps[i] = (struct step){.kind = STEP_FILL,
                                 .name = "fill",
                                 .to = {.kind = BUFFER_SCRATCH},
                                 .fill = (uint32_t)('a' + i),
                                 .stream = i % 3,
                                 .prepare = false};
    struct rig *rig = rig_of(steps, 4, NULL);
    noting.fill = noted_fill;
    noting.stream = noted_stream;
    stream_fails = -1;
    letter_fails = 0;
    dev->ops = &noting;
    is_told(rig, NULL, true, "a1b2c0d");
    is_told(rig, look, true, "a.b.c.d.");
    steps[3].stream = 1; /* the last step, too, is waited for */
    is_told(rig, NULL, true, "a1b2c1d0");
    letter_fails = 'c'; /* a run that fails ends on the main stream */
    is_told(rig, NULL, false, "a1b2c0");
    stream_fails = 2;
    is_told(rig, NULL, false, "a1b20");
    noting.stream = NULL;
    letter_fails = 0;
    is_told(rig, NULL, true, "abcd");
    dev->ops = whole;
    rig_close(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(machine_code_alone),
                                       cmocka_unit_test(steps_have_streams),
                                       cmocka_unit_test(prepare_that_reads_inputs),
                                       cmocka_unit_test(prepare_is_looked_at_there),
                                       cmocka_unit_test(fed_from_either_side),
                                       cmocka_unit_test(prepare_that_hides_inputs),
                                       cmocka_unit_test(module_memory),
                                       cmocka_unit_test(large_variables),
                                       cmocka_unit_test(heap),
                                       cmocka_unit_test(launches),
                                       cmocka_unit_test(what_is_filled_is_no_state),
                                       cmocka_unit_test(constants_are_kept_by_steps),
                                       cmocka_unit_test(what_was_prepared_is_not_changed),
                                       cmocka_unit_test(scratch_is_wiped_otherwise),
                                       cmocka_unit_test(what_cannot_be_read_is_not_judged),
                                       cmocka_unit_test(what_cannot_be_prepared_is_not_judged),
                                       cmocka_unit_test(variables_are_made_visible),
                                       cmocka_unit_test(what_is_not_shown_is_said),
                                       cmocka_unit_test(what_cannot_be_waited_for_is_not_judged)};
    return cmocka_run_group_tests(tests, begin, end);
}
