/* plan/rows/chain: the rows that a network has under its launch modes and ways to join tensors, and what their programs are bound to. */
#include "variant_folder.h"
#include "plan/rows/choose.h"
#include "plan/rows/plan.h"

#define LAYERS \
    "scenario: t\ndefaults: {n: 1, h: 6, w: 10, c: 8, k: 8, kernel: 3, pad: 1, op: conv2d, layout: NHWC, dtype: f16}\n" \
    "layers: {a: {}, b: {}, c: {}, l: {op: concat, k: 16}, d: {c: 16}}\n"

static struct plan plan;

/* Plans a network of `network`, a key of the scenario, for an H200. */
static void plan_of(const char *network, const char *variants, const char *device)
{
    struct error err = {0};
    char *text = text_format(LAYERS "network: {%s}\nvariants: [%s]\non: {emu: {crop: {h: 64, w: 64}}}\n", network, variants),
         *path = text_file(text), *set = text_format("my=%s", variant_folder);
    const char *const dirs[] = {set, NULL};
    const struct plan_options options = {.scenario_path = path, .variant_dirs = dirs};
    if (!plan_make(&options, device, chip_find("H200"), &plan, &err))
        fail_msg("%s", err.text);
    unlink(path);
    free(path);
    free(set);
    free(text);
}

static void put_conv(const char *name, const char *extra)
{
    struct text t = {0};
    text_addf(&t,
              "/* bench 1\nop: conv2d\nwhat: w\n%ssteps:\n  - kernel: k\n    grid: 1\n    block: 32\n    args: input, filter, output\n*/\n"
              "extern \"C\" __global__ void k() {}\n",
              extra);
    assert_true(variant_put(name, &t));
}

/* A stream and a graph have rows of their own, each with the library's row and the best; on emu, which has no graphs, there is a stream
 * whatever is asked for, of the whole network where nothing is cropped. */
static void each_launch_mode_has_rows(void **state)
{
    static const struct {
        const char *launch, *device;
        int streams, graphs, overlaps;
    } tries[] = {{"stream", "cuda", 2, 0, 0},  {"graph", "cuda", 0, 2, 0}, {"stream, graph", "cuda", 2, 2, 0},
                 {"overlap", "cuda", 0, 0, 1}, {"stream", "emu", 2, 0, 0}, {"graph", "emu", 2, 0, 0}};
    put_conv("keyed", "");
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        char *network = text_format("order: [a, b], launch: [%s]", tries[i].launch);
        int streams = 0, graphs = 0, overlaps = 0;
        plan_of(network, "my/keyed", tries[i].device);
        for (int k = 0; k < plan.row_count; k++) {
            const struct chain_row *row = plan.rows[k].chain;
            if (!row)
                continue;
            assert_true(!row->part && !plan.cases[plan.rows[k].case_index].part && !plan.cases[plan.rows[k].case_index].cropped);
            if (row->pick == CHAIN_SINGLE)
                continue;
            streams += !row->graph, graphs += row->graph && !row->overlap, overlaps += row->overlap;
        }
        if (streams != tries[i].streams || graphs != tries[i].graphs || overlaps != tries[i].overlaps)
            fail_msg("[%s] on %s: %d as a stream, %d as a graph, %d overlap", tries[i].launch, tries[i].device, streams, graphs, overlaps);
        plan_free(&plan);
        free(network);
    }
}

/* A concat of the first layer's output with the network's input joins that one alone. */
static void the_first_output_may_be_a_slice(void **state)
{
    static const char *const orders[] = {"[a, {layer: l, input: a, with: input}, d]", "[a, b]"};
    for (int i = 0; i < 2; i++) {
        char *network = text_format("order: %s, concat: [copy, slices]", orders[i]);
        int copies = 0, slices = 0;
        plan_of(network, "my/keyed", "cuda");
        for (int k = 0; k < plan.row_count; k++) {
            const struct chain_row *row = plan.rows[k].chain;
            copies += row && row->pick == CHAIN_BEST && !row->slices;
            slices += row && row->slices;
        }
        assert_true(copies > 0 && (slices > 0) == !i);
        plan_free(&plan);
        free(network);
    }
}

static void bind(int row)
{
    struct error err = {0};
    char why[256];
    int *choice = choose_links(&plan, row, NULL, why, sizeof why);
    if (!choice)
        fail_msg("%s", why);
    if (!plan_chain_bind(&plan, row, choice, &err))
        fail_msg("%s", err.text);
    free(choice);
}

/* Of kernels that overlap each but the first follows another one. */
static void all_but_the_first_follow(void **state)
{
    int looked = 0;
    put_conv("keyed", "define: {F: follows}\n");
    plan_of("order: [a, b, c], launch: [stream, overlap]", "my/keyed", "cuda");
    for (int k = 0; k < plan.row_count; k++) {
        const struct chain_row *row = plan.rows[k].chain;
        if (!row || row->pick != CHAIN_BEST)
            continue;
        bind(k);
        const struct program *p = plan_program(&plan, k);
        assert_true(p->feasible && p->step_count == 3);
        for (int i = 0; i < 3; i++) {
            const struct unit *u = &p->units[p->steps[i].unit];
            assert_string_equal(u->defines[0], row->overlap && i ? "F=1" : "F=0");
        }
        looked++;
    }
    assert_int_equal(looked, 2);
    plan_free(&plan);
    put_conv("keyed", "");
}

/* Under per_op each layer takes NCHW and leaves NHWC behind a change of layout: the changes are steps of the program. */
static void changes_of_layout_are_steps(void **state)
{
    int looked = 0;
    put_conv("keyed", "");
    plan_of("order: [a, b], layout: [per_op]", "my/keyed", "cuda");
    for (int k = 0; k < plan.row_count; k++) {
        const struct chain_row *row = plan.rows[k].chain;
        if (!row || row->pick != CHAIN_BEST)
            continue;
        int changes = 0;
        for (int i = 0; i < row->work->chain->count; i++)
            changes += row->work->chain->links[i].layer < 0;
        bind(k);
        const struct program *p = plan_program(&plan, k);
        assert_true(p->feasible && changes > 0 && p->step_count == 2 + changes);
        looked++;
    }
    assert_true(looked > 0);
    plan_free(&plan);
}

static int set_up(void **state)
{
    return !variant_folder_open();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_launch_mode_has_rows), cmocka_unit_test(the_first_output_may_be_a_slice),
                                       cmocka_unit_test(all_but_the_first_follow), cmocka_unit_test(changes_of_layout_are_steps)};
    return cmocka_run_group_tests(tests, set_up, variant_folder_remove);
}
