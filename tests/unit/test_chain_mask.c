/* op/chain with masks: the arguments of each link, the values between links, D, A and E, and how programs pass marks on, against loops
 * written here. */
#include "op/shape.h"
#include "op/chain/compose.h"
#include "op/mask/tiles.h"
#include "op/reference/data.h"
#include "op/mask/mask.h"
#include "scenario_text.h"
#include "plan/rows/choose.h"
#include "plan/rows/plan.h"
#include <math.h>

enum { N = 2, C = 3, K = 8, H = 11, W = 13, PIXELS = N * H * W };
static const char pair[] = "scenario: t\n"
                           "defaults: {n: 2, h: 11, w: 13, kernel: 3, pad: 1, op: conv2d, layout: NHWC}\n"
                           "layers:\n"
                           "  first: {c: 3, k: 8, epilogue: [bias, relu]}\n"
                           "  second: {c: 8, k: 8, epilogue: [bias]}\n"
                           "axes: {mask: {values: [none, full, {pattern: iid, density: 0.03}]}}\n"
                           "network: {order: [first, second]}\n"
                           "variants: [cudnn, conv2d/naive, conv2d/sparse_naive]\n";
static const struct mask iid = {.pattern = MASK_IID, .density = 0.03, .seed = 1};

static struct scenario *make(const struct mask *mask, struct chain *chain, struct work *work)
{
    struct error err = {0};
    bool cropped;
    struct scenario *s = loaded(pair);
    if (!scenario_chain(s, &s->networks[0], "cuda", LAYOUT_PLAN_GIVEN, mask, 0, chain, &cropped, &err) || !chain_work(chain, work, &err))
        fail_msg("%s", err.text);
    return s;
}

/* A 3x3 neighbourhood's OR, `radius` pixels to each side. */
static void spread(const float *in, int radius, float *out)
{
    for (int n = 0; n < N; n++)
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++) {
                float any = 0;
                for (int v = y - radius; v <= y + radius; v++)
                    for (int u = x - radius; u <= x + radius; u++)
                        any += v >= 0 && v < H && u >= 0 && u < W ? in[(n * H + v) * W + u] : 0;
                out[(n * H + y) * W + x] = any > 0;
            }
}

static void convolve(const double *x, const float *f, const float *bias, int c, bool relu, const float *keep, double *y)
{
    for (int n = 0; n < N; n++)
        for (int k = 0; k < K; k++)
            for (int p = 0; p < H; p++)
                for (int q = 0; q < W; q++) {
                    double sum = bias[k];
                    for (int d = 0; d < c; d++)
                        for (int t = 0; t < 9; t++) {
                            int v = p + t / 3 - 1, u = q + t % 3 - 1;
                            if (v >= 0 && v < H && u >= 0 && u < W)
                                sum += x[((n * c + d) * H + v) * W + u] * (double)f[(k * c + d) * 9 + t];
                        }
                    sum = relu && sum < 0 ? 0 : sum;
                    y[((n * K + k) * H + p) * W + q] = !keep || keep[(n * H + p) * W + q] != 0 ? sum : 0;
                }
}

/* The net of two loops over the data's own weights: `between`: pixels of the first layer's output that count. */
static void two_layers(const struct op_data *d, const float *between, double *out)
{
    double *x = calloc(C * PIXELS, sizeof *x), *middle = calloc(K * PIXELS, sizeof *middle);
    for (int i = 0; i < C * PIXELS; i++)
        x[i] = (double)d->at[SLOT_INPUT].value[i];
    convolve(x, d->links[0].at[SLOT_FILTER].value, d->links[0].at[SLOT_BIAS].value, C, true, between, middle);
    convolve(middle, d->links[1].at[SLOT_FILTER].value, d->links[1].at[SLOT_BIAS].value, K, false, NULL, out);
    free(middle);
    free(x);
}

/* Marks grow by the reach of a filter, layer by layer. The second layer reads pixels that the first does not write as zero, with and
 * without a bias.
 */
static void values_stop_where_marks_end(void **state)
{
    struct chain c;
    struct work w;
    struct op_data d;
    struct error err = {0};
    struct scenario *s = make(&iid, &c, &w);
    static float one[PIXELS], two[PIXELS];
    static double want[K * PIXELS];
    int active = 0, edge = 0;
    assert_true(op_data_make(&w, DATA_PART_PRECISION, &d, &err));
    spread(d.at[SLOT_MASK_IN].value, 1, one);
    spread(d.at[SLOT_MASK_IN].value, 2, two);
    two_layers(&d, one, want);
    for (int i = 0; i < PIXELS; i++)
        assert_true(d.mask_out[i] == two[i]);
    for (int n = 0; n < N; n++)
        for (int k = 0; k < K; k++)
            for (int i = 0; i < H * W; i++) {
                int at = (n * K + k) * H * W + i;
                if (two[n * H * W + i] == 0)
                    continue;
                assert_true(fabs(d.at[SLOT_OUTPUT].reference[at] - want[at]) <= 1e-13 * (1 + fabs(want[at])));
                assert_true(d.at[SLOT_OUTPUT].bound[at] > 0 && (double)d.at[SLOT_OUTPUT].bound[at] < 1e-4);
                active++;
            }
    assert_true(active > 0 && active < K * PIXELS);
    two_layers(&d, NULL, want); /* the dense net of the same input has a bias beyond the marks */
    for (int i = 0; i < K * H * W; i++)
        edge += two[i % (H * W)] != 0 && fabs(d.at[SLOT_OUTPUT].reference[i] - want[i]) > 1e-6;
    assert_true(edge > 0);
    op_data_free(&d);
    chain_free(&c);
    scenario_free(s);
}

/* What a dense row is held to: the full input, and the dense net. */
static void full_data_are_of_the_dense_net(void **state)
{
    struct chain c;
    struct work w;
    struct op_data d;
    struct error err = {0};
    struct scenario *s = make(&iid, &c, &w);
    static double want[K * PIXELS];
    int zeros = 0;
    assert_true(op_data_make(&w, (enum data_part)(DATA_PART_PRECISION | DATA_FULL), &d, &err));
    two_layers(&d, NULL, want);
    for (int i = 0; i < K * PIXELS; i++)
        if (d.mask_out[i / (K * H * W) * H * W + i % (H * W)] != 0)
            assert_true(fabs(d.at[SLOT_OUTPUT].reference[i] - want[i]) <= 1e-13 * (1 + fabs(want[i])));
    for (int i = 0; i < C * PIXELS; i++)
        zeros += d.at[SLOT_INPUT].value[i] == 0;
    assert_true(zeros < PIXELS / 10);
    assert_non_null(d.mask_out);
    op_data_free(&d);
    chain_free(&c);
    scenario_free(s);
}

/* The allowed error is that of the pixels that are computed, not of all: a sparse mask does not make it smaller. */
static void bounds_do_not_depend_on_density(void **state)
{
    static const struct mask full = {.pattern = MASK_FULL};
    const struct mask *masks[] = {&full, &iid};
    double mean[2] = {0};
    for (int m = 0; m < 2; m++) {
        struct chain c;
        struct work w;
        struct op_data d;
        struct error err = {0};
        struct scenario *s = make(masks[m], &c, &w);
        int count = 0;
        assert_true(op_data_make(&w, DATA_PART_PRECISION, &d, &err));
        for (int i = 0; i < K * PIXELS; i++)
            if (d.mask_out[i / (K * H * W) * H * W + i % (H * W)] != 0) {
                mean[m] += (double)d.at[SLOT_OUTPUT].carried[i];
                count++;
            }
        mean[m] /= count;
        op_data_free(&d);
        chain_free(&c);
        scenario_free(s);
    }
    assert_true(mean[1] > mean[0] / 3 && mean[1] < mean[0] * 3);
}

/* One marked pixel in the middle of the first image: the layers have 9 and 25 active outputs. A tile of 4x4 computes up to 6x6 outputs of
 * the first layer, clipped to the image. */
static void work_is_counted_link_by_link(void **state)
{
    struct chain c;
    struct work w;
    struct scenario *s = make(&iid, &c, &w);
    static float in[PIXELS], out[PIXELS];
    memset(in, 0, sizeof in);
    in[5 * W + 6] = 1;
    mask_dilate(&w, in, out);
    double first = 2.0 * C * 9 * K, second = 2.0 * K * 9 * K;
    assert_true(fabs(chain_useful_flop(&c, in) - (9 * first + 25 * second)) < 1e-6 * second);
    struct useful useful;
    work_useful_of(&w, in, out, &useful);
    assert_true(fabs(useful.flop - (9 * first + 25 * second)) < 1e-6 * second);
    assert_true(fabs(useful.output_share - 25.0 / PIXELS) < 1e-12);
    struct tile_stats stats;
    tile_stats(&w, in, out, &(struct tile){.h = 4, .w = 4, .every = 1}, &stats);
    /* outputs of rows 3..7 and columns 4..8: tiles from rows 0 and 4, columns 4 and 8 */
    assert_int_equal(stats.tiles, N * 3 * 4);
    assert_int_equal(stats.active, 4);
    double rows_of_first = 5 + 6, columns_of_first = 6 + 6; /* rows -1..4 and 3..8, columns 3..8 and 7..12; those inside */
    assert_true(fabs(stats.flop - (rows_of_first * columns_of_first * first + 4 * 16 * second)) < 1e-6 * second);
    chain_free(&c);
    scenario_free(s);
}

static struct plan *planned(const char *text, char **path)
{
    static struct plan plan;
    struct plan_options options = {.scenario_path = *path = text_file(text)};
    struct error err = {0};
    if (!plan_make(&options, "emu", chip_find("GH100"), &plan, &err))
        fail_msg("%s", err.text);
    return &plan;
}

/* Three chain cases: without a mask and with each; every sparse row passes one mask between the links, no dense one does. */
static void every_mask_is_a_case(void **state)
{
    char *path, why[256];
    struct plan *plan = planned(pair, &path);
    struct error err = {0};
    int sparse = 0, dense = 0;
    for (int i = 0; i < plan->row_count; i++) {
        const struct chain_row *row = plan->rows[i].chain;
        if (!row || row->pick == CHAIN_LIBRARY)
            continue;
        const struct scenario_case *c = &plan->cases[plan->rows[i].case_index];
        bool masked = c->work.mask.pattern != MASK_NONE;
        int *choice = choose_links(plan, i, NULL, why, sizeof why);
        if (!choice) { /* sparse_naive has no mask to work on */
            assert_true(!masked && row->pick == CHAIN_SINGLE && strstr(row->single, "sparse_naive"));
            continue;
        }
        assert_true(plan_chain_bind(plan, i, choice, &err));
        const struct program *p = plan_program(plan, i);
        bool wanted = masked && (row->pick == CHAIN_BEST || strstr(row->single, "sparse_naive"));
        assert_true(p->feasible && p->uses_mask == wanted && p->reads_inactive == !wanted);
        int marks = 0;
        for (int k = 0; k < p->scratch_count; k++)
            marks += !strncmp(p->scratch[k].name, "marks", 5);
        assert_int_equal(marks, wanted);
        assert_true((program_tensor(p, "mask_out") >= 0) == wanted && (program_tensor(p, "mask_in") >= 0) == wanted);
        sparse += wanted;
        dense += !wanted;
        struct row *r = row_new();
        r->flop = 5;
        assert_true(plan_row_scheduled(plan, i, r, &err));
        if (wanted && c->work.mask.pattern == MASK_IID) { /* tiles of one pixel schedule what is useful */
            struct useful useful;
            assert_true(work_useful(&c->work, &useful, &err));
            assert_true(fabs(r->flop_scheduled - useful.flop) < 1e-6 * useful.flop);
        } else if (masked && !wanted) {
            assert_true(r->flop_scheduled == 5);
        }
        row_free(r);
        free(choice);
    }
    assert_int_equal(sparse, 2 * 2); /* best and sparse_naive, with two masks */
    assert_int_equal(dense, 2 + 2);  /* best and naive without; naive with two masks */
    plan_free(plan);
    unlink(path);
    free(path);
}

/* A net that has a skip, or whose layers move pixels in their epilogue, is run whole without a mask only, and the notes say why, once. */
static void what_passes_no_marks_says_why(void **state)
{
    static const struct {
        const char *layer, *order, *says;
    } nets[] = {{"{c: 8, k: 8, epilogue: [residual]}", "[a, {layer: b, residual: a}]",
                 "layer 'b' reads more than the output of the layer before it"},
                {"{c: 8, k: 8, epilogue: [{depth_to_space: {block: 2, mode: CRD}}]}", "[a, b]", "layer 'b' moves pixels in its epilogue"}};
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++) {
        char *path, *text = text_format("scenario: t\ndefaults: {n: 1, h: 6, w: 5, kernel: 3, pad: 1, op: conv2d, layout: NHWC}\n"
                                        "layers: {a: {c: 8, k: 8}, b: %s}\naxes: {mask: {values: [none, full, pixel]}}\n"
                                        "network: {order: %s}\nvariants: [conv2d/naive]\n",
                                        nets[i].layer, nets[i].order);
        struct plan *plan = planned(text, &path);
        int chains = 0, told = 0;
        for (int k = 0; k < plan->note_count; k++)
            told += strstr(plan->notes[k], nets[i].says) != NULL;
        assert_int_equal(told, 1);
        for (int k = 0; k < plan->case_count; k++)
            chains += !strcmp(plan->cases[k].work.op->name, "chain");
        assert_int_equal(chains, 1);
        plan_free(plan);
        unlink(path);
        free(path);
        free(text);
    }
}

/* Parts by hand: marks must come from the part before, and pixels that it leaves as they were must not be read. */
static void parts_must_fit(void **state)
{
    struct chain c;
    struct work w;
    struct scenario *s = make(&iid, &c, &w);
    struct tensor with[] = {{.role = &shape_roles[SLOT_OUTPUT]}, {.role = &shape_roles[SLOT_MASK_OUT]}};
    static const struct {
        bool first_sparse, first_tells, second_sparse, second_reads_all;
        enum inactive left;
        const char *says;
    } tries[] = {{false, false, true, false, INACTIVE_UNTOUCHED, "chain: y works on marked pixels, x on all"},
                 {true, true, false, false, INACTIVE_UNTOUCHED, "chain: x works on marked pixels, y on all"},
                 {true, false, true, false, INACTIVE_UNTOUCHED, "x writes no mask, and y reads it"},
                 {true, true, true, true, INACTIVE_UNTOUCHED, "y reads all pixels, also those that x leaves as they were"}};
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        struct error err = {0};
        struct program x = {.variant = "x",
                            .feasible = true,
                            .uses_mask = tries[i].first_sparse,
                            .tensors = with,
                            .tensor_count = tries[i].first_tells ? 2 : 1,
                            .inactive = tries[i].left},
                       y = {.variant = "y",
                            .feasible = true,
                            .uses_mask = tries[i].second_sparse,
                            .reads_inactive = tries[i].second_reads_all,
                            .tensors = with,
                            .tensor_count = 2},
                       out = {0};
        const struct program *const parts[] = {&x, &y};
        assert_true(compose_chain(&w, parts, (int[]){1, 1}, NULL, NULL, &out, &err));
        assert_false(out.feasible);
        if (!strstr(out.reason, tries[i].says))
            fail_msg("%s", out.reason);
        program_free(&out);
    }
    chain_free(&c);
    scenario_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_stop_where_marks_end),
        cmocka_unit_test(full_data_are_of_the_dense_net),
        cmocka_unit_test(bounds_do_not_depend_on_density),
        cmocka_unit_test(work_is_counted_link_by_link),
        cmocka_unit_test(every_mask_is_a_case),
        cmocka_unit_test(what_passes_no_marks_says_why),
        cmocka_unit_test(parts_must_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
