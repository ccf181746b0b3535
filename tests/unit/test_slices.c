/* op/chain/slices: where the outputs of links lie whose concats are no copies, and what is copied none the less. */
#include "op/chain/slices.h"
#include "op/file/ops.h"
#include "scenario_text.h"

enum { FIRST, ONE, TWO, SECOND, THREE, LAST, LINKS };
static struct chain chain;
static struct scenario *scenario;
static struct chain_slice slices[LINKS];
static bool alone[LINKS];

/* first -> one; two = first + one; second reads two; three = two + second; last reads three. */
static void make(const char *layout, int images, int narrow)
{
    char text[1024];
    struct error err = {0};
    bool cropped;
    snprintf(
        text, sizeof text,
        "scenario: t\ndefaults: {n: %d, h: 4, w: 7, kernel: 3, pad: 1, op: conv2d, layout: %s, dtype: f16}\nlayers:\n"
        "  first: {c: 8, k: 64}\n  one: {c: 64, k: %d}\n  two: {op: concat, c: 64, k: %d}\n  second: {c: %d, k: 32}\n"
        "  three: {op: concat, c: %d, k: %d}\n  last: {c: %d, k: 8}\n"
        "network: {order: [first, one, {layer: two, input: first, with: one}, second, {layer: three, input: two, with: second}, last]}\n"
        "variants: [conv2d/naive]\n",
        images, layout, narrow, 64 + narrow, 64 + narrow, 64 + narrow, 96 + narrow, 96 + narrow);
    scenario = loaded(text);
    if (!scenario_chain(scenario, &scenario->networks[0], "cuda", LAYOUT_PLAN_GIVEN, NULL, 0, &chain, &cropped, &err))
        fail_msg("%s", err.text);
    assert_int_equal(chain.count, LINKS);
    memset(alone, 0, sizeof alone);
    chain_slices(&chain, alone, slices);
}

static void drop(void)
{
    chain_free(&chain);
    scenario_free(scenario);
}

static void is_at(int link, int root, int64_t first, int64_t pitch)
{
    assert_true(slices[link].placed);
    assert_int_equal(slices[link].root, root);
    assert_int_equal(slices[link].first, first);
    assert_int_equal(slices[link].pitch, pitch);
}

static void is_alone(int link)
{
    assert_true(!slices[link].placed && slices[link].root == link && slices[link].pitch == 0);
}

static void one_tensor_holds_all_parts(void **state)
{
    make("NHWC", 2, 32);
    is_at(FIRST, THREE, 0, 128);
    is_at(ONE, THREE, 64, 128);
    is_at(TWO, THREE, 0, 128);
    is_at(SECOND, THREE, 96, 128);
    is_alone(THREE);
    is_alone(LAST);
    for (int i = 0; i < LINKS; i++)
        assert_int_equal(chain_joined(&chain, slices, i), i == TWO || i == THREE);
    for (int part = 0; part < 2; part++)
        assert_true(!chain_part_apart(&chain, slices, TWO, part) && !chain_part_apart(&chain, slices, THREE, part));
    struct work w = chain_slice_work(&chain, slices, SECOND);
    assert_true(w.pitch.input == 128 && w.pitch.output == 128 && w.pitch.other == 0);
    w = chain_slice_work(&chain, slices, LAST);
    assert_true(w.pitch.input == 0 && w.pitch.output == 0); /* the whole tensor, its own output */
    drop();
}

static void what_lies_alone_is_copied(void **state)
{
    struct error err = {0};
    struct work copy = {.op = op_for(TASK_POINTWISE)};
    make("NHWC", 1, 32);
    alone[ONE] = true;
    chain_slices(&chain, alone, slices);
    is_alone(ONE);
    is_at(FIRST, THREE, 0, 128);
    assert_true(chain_joined(&chain, slices, TWO) && chain_part_apart(&chain, slices, TWO, 1) && !chain_part_apart(&chain, slices, TWO, 0));
    assert_true(chain_part_copy(&chain, slices, TWO, 1, &copy, &err));
    assert_true(copy.c == 32 && copy.h == 4 && copy.w == 7 && copy.pitch.input == 0 && copy.pitch.output == 128);
    memset(alone, 0, sizeof alone);
    alone[TWO] = true; /* then it is a root of its own, and a part to copy of the next */
    chain_slices(&chain, alone, slices);
    is_alone(TWO);
    is_at(FIRST, TWO, 0, 96);
    is_at(ONE, TWO, 64, 96);
    is_at(SECOND, THREE, 96, 128);
    assert_true(chain_joined(&chain, slices, TWO) && chain_part_apart(&chain, slices, THREE, 0));
    assert_true(chain_joined(&chain, slices, THREE)); /* its second part lies there */
    copy = (struct work){.op = op_for(TASK_POINTWISE)};
    assert_true(chain_part_copy(&chain, slices, THREE, 0, &copy, &err));
    assert_true(copy.c == 96 && copy.pitch.output == 128);
    assert_true(copy.epilogue_count == 1 && copy.epilogue[0].kind == EPILOGUE_LEAKY_RELU && copy.epilogue[0].alpha == 1);
    copy = (struct work){.op = op_for(TASK_POINTWISE)}; /* of one that lies in another tensor */
    assert_true(chain_part_copy(&chain, slices, TWO, 1, &copy, &err) && copy.pitch.input == 96);
    alone[TWO] = false;
    alone[SECOND] = true;
    chain_slices(&chain, alone, slices);
    assert_true(chain_joined(&chain, slices, THREE) && chain_part_apart(&chain, slices, THREE, 1));
    alone[FIRST] = alone[ONE] = true; /* both parts of TWO, which lies in THREE */
    chain_slices(&chain, alone, slices);
    assert_true(chain_joined(&chain, slices, TWO) && chain_part_apart(&chain, slices, TWO, 0) && chain_part_apart(&chain, slices, TWO, 1));
    alone[TWO] = true;
    chain_slices(&chain, alone, slices);
    for (int i = 0; i < LINKS; i++)
        assert_false(chain_joined(&chain, slices, i));
    drop();
}

static void layouts_and_grains(void **state)
{
    make("NCHW", 1, 32); /* whole planes, one part behind the other */
    is_at(ONE, THREE, 64 * 28, 0);
    is_at(SECOND, THREE, 96 * 28, 0);
    struct work copy = {.op = op_for(TASK_POINTWISE)};
    assert_true(chain_part_copy(&chain, slices, THREE, 1, &copy, NULL) && copy.pitch.output == 0);
    drop();
    make("NCHW", 1, 5); /* 69 planes of 28 numbers: 8 bytes too many for a grain of 16 */
    is_at(ONE, THREE, 64 * 28, 0);
    is_alone(SECOND);
    drop();
    make("NCHW", 2, 32); /* the parts of each image lie apart */
    for (int i = 0; i < LINKS; i++)
        is_alone(i);
    drop();
    make("NHWC", 1, 4); /* 68 and 100 channels: 8 bytes too many for a grain of 16 */
    for (int i = 0; i < LINKS; i++)
        is_alone(i);
    drop();
    make("NHWC", 1, 8);
    is_at(SECOND, THREE, 72, 104);
    drop();
}

static void another_reader(void **state)
{
    make("NHWC", 1, 32);
    chain.links[TWO].residual = FIRST; /* one tensor twice: it cannot lie at two places */
    chain.links[TWO].work.k = 128;
    chain_slices(&chain, alone, slices);
    assert_true(!chain_part_apart(&chain, slices, TWO, 0) && chain_part_apart(&chain, slices, TWO, 1));
    chain.links[TWO].input = CHAIN_INPUT; /* of the chain itself */
    chain_slices(&chain, alone, slices);
    assert_true(chain_part_apart(&chain, slices, TWO, 0) && !chain_part_apart(&chain, slices, TWO, 1));
    is_at(FIRST, THREE, 64, 128);
    chain.count = THREE + 1; /* the output of the chain is its own tensor */
    chain_slices(&chain, alone, slices);
    assert_false(chain_joined(&chain, slices, THREE));
    is_alone(SECOND);
    chain.count = LINKS;
    drop();
    make("NHWC", 1, 32);
    chain.links[THREE].input = FIRST; /* at the same place of both concats, which are two tensors */
    chain.links[THREE].work.c = 64;
    chain.links[THREE].work.k = 96;
    chain_slices(&chain, alone, slices);
    is_at(FIRST, THREE, 0, 96);
    assert_true(!chain_part_apart(&chain, slices, THREE, 0) && chain_part_apart(&chain, slices, TWO, 0));
    drop();
    make("NHWC", 1, 32);
    chain.links[TWO].work.mask.pattern = MASK_IID; /* it has inputs of masks to join, too */
    chain_slices(&chain, alone, slices);
    is_at(TWO, THREE, 0, 128);
    is_alone(FIRST);
    is_alone(ONE);
    assert_false(chain_joined(&chain, slices, TWO));
    drop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_tensor_holds_all_parts), cmocka_unit_test(what_lies_alone_is_copied),
                                       cmocka_unit_test(layouts_and_grains), cmocka_unit_test(another_reader)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
