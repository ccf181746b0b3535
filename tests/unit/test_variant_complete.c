/* variant/: what follows a variant that does not fuse everything, and variants inside variants. */
#include "op/shape.h"
#include "binding.h"
#include "kernel/head/load.h"

/* The buffer that step i writes last and the next reads first must be one and the same. */
static void chained(int i, const char *from, const char *to)
{
    const struct step *s = &p.steps[i];
    const struct arg *in = NULL, *out = NULL;
    for (int a = 0; a < s->arg_count; a++) {
        in = !strcmp(s->args[a].name, "input") ? &s->args[a] : in;
        out = !strcmp(s->args[a].name, "output") ? &s->args[a] : out;
    }
    assert_non_null(in);
    assert_non_null(out);
    const struct arg *both[] = {in, out};
    const char *want[] = {from, to};
    for (int k = 0; k < 2; k++) {
        struct buffer_ref ref = both[k]->buffer;
        const char *name = ref.kind == BUFFER_SCRATCH ? p.scratch[ref.index].name : p.tensors[ref.index].role->name;
        assert_string_equal(name, want[k]);
    }
}

static void test_completion(void **state)
{
    struct work w = conv();
    add(&w, (struct epilogue){.kind = EPILOGUE_BIAS});
    add(&w, (struct epilogue){.kind = EPILOGUE_DEPTH_TO_SPACE, .block = 2, .mode = D2S_CRD});
    binds("conv2d/naive", NULL, w);
    assert_string_equal(p.variant, "conv2d/naive + depth_to_space/d2s_native");
    assert_int_equal(p.step_count, 2);
    assert_int_equal(p.unit_count, 2);
    assert_int_equal(p.steps[1].unit, 1);
    assert_string_equal(p.units[1].label, "depth_to_space/d2s_native");
    chained(0, "input", "between");
    chained(1, "between", "output");
    assert_int_equal(p.scratch[0].elements, 48 * 48 * 64);
    assert_int_equal(p.scratch[0].dtype, DTYPE_F16);
    const struct tensor *y = &p.tensors[program_tensor(&p, "output")];
    assert_int_equal(y->dim[1], 16);
    assert_int_equal(y->dim[2], 96);
    has_define(0, 0, "BIAS=1");
    has_define(1, 0, "BLOCK_=2");
    has_define(1, 1, "CRD_=1");
    /* what the first kernel fuses, it does alone */
    w = conv();
    add(&w, (struct epilogue){.kind = EPILOGUE_RELU});
    binds("conv2d/naive", NULL, w);
    assert_string_equal(p.variant, "conv2d/naive");
    has_define(0, 0, "BIAS=0");
    has_define(0, 1, "SLOPE=0");
    arg_is(&p.steps[0], 2, ARG_INT, "bias", 0); /* a null pointer */
    /* bias behind the activation is not a beginning that naive knows */
    add(&w, (struct epilogue){.kind = EPILOGUE_BIAS});
    binds("conv2d/naive", NULL, w);
    assert_string_equal(p.variant, "conv2d/naive + pointwise/epilogue");
    has_define(0, 0, "BIAS=0");
    arg_is(&p.steps[1], 1, ARG_BUFFER, "bias", SLOT_BIAS);
}

/* slope(epilogue) can say one activation, so a second one is never fused into the same kernel. */
static void test_two_activations(void **state)
{
    struct work w = conv();
    add(&w, (struct epilogue){.kind = EPILOGUE_RELU});
    add(&w, (struct epilogue){.kind = EPILOGUE_LEAKY_RELU, .alpha = 0.25});
    binds("conv2d/naive", NULL, w);
    assert_string_equal(p.variant, "conv2d/naive + pointwise/epilogue");
    has_define(0, 1, "SLOPE=0");
    has_define(1, 1, "SLOPE=0.25f");
}

static void test_completion_chain(void **state)
{
    struct work w = conv();
    add(&w, (struct epilogue){.kind = EPILOGUE_RELU});
    add(&w, (struct epilogue){.kind = EPILOGUE_BIAS});
    add(&w, (struct epilogue){.kind = EPILOGUE_RESIDUAL});
    add(&w, (struct epilogue){.kind = EPILOGUE_DEPTH_TO_SPACE, .block = 2, .mode = D2S_DCR});
    add(&w, (struct epilogue){.kind = EPILOGUE_LAYOUT, .layout = LAYOUT_NCHW});
    binds("conv2d/raw", NULL, w);
    /* pointwise/epilogue here does bias, residual, relu in this order: relu first is a pass of its own */
    assert_string_equal(p.variant, "conv2d/raw + pointwise/epilogue + pointwise/epilogue + depth_to_space/d2s_native + layout/convert");
    assert_int_equal(p.step_count, 5);
    chained(0, "input", "between");
    chained(1, "between", "between_2");
    chained(2, "between_2", "between_3");
    chained(3, "between_3", "between_4");
    chained(4, "between_4", "output");
    arg_is(&p.steps[1], 1, ARG_INT, "bias", 0);
    arg_is(&p.steps[2], 1, ARG_BUFFER, "bias", SLOT_BIAS);
    arg_is(&p.steps[2], 2, ARG_BUFFER, "residual", SLOT_RESIDUAL);
    assert_int_equal(p.tensors[program_tensor(&p, "output")].layout, LAYOUT_NCHW);
    assert_int_equal(p.unit_count, 5); /* raw, twice pointwise with other -D, d2s, convert */
    /* an output in another layout is converted */
    w = conv();
    binds("conv2d/turned", NULL, w);
    assert_string_equal(p.variant, "conv2d/turned + layout/convert");
    assert_int_equal(p.tensors[program_tensor(&p, "output")].layout, LAYOUT_NHWC);
    add(&w, (struct epilogue){.kind = EPILOGUE_LAYOUT, .layout = LAYOUT_NCHW});
    binds("conv2d/turned", NULL, w); /* it is stored as wanted already */
    assert_string_equal(p.variant, "conv2d/turned");
    /* the residual lies as NHWC, so that the output must be turned before it is added */
    w = conv();
    add(&w, (struct epilogue){.kind = EPILOGUE_RESIDUAL});
    binds("conv2d/turned", NULL, w);
    assert_string_equal(p.variant, "conv2d/turned + layout/convert + pointwise/epilogue");
}

/* `select:` takes the first that is feasible for the whole work; the row keeps the rule's name and says which. */
static void test_select(void **state)
{
    struct work w = conv();
    binds("conv2d/pick", NULL, w);
    assert_string_equal(p.variant, "conv2d/pick");
    assert_string_equal(p.params, "is=raw"); /* tf32 takes f32 only */
    assert_string_equal(p.units[0].label, "conv2d/raw");
    binds("conv2d/again", NULL, w); /* one `is`: the kernel, by which a part of the layer is bound */
    assert_string_equal(p.variant, "conv2d/again");
    assert_string_equal(p.params, "is=raw");
    add(&w, (struct epilogue){.kind = EPILOGUE_BIAS});
    add(&w, (struct epilogue){.kind = EPILOGUE_RESIDUAL});
    binds("conv2d/pick", NULL, w); /* raw is passed over: the head's condition; what naive does not fuse follows it */
    assert_string_equal(p.variant, "conv2d/pick + pointwise/epilogue");
    assert_string_equal(p.params, "is=naive");
    has_define(0, 0, "BIAS=1");
    w.k = 1;
    assert_true(work_finish(&w, NULL));
    binds("conv2d/pick", NULL, w);
    assert_non_null(strstr(p.params, "X=64"));
    assert_non_null(strstr(p.params, "is=limits"));
    w.k = 3;
    assert_true(work_finish(&w, NULL));
    infeasible("conv2d/pick", w, "select: conv2d/tf32: dtype: input is f16, the variant takes f32");
    w.c = 1;
    infeasible("conv2d/pick", w, "needs c to be more than 1 (c = 1)");
    w = conv();
    binds("conv2d/even", NULL, w);
    assert_string_equal(p.params, "is=raw");
    w.apart[SIDE_stride_x] = 1; /* a condition on one stride holds for no layer that has two */
    assert_true(work_finish(&w, NULL));
    binds("conv2d/even", NULL, w);
    assert_string_equal(p.params, "is=strides");
    broken("op: conv2d\nwhat: x\nselect:\n  - variant: nobody\n", conv(), "5:14", "there is no variant 'nobody'");
    broken("op: conv2d\nwhat: x\nselect:\n  - variant: conv2d/limits\n    params: {X: [1, 2]}\n", conv(), "6:13",
           "a choice is one configuration of conv2d/limits, not 2");
}

/* A claim is about the work, the default configuration and the variant's own kernels; a rule has its choice's. */
static void test_claims(void **state)
{
    struct work w = conv();
    binds("conv2d/fast", NULL, w);
    assert_true(p.claims); /* 64 channels, whole 64 */
    binds("conv2d/fast", "{X: 64}", w);
    assert_false(p.claims); /* not the default configuration */
    binds("conv2d/naive", NULL, w);
    assert_false(p.claims); /* its head says nothing */
    binds("conv2d/choice", NULL, w);
    assert_true(p.claims);
    assert_string_equal(p.params, "X=32,is=fast");
    add(&w, (struct epilogue){.kind = EPILOGUE_BIAS});
    binds("conv2d/fast", NULL, w);
    assert_string_equal(p.variant, "conv2d/fast + pointwise/epilogue");
    assert_false(p.claims); /* another kernel completes it */
    w = conv();
    w.c = 80;
    binds("conv2d/fast", NULL, w);
    assert_false(p.claims); /* c <= 64 */
    binds("conv2d/choice", NULL, w);
    assert_string_equal(p.params, "is=raw"); /* fast could, but does not claim it */
    assert_false(p.claims);
    w = conv();
    w.k = 72;
    binds("conv2d/fast", NULL, w);
    assert_false(p.claims); /* k % 64 == 0: every condition counts */
    w.c = 1;
    infeasible("conv2d/strict", w, "select: conv2d/fast: it does not claim this shape");
    w = conv();
    binds("conv2d/strict", NULL, w);
    assert_false(p.claims); /* a rule's own word goes before its choice's */
}

static void test_completion_missing(void **state)
{
    struct work w = conv();
    add(&w, (struct epilogue){.kind = EPILOGUE_DEPTH_TO_SPACE, .block = 2, .mode = D2S_CRD});
    struct variant_set all = set;
    set.count = 0;
    struct variant **kept = xcalloc((size_t)all.count, sizeof *kept);
    set.items = kept;
    for (int i = 0; i < all.count; i++)
        if (strcmp(all.items[i]->op->name, "depth_to_space"))
            kept[set.count++] = all.items[i];
    infeasible("conv2d/raw", w, "epilogue: depth_to_space is not fused, and there is no variant of depth_to_space for a further step");
    free(kept);
    set = all;
    w.dtype = DTYPE_F32;
    w.math = MATH_F32;
    infeasible("conv2d/raw", w,
               "epilogue: depth_to_space is not fused, and no further step is possible: depth_to_space/d2s_native: dtype: input is f32, "
               "the variant takes f16");
}

static void test_variant_steps(void **state)
{
    struct work w = conv();
    binds("conv2d/wrapped", NULL, w);
    assert_string_equal(p.variant, "conv2d/wrapped");
    assert_int_equal(p.step_count, 3);
    assert_int_equal(p.steps[0].kind, STEP_SYMBOL);
    assert_true(p.steps[0].prepare);
    assert_string_equal(p.steps[0].symbol, "F_c");
    assert_int_equal(p.steps[0].bytes, 64 * 64 * 9 * 2);
    assert_string_equal(p.steps[1].name, "convert");
    assert_int_equal(p.steps[1].args[0].buffer.kind, BUFFER_TENSOR);
    assert_int_equal(p.steps[1].args[1].buffer.kind, BUFFER_SCRATCH);
    assert_string_equal(p.steps[2].name, "k");
    assert_string_equal(p.scratch[0].name, "turned");
    binds("conv2d/nested", NULL, w); /* the scratch of the inner variant stands behind its own */
    assert_int_equal(p.scratch_count, 8);
    assert_string_equal(p.scratch[1].name, "a_2");
    for (int i = 0; i < 7; i++)
        assert_int_equal(p.steps[i].to.index, i + 1);
    assert_int_equal(p.steps[7].to.index, 0);
    broken("op: conv2d\nwhat: x\nsteps:\n  - variant: my/broken\n", w, "5:14", "a variant cannot be a step of itself");
    broken("op: conv2d\nwhat: x\nsteps:\n  - variant: layout/convret\n", w, "5:14", "there is no variant 'layout/convret'");
    broken("op: conv2d\nwhat: x\nsteps:\n  - variant: layout/convert\n    with: {tu: NCHW}\n", w, "6:12", "layout has no field 'tu'");
    broken("op: conv2d\nwhat: x\nsteps:\n  - variant: layout/convert\n    with: {to: c}\n", w, "6:16", "'c' is not a value of to");
    broken("op: conv2d\nwhat: x\nsteps:\n  - variant: conv2d/limits\n    params: {X: [1, 2]}\n", w, "6:13",
           "a step is one configuration of conv2d/limits, not 2");
}

/* Variants of variants of variants: bounded, and said. */
static void test_hostile_nesting(void **state)
{
    struct error err = {0};
    struct text t = {0};
    for (int i = 0; i < 8; i++) {
        text_add(&t, "op: conv2d\nwhat: x\nsteps:\n");
        for (int k = 0; k < 64; k++)
            text_addf(&t, "  - variant: deep/v%d\n", i + 1);
        char *name = text_format("deep/v%d.cu", i);
        assert_true(tree_variant(name, i < 7 ? text_get(&t) : "op: conv2d\nwhat: x\nsteps:\n  - fill: output = 0\n"));
        free(name);
        text_free(&t);
    }
    struct variant_set all = set;
    char *extra = text_format("deep=%s/deep", tree_root);
    assert_true(variant_set_load((const char *const[]){extra, NULL}, &set, &err));
    struct work w = conv();
    bool done;
    bind_point("deep/v0", NULL, &w, &hopper, &done, &err);
    assert_false(done);
    assert_non_null(strstr(err.text, "variants as steps are nested more than 6 deep"));
    bind_point("deep/v4", NULL, &w, &hopper, &done, &err);
    assert_false(done);
    assert_non_null(strstr(err.text, "the program has more than 64 steps"));
    bind_point("deep/v6", NULL, &w, &hopper, &done, &err);
    assert_true(done && p.feasible);
    assert_int_equal(p.step_count, 64);
    assert_int_equal(p.unit_count, 2);
    variant_set_free(&set);
    set = all;
    free(extra);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_completion),    cmocka_unit_test(test_two_activations), cmocka_unit_test(test_completion_chain),
        cmocka_unit_test(test_select),        cmocka_unit_test(test_claims),          cmocka_unit_test(test_completion_missing),
        cmocka_unit_test(test_variant_steps), cmocka_unit_test(test_hostile_nesting),
    };
    return cmocka_run_group_tests(tests, load_all, drop_all);
}
