/* measure/verify/device_check_chain on emu: a network's reference, bounds and carried errors from the device against the CPU's, for a right
 * output and a wrong one. If a kernel between layers has a fault, the sample of a link must find it. */
#include "card_world.h"
#include "scenario_text.h"
#include "base/text.h"
#include "device/compile/compile.h"
#include "measure/rig/rig.h"
#include "op/chain/chain.h"
#include "op/shape.h"
#include "op/reference/data.h"
#include <math.h>

/* Residuals, both layouts, d2s, a stride, a transposed and an upsampled convolution. */
static const char plain[] = "scenario: t\n"
                            "defaults: {n: 2, h: 6, w: 5, kernel: 3, pad: 1, op: conv2d}\n"
                            "layers:\n"
                            "  head: {c: 3, k: 8, epilogue: [bias]}\n"
                            "  b1: {c: 8, k: 8, epilogue: [bias, {leaky_relu: 0.1}]}\n"
                            "  b2: {c: 8, k: 8, epilogue: [bias, residual]}\n"
                            "  up: {c: 8, k: 8, epilogue: [bias, {depth_to_space: {block: 2, mode: CRD}}]}\n"
                            "axes: {layout: [NHWC, NCHW]}\n"
                            "network: {order: [head, {repeat: 2, of: [b1, b2]}, b2, up], layout: [given, NCHW, NHWC, per_op, ends]}\n"
                            "variants: [conv2d/naive]\n";
static const char kinds[] = "scenario: t\n"
                            "defaults: {n: 1, h: 7, w: 6, dtype: f16, layout: NHWC}\n"
                            "layers:\n"
                            "  a: {op: conv2d, c: 4, k: 6, kernel: 3, pad: 1, stride: 2, epilogue: [bias, relu]}\n"
                            "  b: {op: conv_transpose2d, c: 6, k: 4, h: 4, w: 3, kernel: 4, stride: 2, pad: 1, epilogue: [bias]}\n"
                            "  c: {op: upsample_conv2d, c: 4, k: 3, h: 8, w: 6, block: 2, kernel: 3, pad: 1}\n"
                            "network: {order: [a, b, c]}\n"
                            "variants: [conv2d/naive]\n";
static const char halves[] = "scenario: t\n"
                             "defaults: {n: 2, h: 6, w: 5, kernel: 3, pad: 1, op: conv2d, dtype: f16, c: 8, k: 8}\n"
                             "layers: {a: {epilogue: [bias, relu]}, b: {}}\n"
                             "network: {order: [a, {repeat: 8, of: [a]}, b]}\n"
                             "variants: [conv2d/naive]\n";
/* Rows long enough that a sample has some of their columns only. */
static const char wide[] = "scenario: t\n"
                           "defaults: {n: 1, h: 24, w: 72, kernel: 1, op: conv2d, c: 40, k: 40}\n"
                           "layers:\n"
                           "  head: {c: 4, kernel: 3, pad: 1, epilogue: [bias]}\n"
                           "  b1: {epilogue: [bias, relu]}\n"
                           "  b2: {epilogue: [bias, residual]}\n"
                           "  up: {epilogue: [bias, {depth_to_space: {block: 2, mode: DCR}}]}\n"
                           "network: {order: [head, {repeat: 1, of: [b1, b2]}, up]}\n"
                           "variants: [conv2d/naive]\n";
static const char masked[] = "scenario: t\n"
                             "defaults: {op: conv2d, n: 2, c: 4, k: 4, h: 9, w: 11, kernel: 3, pad: 1, epilogue: [bias, relu]}\n"
                             "layers: {a: {}, b: {epilogue: [bias]}, c: {}}\n"
                             "network: {order: [a, b, c]}\n"
                             "axes: {mask: {values: [{pattern: iid, density: 0.05}]}}\n"
                             "variants: [conv2d/sparse_naive]\n";

struct net {
    struct scenario *s;
    struct chain chain;
    struct work work;
};

static struct net opened(const char *text, enum layout_plan plan, bool masks)
{
    struct net n = {0};
    struct error err = {0};
    struct mask mask = {.pattern = MASK_IID, .density = 0.05, .seed = 3};
    bool cropped;
    char *path = text_file(text);
    n.s = scenario_load(path, &err);
    if (!n.s || !scenario_chain(n.s, &n.s->networks[0], "cuda", plan, masks ? &mask : NULL, 0, &n.chain, &cropped, &err))
        fail_msg("%s", err.text);
    unlink(path);
    free(path);
    return n;
}

static void finish(struct net *n)
{
    struct error err = {0};
    if (!chain_work(&n->chain, &n->work, &err))
        fail_msg("%s", err.text);
}

static void closed(struct net *n)
{
    chain_free(&n->chain);
    scenario_free(n->s);
}

static void same_as_the_cpu(const struct work *w, enum data_part part)
{
    struct error err = {0};
    struct op_data host, want;
    if (!card_data_make(card, w, part, &host, &err))
        fail_msg("%s", err.text);
    assert_non_null(host.card);
    assert_true(op_data_make(w, part, &want, &err));
    assert_true(card_fetch(host.card, &err));
    struct tensor t;
    assert_true(work_tensor(w, "input", &t)); /* what the device made of the input, all of it */
    float *made = xmalloc(tensor_elements(&t) * sizeof *made);
    assert_true(dev->ops->read(dev, host.card->at[SLOT_INPUT].value, made, tensor_elements(&t) * sizeof *made, &err));
    assert_memory_equal(made, want.at[SLOT_INPUT].value, tensor_elements(&t) * sizeof *made);
    free(made);
    const struct op_values *got = &host.at[SLOT_OUTPUT], *v = &want.at[SLOT_OUTPUT];
    assert_int_equal(got->elements, v->elements);
    assert_true(v->elements > 0);
    for (size_t i = 0; i < v->elements; i++) {
        double bound = (double)v->bound[i] + (double)v->carried[i];
        if (!(fabs(got->reference[i] - v->reference[i]) <= 1e-12 * (1 + fabs(v->reference[i]))) ||
            !(fabs((double)got->bound[i] - (double)v->bound[i]) <= 1e-5 * bound) ||
            !(fabs((double)got->carried[i] - (double)v->carried[i]) <= 1e-5 * bound))
            fail_msg("element %zu: %.17g +-%g +-%g, the CPU has %.17g +-%g +-%g", i, got->reference[i], (double)got->bound[i],
                     (double)got->carried[i], v->reference[i], (double)v->bound[i], (double)v->carried[i]);
    }
    assert_int_equal(host.at[SLOT_MASK_OUT].reference != NULL, want.at[SLOT_MASK_OUT].reference != NULL);
    if (want.at[SLOT_MASK_OUT].reference) {
        assert_int_equal(host.at[SLOT_MASK_OUT].elements, want.at[SLOT_MASK_OUT].elements);
        assert_memory_equal(host.at[SLOT_MASK_OUT].reference, want.at[SLOT_MASK_OUT].reference,
                            want.at[SLOT_MASK_OUT].elements * sizeof(double));
    }
    card_data_free(host.card);
    op_data_free(&host);
    op_data_free(&want);
}

static void networks_agree(void **state)
{
    need_card();
    static const enum layout_plan plans[] = {LAYOUT_PLAN_GIVEN, LAYOUT_PLAN_NCHW, LAYOUT_PLAN_PER_OP, LAYOUT_PLAN_ENDS};
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        struct net n = opened(plain, plans[i], false);
        finish(&n);
        assert_true(card_chain_able(&n.work));
        same_as_the_cpu(&n.work, DATA_PART_PRECISION);
        closed(&n);
    }
    struct net n = opened(kinds, LAYOUT_PLAN_GIVEN, false);
    finish(&n);
    same_as_the_cpu(&n.work, DATA_PART_PRECISION);
    closed(&n);
    n = opened(wide, LAYOUT_PLAN_GIVEN, false);
    finish(&n);
    same_as_the_cpu(&n.work, DATA_PART_PRECISION);
    n.work.set_seed = 7; /* further inputs are looked at in fewer places */
    same_as_the_cpu(&n.work, DATA_PART_PRECISION);
    closed(&n);
    n = opened(masked, LAYOUT_PLAN_GIVEN, true);
    finish(&n);
    assert_true(n.work.mask.pattern == MASK_IID);
    same_as_the_cpu(&n.work, DATA_PART_PRECISION);
    same_as_the_cpu(&n.work, (enum data_part)(DATA_PART_PRECISION | DATA_FULL));
    closed(&n);
}

/* The output as it should be is right; an element that is off by a little more than it may be is not. */
static void one_element_is_seen(void **state)
{
    need_card();
    struct net n = opened(halves, LAYOUT_PLAN_GIVEN, false);
    struct tensor list[OP_MAX_TENSORS];
    struct error err = {0};
    struct op_data host, cpu;
    finish(&n);
    struct program p = {.work = n.work, .algorithm = "direct", .checked = true, .tensors = list};
    p.tensor_count = n.work.op->tensors(&n.work, list);
    int output = -1;
    for (int i = 0; i < p.tensor_count; i++)
        if (list[i].role->result)
            output = i;
    assert_true(card_data_make(card, &n.work, DATA_PART_PRECISION, &host, &err) && op_data_make(&n.work, DATA_PART_PRECISION, &cpu, &err));
    const struct op_values *v = &cpu.at[SLOT_OUTPUT];
    size_t bytes = tensor_bytes(&list[output]), worst = 0;
    double most = -1;
    for (size_t i = 0; i < v->elements; i++) { /* where what the links carry decides */
        double b = (double)v->bound[i], room = 0.85 * (b + (double)v->carried[i]) - b - 0x1p-9 * fabs(v->reference[i]);
        if (room > most)
            most = room, worst = i;
    }
    assert_true(most > 0);
    size_t at = tensor_index(&list[output], worst);
    uint16_t *storage = xcalloc(1, bytes);
    for (size_t i = 0; i < v->elements; i++)
        storage[tensor_index(&list[output], i)] = f16_from_f64(v->reference[i]);
    uint64_t address;
    struct verdict verdict;
    bool right;
    assert_true(dev->ops->alloc(dev, "output", bytes, &address, &err));
    /* Within the whole tolerance, but outside of the bound without what the links carry. */
    const double offs[] = {0, 0.9, 2};
    for (int i = 0; i < 3; i++) {
        double tolerance = (double)v->bound[worst] + (double)v->carried[worst];
        storage[at] = f16_from_f64(v->reference[worst] + offs[i] * tolerance);
        assert_true(dev->ops->write(dev, address, storage, bytes, &err));
        assert_true(card_verify(host.card, &p, output, address, &right, &verdict, &err));
        if (right != (i < 2))
            fail_msg("off by %g of its tolerance: %s", offs[i], right ? "right" : "wrong");
    }
    dev->ops->release(dev, address);
    free(storage);
    card_data_free(host.card);
    op_data_free(&host);
    op_data_free(&cpu);
    closed(&n);
}

/* A reference kernel that forgets the last row of what a layer left, wherever it lies between layers. */
static void a_faulty_kernel_is_seen(void **state)
{
    need_card();
    const char *home = getenv("BENCH_HOME");
    char *folder = text_format("%s.home", file_self()); /* what the compiler made of it before is found again */
    char *command = text_format("rm -rf %s && mkdir -p %s/kernels && cp -R %s/kernels/reference %s/kernels/ && "
                                "sed -i 's/= row >= 0/& \\&\\& row < g.h - 1/' %s/kernels/reference/conv.cu",
                                folder, folder, home, folder, folder);
    assert_int_equal(system(command), 0);
    free(command);
    struct error err = {0};
    struct card *faulty = NULL;
    char *real = xstrdup(home);
    setenv("BENCH_HOME", folder, 1);
    bool ok = card_open(dev, NULL, &faulty, &err);
    setenv("BENCH_HOME", real, 1);
    if (!ok)
        fail_msg("%s", err.text);
    struct net n = opened(plain, LAYOUT_PLAN_GIVEN, false);
    struct op_data host;
    finish(&n);
    assert_false(card_data_make(faulty, &n.work, DATA_PART_PRECISION, &host, &err));
    assert_non_null(strstr(err.text, "link 0 (head)"));
    assert_non_null(strstr(err.text, "reference of output"));
    closed(&n);
    card_close(faulty);
    command = text_format("rm -rf %s", folder);
    assert_int_equal(system(command), 0);
    free(command);
    free(real);
    free(folder);
}

static const struct device_ops *of_emu;
static int reads;
static bool counted_read(struct device *d, uint64_t address, void *to, size_t bytes, struct error *err)
{
    reads++;
    return of_emu->read(d, address, to, bytes, err);
}

/* The device fills a network's inputs. One read checks its weights with everything else. A changed weight is reported with its place at
 * every check, until the inputs are filled again. */
static void weights_are_looked_at(void **state)
{
    need_card();
    struct net n = opened(halves, LAYOUT_PLAN_GIVEN, false);
    struct tensor list[OP_MAX_TENSORS];
    struct error err = {0};
    struct op_data host;
    struct rig *rig;
    finish(&n);
    struct scratch scratch[] = {{"filter of a", DTYPE_F16, 8 * 72, SCRATCH_PREPARED}, {"bias of a", DTYPE_F16, 8, SCRATCH_PREPARED}};
    struct constant constants[] = {{.scratch = 0, .span = 1}, {.scratch = 1, .span = 1}};
    assert_true(work_tensor(&n.chain.links[0].work, "filter", &constants[0].tensor) &&
                work_tensor(&n.chain.links[0].work, "bias", &constants[1].tensor));
    scratch[1].dtype = constants[1].tensor.dtype;
    struct program p = {.work = n.work,
                        .algorithm = "direct",
                        .checked = true,
                        .tensors = list,
                        .scratch = scratch,
                        .scratch_count = 2,
                        .constants = constants,
                        .constant_count = 2};
    for (int i = 0, all = n.work.op->tensors(&n.work, list); i < all; i++)
        if (!list[i].role->constant)
            list[p.tensor_count++] = list[i];
    if (!card_data_make(card, &n.work, DATA_PART_PRECISION, &host, &err))
        fail_msg("%s", err.text);
    struct device_ops plain_ops = *(of_emu = dev->ops);
    plain_ops.forget = NULL;
    plain_ops.stored = NULL; /* as a device that only knows what lies there */
    plain_ops.read = counted_read;
    dev->ops = &plain_ops;
    if (!rig_open(dev, NULL, &p, NULL, true, &rig, &err) || !rig_feed(rig, &host, &err))
        fail_msg("%s", err.text);
    for (int i = 0; i < 5; i++) {
        struct text unsafe = {0};
        uint64_t at = rig_address(rig, (struct buffer_ref){.kind = BUFFER_SCRATCH, .index = i == 3}) + (i == 3 ? 0 : 20);
        if (i == 1 || i == 3)
            assert_true(dev->ops->write(dev, at, (const uint16_t[]){0x7b00}, 2, &err));
        if (i == 4 && !rig_restore(rig, &host, &err))
            fail_msg("%s", err.text);
        reads = 0;
        assert_true(rig_check_memory(rig, &unsafe, &err));
        assert_string_equal(text_get(&unsafe), i == 0 || i == 4 ? ""
                                               : i < 3          ? "changed its input: filter of a, first at element 10 of its storage"
                                                       : "changed its input: filter of a, first at element 10 of its storage; changed its "
                                                         "input: bias of a, first at element 0 of its storage");
        assert_int_equal(reads, i == 0 || i == 4 ? 1 : i < 3 ? 2 : 3);
        text_free(&unsafe);
    }
    rig_close(rig);
    dev->ops = of_emu;
    card_data_free(host.card);
    op_data_free(&host);
    closed(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(networks_agree), cmocka_unit_test(one_element_is_seen),
                                       cmocka_unit_test(a_faulty_kernel_is_seen), cmocka_unit_test(weights_are_looked_at)};
    return cmocka_run_group_tests(tests, card_set_up, card_tear_down);
}
