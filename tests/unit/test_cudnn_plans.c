/* device/cudnn/plan with a stand-in for the library with known engines, refusals and notes: which plans result, in which order, and which
 * addresses each execution gets. */
#include "base/text.h"
#include "device/cudnn/private.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fake_cudnn.h"

/* ---- what the tests share ---- */

static struct cudnn *handle;
static struct cudnn_plan **plans;
static struct error err;

static void begin(bool is_described)
{
    world = (struct world){0};
    err = (struct error){0};
    described = is_described;
    handle = xcalloc(1, sizeof *handle);
    handle->api = &api;
    if (described) {
        handle->properties = calloc(1, sizeof gpu);
        free(handle->properties);
        handle->properties = &gpu;
    } else {
        handle->handle = &a_handle;
        handle->dev = fake_device();
    }
}

/* Whatever was made was given back. */
static void end(void)
{
    handle->properties = NULL;
    cudnn_close(handle);
    assert_int_equal(world.alive, 0);
}

static void give_back(int count)
{
    for (int i = 0; i < count; i++)
        cudnn_plan_free(plans[i]);
    free(plans);
}

static struct offered *offer(int mode, int engine)
{
    struct offered *o = &world.list[mode][world.counts[mode]++];
    *o = (struct offered){.engine = engine, .workspace = 100 * engine};
    return o;
}

static void plans_are(const struct cudnn_conv *c, int most, const char *want)
{
    struct text t = {0};
    int count = cudnn_plans(handle, c, most, &plans, &err);
    for (int i = 0; i < count; i++) {
        const struct cudnn_plan_facts *f = cudnn_plan_facts(plans[i]);
        text_addf(&t, "%c%d:%d ", f->mode, f->rank, f->engine);
        assert_int_equal(f->workspace_bytes, 100 * f->engine);
    }
    assert_string_equal(text_get(&t), want);
    assert_true(count > 0 || err.kind != ERROR_NONE);
    text_free(&t);
    give_back(count);
}

/* Plans alternate among the three heuristics, rank by rank, each configuration once. If the device refuses one, the next takes its
 * place. */
static void the_order_of_plans(void **state)
{
    for (int i = 0; i < 2; i++) {
        const struct cudnn_conv c = small_conv(DTYPE_F16, MATH_F16_ACC32);
        begin(i);
        offer(HEURISTIC_A, 1), offer(HEURISTIC_A, 2)->refused = true, offer(HEURISTIC_A, 3), offer(HEURISTIC_A, 4), offer(HEURISTIC_A, 0);
        offer(HEURISTIC_B, 1), offer(HEURISTIC_B, 5), offer(HEURISTIC_B, 3);
        offer(HEURISTIC_FALLBACK, 6);
        plans_are(&c, 20, "A0:1 F0:6 B1:5 A2:3 A3:4 A4:0 ");
        plans_are(&c, 3, "A0:1 F0:6 B1:5 ");
        plans_are(&c, 5, "A0:1 F0:6 B1:5 A2:3 A3:4 ");
        plans_are(&c, 6, "A0:1 F0:6 B1:5 A2:3 A3:4 A4:0 ");
        assert_int_equal(cudnn_plans(handle, &c, 0, &plans, &err), 0);
        assert_null(plans);
        world.list[HEURISTIC_A][0].refused = world.list[HEURISTIC_FALLBACK][0].refused = true; /* fewer are left than are wanted */
        plans_are(&c, 5, "B1:5 A2:3 A3:4 A4:0 ");
        world.list[HEURISTIC_A][0].refused = world.list[HEURISTIC_FALLBACK][0].refused = false;
        world.list[HEURISTIC_B][1].engine = -1; /* it does not say which */
        world.list[HEURISTIC_A][4].workspace = -1;
        plans_are(&c, 20, "A0:1 F0:6 A2:3 A3:4 ");
        end();
    }
}

/* A heuristic that fails adds no plan, and the others still do. A configuration beyond the array, or one that is listed but not returned,
 * is not used. */
static void heuristics_that_fail(void **state)
{
    const struct cudnn_conv c = small_conv(DTYPE_F16, MATH_F16_ACC32);
    struct text all = {0};
    begin(false);
    for (int i = 0; i < MOST; i++)
        offer(HEURISTIC_A, i + 1);
    offer(HEURISTIC_B, 1000);
    for (int i = 0; i < 256; i++)
        text_addf(&all, i ? "A%d:%d " : "A%d:%d B0:1000 ", i, i + 1);
    plans_are(&c, MOST, text_get(&all));
    text_free(&all);
    world.no_more = DESCRIPTOR_ENGINEHEUR, world.room = 1; /* one of the three */
    plans_are(&c, 2, "A0:1 A1:2 ");
    world.no_more = DESCRIPTOR_ENGINECFG, world.room = 3;
    plans_are(&c, 9, "A0:1 A1:2 A2:3 ");
    world.no_more = 0;
    world.lists_nothing = true;
    plans_are(&c, 9, "");
    world.lists_nothing = false;
    world.no_more = DESCRIPTOR_EXECUTION_PLAN, world.room = 2;
    plans_are(&c, 9, "A0:1 B0:1000 ");
    world.no_more = DESCRIPTOR_ENGINE, world.room = 2;
    plans_are(&c, 9, "A0:1 B0:1000 ");
    world.no_more = 0;
    end();
}

/* Engine, knobs by name or number, notes that are known, and the workspace. */
static void what_a_plan_says(void **state)
{
    const struct cudnn_conv c = small_conv(DTYPE_F16, MATH_F16_ACC32);
    begin(true);
    struct offered *o = offer(HEURISTIC_A, 62);
    *o = (struct offered){.engine = 62,
                          .workspace = 77,
                          .notes = {NOTE_TENSOR_CORE, -1, NOTE_COUNT, NOTE_STRICT_NAN_PROP},
                          .note_count = 4,
                          .knobs = {{2, 4}, {44, -5}},
                          .knob_count = 2};
    offer(HEURISTIC_A, 62)->knobs[0][1] = 1; /* without knobs; then the same engine with others */
    o = offer(HEURISTIC_A, 62);
    o->knobs[0][0] = 43, o->knobs[0][1] = 9, o->knob_count = 1;
    o->notes[0] = NOTE_DOWN_CONVERT_INPUTS, o->note_count = 1;
    for (int i = 1; i < 4; i++)
        o->notes[i] = -1;
    o->note_count = NOTE_COUNT + 5; /* more than anybody knows */
    assert_int_equal(cudnn_plans(handle, &c, 9, &plans, &err), 3);
    const struct cudnn_plan_facts *f = cudnn_plan_facts(plans[0]);
    assert_string_equal(f->text, "engine 62 TILE_SIZE=4 KNOB44=-5");
    assert_string_equal(f->notes, "TENSOR_CORE STRICT_NAN_PROP");
    assert_true(f->workspace_bytes == 77 && f->engine == 62 && f->rank == 0 && f->mode == 'A');
    assert_string_equal(cudnn_plan_facts(plans[1])->text, "engine 62");
    assert_string_equal(cudnn_plan_facts(plans[1])->notes, "");
    assert_string_equal(cudnn_plan_facts(plans[2])->text, "engine 62 SWAP_AB=9");
    assert_string_equal(cudnn_plan_facts(plans[2])->notes, "DOWN_CONVERT_INPUTS");
    char *said = cudnn_plan_text(cudnn_plan_facts(plans[2]));
    assert_string_equal(said, "engine 62 SWAP_AB=9, mode A rank 2,");
    free(said);
    give_back(3);
    end();
}

/* Plans that the math mode forbids are left out and counted. If no plan remains, the error states how many there were. */
static void modes_and_refusals(void **state)
{
    struct cudnn_conv c = small_conv(DTYPE_F32, MATH_F32);
    begin(true);
    static const int notes[] = {NOTE_TENSOR_CORE, NOTE_DOWN_CONVERT_INPUTS, NOTE_REDUCED_PRECISION_REDUCTION, NOTE_WINOGRAD};
    for (int i = 0; i < 4; i++) {
        struct offered *o = offer(HEURISTIC_A, i + 1);
        o->notes[0] = notes[i], o->note_count = 1;
    }
    plans_are(&c, 9, "A3:4 ");
    c.math = MATH_TF32;
    plans_are(&c, 9, "A0:1 A3:4 ");
    c = small_conv(DTYPE_BF16, MATH_BF16_ACC32);
    plans_are(&c, 9, "A0:1 A1:2 A3:4 ");
    c = small_conv(DTYPE_F16, MATH_F16_ACC16);
    plans_are(&c, 9, "A0:1 A1:2 A2:3 A3:4 ");
    world.list[HEURISTIC_A][3].refused = true;
    c = small_conv(DTYPE_F32, MATH_F32);
    plans_are(&c, 9, "");
    assert_non_null(strstr(err.text, "under math f32 (3 under another math, 1 refused)"));
    assert_int_equal(err.kind, ERROR_ENVIRONMENT);
    world.counts[HEURISTIC_A] = 0;
    offer(HEURISTIC_A, 1)->refused = true, offer(HEURISTIC_A, 2)->refused = true;
    plans_are(&c, 1, "");
    assert_non_null(strstr(err.text, "with this epilogue (2 offered, all refused)"));
    const struct library_plan which = {2, 'A', 1}, elsewhere = {2, 'B', 1}, later = {2, 'A', 2}, other = {1, 'A', 1};
    world.list[HEURISTIC_A][1].refused = false;
    cudnn_only(handle, &which);
    plans_are(&c, 1, "A1:2 ");
    plans_are(&c, 9, "A1:2 ");
    const struct library_plan *const none[] = {&elsewhere, &later, &other};
    for (int i = 0; i < 3; i++) {
        cudnn_only(handle, none[i]);
        plans_are(&c, 9, "");
        assert_non_null(strstr(err.text, "does not support engine"));
        assert_int_equal(err.kind, ERROR_USAGE);
    }
    end();
}

/* What cuDNN has no mode, layout or groups for is not asked of it. */
static void what_is_not_asked(void **state)
{
    static const struct {
        enum dtype dtype;
        enum math math;
        bool fits;
    } modes[] = {{DTYPE_F32, MATH_F32, true},         {DTYPE_F32, MATH_TF32, true},        {DTYPE_F32, MATH_F16_ACC32, false},
                 {DTYPE_F16, MATH_F16_ACC32, true},   {DTYPE_F16, MATH_F16_ACC16, true},   {DTYPE_F16, MATH_F32, false},
                 {DTYPE_F16, MATH_BF16_ACC32, false}, {DTYPE_BF16, MATH_BF16_ACC32, true}, {DTYPE_BF16, MATH_F16_ACC32, false},
                 {DTYPE_BF16, MATH_F32, false},       {DTYPE_I8, MATH_I8_ACC32, true},     {DTYPE_I8, MATH_F32, false},
                 {DTYPE_I8, MATH_BF16_ACC32, false},  {DTYPE_I32, MATH_F32, false},        {DTYPE_U32, MATH_BF16_ACC32, false}};
    begin(true);
    offer(HEURISTIC_A, 1);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        struct cudnn_conv c = small_conv(modes[i].dtype, modes[i].math);
        int asked = world.asked[HEURISTIC_A];
        plans_are(&c, 9, modes[i].fits ? "A0:1 " : "");
        assert_int_equal(world.asked[HEURISTIC_A] - asked, modes[i].fits);
        assert_true(modes[i].fits || err.kind == ERROR_USAGE);
    }
    struct cudnn_conv c = small_conv(DTYPE_F16, MATH_F16_ACC32);
    c.layout = LAYOUT_NCHW;
    plans_are(&c, 9, "A0:1 ");
    c.layout = LAYOUT_BITS;
    plans_are(&c, 9, "");
    c.layout = LAYOUT_NHWC;
    static const int groups[] = {1, 2, 8, 0, -1, 3, 16};
    for (int i = 0; i < 7; i++) { /* of 8 and 16 channels */
        c.groups = groups[i];
        plans_are(&c, 9, i < 3 ? "A0:1 " : "");
    }
    c.groups = 4, c.k = 18;
    plans_are(&c, 9, "");
    end();
}

/* A bias of 16-bit data is offered in 16 bits first. If cuDNN has no plan for it or refuses the graph, the bias is offered in f32. */
static void a_bias_in_either_type(void **state)
{
    struct cudnn_conv c = small_conv(DTYPE_F16, MATH_F16_ACC32);
    for (int i = 0; i < 6; i++) {
        bool narrow = i < 3;
        begin(false);
        offer(HEURISTIC_A, 1);
        world.narrow_offers_nothing = i == 3, world.narrow_is_no_graph = i == 4;
        c = i == 5  ? small_conv(DTYPE_F32, MATH_F32)
            : i & 1 ? small_conv(DTYPE_BF16, MATH_BF16_ACC32)
                    : small_conv(DTYPE_F16, MATH_F16_ACC32);
        c.bias = true;
        assert_int_equal(cudnn_plans(handle, &c, 9, &plans, &err), 1);
        assert_true(err.kind == ERROR_NONE && world.narrow == narrow);
        assert_string_equal(cudnn_plan_facts(plans[0])->notes, narrow ? "BIAS_NARROWED" : "");
        struct cudnn_plan *again = cudnn_plan_again(handle, &c, cudnn_plan_facts(plans[0]), &err);
        assert_true(again && world.narrow == narrow && !strcmp(cudnn_plan_facts(again)->notes, cudnn_plan_facts(plans[0])->notes));
        cudnn_plan_free(again);
        give_back(1);
        end();
    }
    begin(false);
    offer(HEURISTIC_A, 1)->refused = true;
    c.dtype = DTYPE_F16, c.math = MATH_F16_ACC32;
    plans_are(&c, 9, ""); /* the same configuration is looked at once more, and is
                             refused twice */
    assert_non_null(strstr(err.text, "(2 offered, all refused)"));
    err = (struct error){0};
    world.narrow_offers_nothing = world.wide_offers_nothing = true;
    plans_are(&c, 9, "");
    assert_non_null(strstr(err.text, "(0 offered, all refused)"));
    c.bias = false;
    world.is_no_graph = true; /* whose words are the library's */
    plans_are(&c, 9, "");
    assert_string_equal(err.text, "cuDNN: the operation graph: a status: why");
    assert_null(cudnn_plan_again(handle, &c, &(struct cudnn_plan_facts){.mode = 'A', .text = "engine 1"}, &err));
    world.is_no_graph = world.wide_offers_nothing = false;
    world.list[HEURISTIC_A][0].refused = false;
    plans_are(&c, 9, "A0:1 ");
    end();
}

/* A single plan is made once and shared. The same plan is found again at the place where it was listed. */
static void plans_that_are_made_again(void **state)
{
    const struct cudnn_conv c = small_conv(DTYPE_F16, MATH_F16_ACC32);
    struct cudnn_plan **first;
    begin(false);
    offer(HEURISTIC_A, 1), offer(HEURISTIC_A, 2), offer(HEURISTIC_B, 3), offer(HEURISTIC_FALLBACK, 4)->refused = true;
    assert_int_equal(cudnn_plans(handle, &c, 1, &first, &err), 1);
    int asked = world.asked[HEURISTIC_A];
    assert_int_equal(cudnn_plans(handle, &c, 1, &plans, &err), 1);
    assert_true(world.asked[HEURISTIC_A] == asked && plans[0] != first[0] && cudnn_plan_facts(plans[0])->engine == 1);
    give_back(1);
    assert_int_equal(cudnn_plans(handle, &c, 2, &plans, &err), 2); /* two are another question */
    assert_int_equal(world.asked[HEURISTIC_A], asked + 1);
    give_back(2);
    assert_int_equal(handle->cached_count, 1);
    cudnn_plan_free(first[0]);
    free(first);
    static const char modes[] = "ABF";
    for (int i = 0; i < 3; i++) {
        static const int numbers[] = {HEURISTIC_A, HEURISTIC_B, HEURISTIC_FALLBACK};
        struct cudnn_plan_facts wanted = {.mode = modes[i], .rank = 7};
        snprintf(wanted.text, sizeof wanted.text, "engine %d", i + 2);
        memset(world.asked, 0, sizeof world.asked);
        struct cudnn_plan *again = cudnn_plan_again(handle, &c, &wanted, &err);
        assert_int_equal(world.asked[numbers[i]], 1);
        assert_int_equal(world.asked[1] + world.asked[2] + world.asked[3], 1);
        if (i == 2) {
            assert_null(again);
            assert_string_equal(err.text, "cuDNN does not return engine 4 a second time");
            continue;
        }
        assert_true(again && cudnn_plan_facts(again)->engine == i + 2 && cudnn_plan_facts(again)->rank == !i &&
                    cudnn_plan_facts(again)->mode == modes[i]);
        cudnn_plan_free(again);
        assert_int_equal(handle->cached_count, 2 + i);
        assert_non_null(again = cudnn_plan_again(handle, &c, &wanted, &err));
        assert_int_equal(world.asked[numbers[i]], 1); /* kept */
        cudnn_plan_free(again);
    }
    end();
}

/* What was made ahead is given out once, to who asks for as many of the same. */
static void what_was_made_ahead(void **state)
{
    struct cudnn_conv c = small_conv(DTYPE_F16, MATH_F16_ACC32), wider = c;
    wider.c = 16;
    begin(false);
    offer(HEURISTIC_A, 1), offer(HEURISTIC_A, 2), offer(HEURISTIC_B, 3);
    cudnn_prefetch(handle, &c, 9, true);
    cudnn_prefetch(handle, &c, 9, true); /* is there */
    assert_true(world.asked[HEURISTIC_A] == 1 && handle->prefetched_count == 1);
    plans_are(&wider, 9, "A0:1 B0:3 A1:2 ");
    plans_are(&c, 2, "A0:1 B0:3 ");
    assert_int_equal(world.asked[HEURISTIC_A], 3);
    plans_are(&c, 9, "A0:1 B0:3 A1:2 ");
    assert_int_equal(world.asked[HEURISTIC_A], 3);
    plans_are(&c, 9, "A0:1 B0:3 A1:2 ");
    assert_int_equal(world.asked[HEURISTIC_A], 4);
    plans_are(&c, 1, "A0:1 "); /* the one that checks was kept */
    assert_int_equal(world.asked[HEURISTIC_A], 4);
    const struct library_plan which = {2, 'A', 1};
    cudnn_prefetch(handle, &wider, 9, true);
    cudnn_only(handle, &which); /* who wants one plan takes it from nowhere else */
    plans_are(&wider, 9, "A1:2 ");
    end();
}

/* An engine that was hopeless is so for what is no smaller in channels, outputs and pixels, and otherwise alike. */
static void hopeless_engines(void **state)
{
    struct cudnn_conv c = small_conv(DTYPE_F16, MATH_F16_ACC32);
    begin(false);
    assert_false(cudnn_is_slow(handle, &c, 5));
    cudnn_mark_slow(handle, &c, 5);
    cudnn_mark_slow(handle, &c, 5);
    assert_int_equal(handle->slow_count, 1);
    assert_true(cudnn_is_slow(handle, &c, 5) && !cudnn_is_slow(handle, &c, 6));
    for (int i = 0; i < 18; i++) {
        struct cudnn_conv other = c;
        int64_t *const of[] = {&other.c, &other.k, &other.n, &other.p, &other.q}, *const exact[] = {&other.r, &other.s, &other.stride,
                                                                                                    &other.dilation};
        if (i < 5)
            *of[i] *= 2;
        else if (i < 8)
            (*of[i - 5])--;
        else if (i < 10)
            (*of[i - 5])--;
        else if (i < 14)
            (*exact[i - 10])++;
        else if (i == 14)
            other.layout = LAYOUT_NCHW;
        else if (i == 15)
            other.math = MATH_F16_ACC16;
        else if (i == 16)
            other.bias = other.residual = true, other.activation = 2, other.alpha = 0.5, other.pad = 3, other.h = 11, other.w = 12;
        else
            other.n = 3, other.p = 3; /* as many outputs */
        assert_int_equal(cudnn_is_slow(handle, &other, 5), i < 5 || i >= 16);
    }
    struct cudnn_conv deep = c;
    deep.d = deep.o = 4, deep.t = 1;
    cudnn_mark_slow(handle, &deep, 7);
    assert_true(cudnn_is_slow(handle, &deep, 7));
    deep.o = 3;
    assert_false(cudnn_is_slow(handle, &deep, 7));
    end();
}

static void ran(const struct cudnn_plan *p, uint64_t bias, uint64_t workspace)
{
    if (!cudnn_execute(handle, p, 10, 20, 30, bias, 50, workspace, &err))
        fail_msg("%s", err.text);
}

/* Each tensor of the graph gets its address. If an address changes, the variant pack is made again. */
static void what_is_executed(void **state)
{
    struct cudnn_conv c = small_conv(DTYPE_F32, MATH_F32);
    for (int kind = 0; kind < 4; kind++) {
        c.bias = kind & 1, c.residual = kind & 2;
        begin(false);
        offer(HEURISTIC_A, 1);
        assert_int_equal(cudnn_plans(handle, &c, 9, &plans, &err), 1);
        ran(plans[0], 40, 60);
        ran(plans[0], 40, 60);
        assert_true(world.executed == 2 && world.packs == 1 && world.workspace == 60 && world.uid_count == 3 + c.bias + c.residual);
        const int64_t uids[] = {UID_X, UID_W, UID_Y, c.bias ? UID_BIAS : UID_RESIDUAL, UID_RESIDUAL};
        for (int i = 0; i < world.uid_count; i++)
            assert_true(world.uids[i] == uids[i] && world.pointers[i] == 10 * (uint64_t)uids[i]);
        ran(plans[0], 40, 61);
        assert_true(world.packs == 2 && world.workspace == 61 && world.narrowed == 0);
        assert_true(cudnn_prepare(handle, plans[0], 40, &err) && world.narrowed == 0); /* nothing to convert */
        execute_status = 1;
        assert_false(cudnn_execute(handle, plans[0], 10, 20, 30, 40, 50, 61, &err));
        assert_string_equal(err.text, "cuDNN: engine 1: a status: why");
        execute_status = STATUS_SUCCESS;
        world.no_more = DESCRIPTOR_VARIANT_PACK;
        assert_false(cudnn_execute(handle, plans[0], 10, 20, 30, 40, 50, 62, &err));
        world.no_more = 0;
        world.is_no_pack = true;
        assert_false(cudnn_execute(handle, plans[0], 10, 20, 30, 40, 50, 62, &err));
        world.is_no_pack = false;
        ran(plans[0], 40, 62);
        assert_int_equal(world.executed, 5);
        give_back(1);
        end();
    }
    begin(true);
    offer(HEURISTIC_A, 1);
    assert_int_equal(cudnn_plans(handle, &c, 9, &plans, &err), 1);
    assert_false(cudnn_execute(handle, plans[0], 10, 20, 30, 40, 50, 60, &err));
    assert_int_equal(world.executed, 0);
    give_back(1);
    end();
}

/* A bias in 16 bits is converted each time, unless the caller declared that it does not change. */
static void a_narrow_bias_is_converted(void **state)
{
    struct cudnn_conv c = small_conv(DTYPE_F16, MATH_F16_ACC32);
    c.bias = true;
    begin(false);
    offer(HEURISTIC_A, 1);
    assert_int_equal(cudnn_plans(handle, &c, 9, &plans, &err), 1);
    ran(plans[0], 40, 60);
    ran(plans[0], 40, 60);
    assert_int_equal(world.narrowed, 2);
    assert_true(world.uids[3] == UID_BIAS && world.pointers[3] == 0xb1a5);
    assert_true(cudnn_prepare(handle, plans[0], 40, &err));
    assert_int_equal(world.narrowed, 3);
    ran(plans[0], 40, 60);
    assert_int_equal(world.narrowed, 3);
    ran(plans[0], 41, 60); /* another one, which nobody promised */
    assert_int_equal(world.narrowed, 4);
    assert_true(cudnn_prepare(handle, plans[0], 40, &err));
    struct cudnn_plan *again = cudnn_plan_again(handle, &c, cudnn_plan_facts(plans[0]), &err);
    ran(again, 40, 60); /* has a copy of its own, for which nobody promised anything */
    assert_int_equal(world.narrowed, 6);
    cudnn_plan_free(again);
    world.narrowed = 4;
    narrow_fails = true;
    assert_false(cudnn_prepare(handle, plans[0], 40, &err));
    narrow_fails = false;
    ran(plans[0], 40, 60); /* nothing is promised of it any more */
    assert_int_equal(world.narrowed, 6);
    narrow_fails = true;
    assert_false(cudnn_execute(handle, plans[0], 10, 20, 30, 40, 50, 60, &err));
    narrow_fails = false;
    give_back(1);
    end();
}

static int set_up(void **state)
{
    return setenv("BENCH_THREADS", "1", 1); /* further handles are a GPU's */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_order_of_plans),        cmocka_unit_test(heuristics_that_fail), cmocka_unit_test(what_a_plan_says),
        cmocka_unit_test(modes_and_refusals),        cmocka_unit_test(what_is_not_asked),    cmocka_unit_test(a_bias_in_either_type),
        cmocka_unit_test(plans_that_are_made_again), cmocka_unit_test(what_is_executed),     cmocka_unit_test(a_narrow_bias_is_converted),
        cmocka_unit_test(what_was_made_ahead),       cmocka_unit_test(hopeless_engines)};
    return cmocka_run_group_tests(tests, set_up, NULL);
}
