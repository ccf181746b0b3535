/* op/chain, scenario/chain, op/compose: a network run whole, against loops written here and counts done by hand. */
#include "op/shape.h"
#include "op/compose.h"
#include "op/least.h"
#include "fixture_rows.h"
#include "scenario_text.h"
#include "plan/choose.h"
#include "plan/plan.h"
#include <math.h>

static const char small[] = "scenario: t\n"
                            "defaults: {n: 2, h: 6, w: 5, kernel: 3, pad: 1, op: conv2d}\n"
                            "layers:\n"
                            "  head: {c: 3, k: 8, epilogue: [bias]}\n"
                            "  b1: {c: 8, k: 8, epilogue: [bias, relu]}\n"
                            "  b2: {c: 8, k: 8, epilogue: [bias, residual]}\n"
                            "  up: {c: 8, k: 8, epilogue: [bias, {depth_to_space: {block: 2, mode: CRD}}]}\n"
                            "axes: {layout: [NHWC, NCHW]}\n"
                            "network: {order: [head, {repeat: 2, of: [b1, b2]}, b2, up], layout: [given, NCHW, NHWC, per_op, ends]}\n"
                            "variants: [cudnn, conv2d/naive, conv2d/tiled_halo]\n";

static struct scenario *load(const char *text)
{
    struct error err = {0};
    char *path = text_file(text);
    struct scenario *s = scenario_load(path, &err);
    if (!s)
        fail_msg("%s", err.text);
    unlink(path);
    free(path);
    return s;
}

static void make(const struct scenario *s, enum layout_plan plan, struct chain *chain, struct work *work)
{
    struct error err = {0};
    bool cropped;
    if (!scenario_chain(s, &s->networks[0], "cuda", plan, NULL, chain, &cropped, &err) || !chain_work(chain, work, &err))
        fail_msg("%s", err.text);
    assert_false(cropped);
}

/* EDSR in small: the residual of a block is what entered the block, that of the last body convolution the head's output. */
static void residuals_are_those_of_edsr(void **state)
{
    struct scenario *s = load(small);
    struct chain c;
    struct work w;
    make(s, LAYOUT_PLAN_GIVEN, &c, &w);
    assert_int_equal(c.count, 7);
    static const int inputs[] = {-1, 0, 1, 2, 3, 4, 5}, residuals[] = {-2, -2, 0, -2, 2, 0, -2};
    for (int i = 0; i < 7; i++) {
        assert_int_equal(c.links[i].input, inputs[i]);
        assert_int_equal(c.links[i].residual, residuals[i]);
        assert_int_equal(c.links[i].layer, i);
    }
    assert_true(w.k == 2 && w.p == 12 && w.q == 10 && w.n == 2 && w.c == 3);
    struct least whole, one; /* what all of them cannot do without is what each cannot */
    double direct = 0, winograd = 0;
    least_of(&w, NULL, NULL, &whole);
    for (int i = 0; i < 7; i++) {
        least_of(&c.links[i].work, NULL, NULL, &one);
        direct += one.direct;
        winograd += one.winograd;
    }
    assert_true(direct > 0 && whole.direct == direct && whole.winograd == winograd);
    chain_free(&c);
    scenario_free(s);
}

static int conversions(const struct chain *c)
{
    int count = 0;
    for (int i = 0; i < c->count; i++)
        count += c->links[i].layer < 0;
    return count;
}

static void layout_plans_convert_where_they_say(void **state)
{
    struct scenario *s = load(small);
    /* per op: seven layers in and out, and three residuals */
    static const int wanted[] = {0, 0, 0, 7 + 7 + 3, 2};
    for (int plan = 0; plan < LAYOUT_PLAN_COUNT; plan++) {
        struct chain c;
        struct work w;
        make(s, (enum layout_plan)plan, &c, &w);
        assert_int_equal(conversions(&c), wanted[plan]);
        enum layout ends = plan == LAYOUT_PLAN_NHWC ? LAYOUT_NHWC : LAYOUT_NCHW;
        assert_int_equal(w.layout, ends);
        assert_int_equal(w.to, LAYOUT_NONE);
        for (int i = 0; i < c.count; i++)
            if (c.links[i].layer >= 0)
                assert_int_equal(c.links[i].work.layout, plan == LAYOUT_PLAN_GIVEN || plan == LAYOUT_PLAN_NCHW ? LAYOUT_NCHW : LAYOUT_NHWC);
        chain_free(&c);
    }
    scenario_free(s);
}

/* One convolution as loops: x[n][c][h][w], w[k][c][3][3]. */
static double *convolve(const double *x, const float *f, const float *bias, int n, int c, int h, int w, int k)
{
    double *y = calloc((size_t)(n * k * h * w), sizeof *y);
    for (int i = 0; i < n; i++)
        for (int o = 0; o < k; o++)
            for (int p = 0; p < h; p++)
                for (int q = 0; q < w; q++) {
                    double sum = bias[o];
                    for (int d = 0; d < c; d++)
                        for (int r = 0; r < 9; r++) {
                            int yy = p + r / 3 - 1, xx = q + r % 3 - 1;
                            if (yy >= 0 && yy < h && xx >= 0 && xx < w)
                                sum += x[((i * c + d) * h + yy) * w + xx] * (double)f[(o * c + d) * 9 + r];
                        }
                    y[((i * k + o) * h + p) * w + q] = sum;
                }
    return y;
}

static double *step(const struct op_data *d, int run, double *x, int c, int k, bool relu, const double *residual)
{
    double *y = convolve(x, d->links[run].at[SLOT_FILTER].value, d->links[run].at[SLOT_BIAS].value, 2, c, 6, 5, k);
    for (int i = 0; i < 2 * k * 30; i++) {
        y[i] = relu && y[i] < 0 ? 0 : y[i];
        y[i] += residual ? residual[i] : 0;
    }
    return y;
}

static void reference_is_the_net_in_double(void **state)
{
    struct scenario *s = load(small);
    struct chain c, per_op;
    struct work w, other;
    struct op_data d, same;
    struct error err = {0};
    double *v[8];
    make(s, LAYOUT_PLAN_GIVEN, &c, &w);
    assert_true(op_data_make(&w, DATA_PART_PRECISION, &d, &err));
    assert_false(d.exact);
    v[0] = calloc(180, sizeof(double));
    for (int i = 0; i < 180; i++)
        v[0][i] = (double)d.at[SLOT_INPUT].value[i];
    v[1] = step(&d, 0, v[0], 3, 8, false, NULL);
    v[2] = step(&d, 1, v[1], 8, 8, true, NULL);
    v[3] = step(&d, 2, v[2], 8, 8, false, v[1]);
    v[4] = step(&d, 3, v[3], 8, 8, true, NULL);
    v[5] = step(&d, 4, v[4], 8, 8, false, v[3]);
    v[6] = step(&d, 5, v[5], 8, 8, false, v[1]);
    v[7] = step(&d, 6, v[6], 8, 8, false, NULL);
    assert_int_equal(d.at[SLOT_OUTPUT].elements, 2 * 2 * 12 * 10);
    double squares = 0;
    for (int n = 0; n < 2; n++)
        for (int ch = 0; ch < 2; ch++)
            for (int y = 0; y < 12; y++)
                for (int x = 0; x < 10; x++) {
                    double want = v[7][((n * 8 + ch * 4 + y % 2 * 2 + x % 2) * 6 + y / 2) * 5 + x / 2];
                    double got = d.at[SLOT_OUTPUT].reference[((n * 2 + ch) * 12 + y) * 10 + x];
                    assert_true(fabs(got - want) <= 1e-13 * (1 + fabs(want)));
                    squares += got * got;
                }
    squares /= (double)d.at[SLOT_OUTPUT].elements;
    assert_true(squares > 0.1 && squares < 10); /* activations keep their size */
    /* another layout plan has the same values */
    make(s, LAYOUT_PLAN_PER_OP, &per_op, &other);
    assert_true(op_data_make(&other, DATA_PART_PRECISION, &same, &err));
    for (size_t i = 0; i < d.at[SLOT_OUTPUT].elements; i++)
        assert_true(same.at[SLOT_OUTPUT].reference[i] == d.at[SLOT_OUTPUT].reference[i]);
    op_data_free(&same);
    w.set_seed = 5; /* another set of inputs: another input, the same weights */
    assert_true(op_data_make(&w, DATA_PART_PRECISION, &same, &err));
    int others = 0, weights = 0;
    for (int i = 0; i < 180; i++)
        others += same.at[SLOT_INPUT].value[i] != d.at[SLOT_INPUT].value[i];
    for (int i = 0; i < 8 * 8 * 9; i++)
        weights += same.links[1].at[SLOT_FILTER].value[i] != d.links[1].at[SLOT_FILTER].value[i];
    assert_true(others > 170 && !weights);
    assert_true(same.at[SLOT_OUTPUT].reference[0] != d.at[SLOT_OUTPUT].reference[0]);
    for (int i = 0; i < 8; i++)
        free(v[i]);
    op_data_free(&d);
    op_data_free(&same);
    chain_free(&c);
    chain_free(&per_op);
    scenario_free(s);
}

/* 1, 4, 16 blocks in f16: the tolerance grows about as the square root of the depth, and stays far below the values. */
static void tolerance_grows_with_depth(void **state)
{
    double last = 0;
    for (int blocks = 1; blocks <= 16; blocks *= 4) {
        char text[1024];
        snprintf(text, sizeof text,
                 "scenario: t\ndefaults: {n: 1, h: 8, w: 8, kernel: 3, pad: 1, op: conv2d, dtype: f16, c: 16, k: 16}\n"
                 "layers: {a: {epilogue: [bias, relu]}, b: {epilogue: [bias, residual]}}\n"
                 "network: {order: [{repeat: %d, of: [a, b]}]}\nvariants: [conv2d/naive]\n",
                 blocks);
        struct scenario *s = load(text);
        struct chain c;
        struct work w;
        struct op_data d;
        struct error err = {0};
        make(s, LAYOUT_PLAN_GIVEN, &c, &w);
        assert_true(op_data_make(&w, DATA_PART_PRECISION, &d, &err));
        double tolerance = 0, size = 0;
        for (size_t i = 0; i < d.at[SLOT_OUTPUT].elements; i++) {
            tolerance += (double)(d.at[SLOT_OUTPUT].bound[i] + d.at[SLOT_OUTPUT].carried[i]) / (double)d.at[SLOT_OUTPUT].elements;
            size += fabs(d.at[SLOT_OUTPUT].reference[i]) / (double)d.at[SLOT_OUTPUT].elements;
        }
        assert_true(tolerance > last * 1.2 && (last == 0 || tolerance < last * 6));
        assert_true(tolerance < 0.03 * size);
        last = tolerance;
        op_data_free(&d);
        chain_free(&c);
        scenario_free(s);
    }
}

/* The chain as a program: weights are buffers of their own, activations share four (the skips of the block and of the whole body live
 * across two others). */
static void programs_are_joined(void **state)
{
    char *path = text_file(small), why[256];
    struct plan_options options = {.scenario_path = path};
    struct error err = {0};
    struct plan plan;
    int chains = 0;
    if (!plan_make(&options, "emu", chip_find("GH100"), &plan, &err))
        fail_msg("%s", err.text);
    for (int i = 0; i < plan.row_count; i++) {
        const struct chain_row *row = plan.rows[i].chain;
        if (!row || row->pick != CHAIN_SINGLE || row->layout != LAYOUT_PLAN_GIVEN)
            continue;
        chains++;
        int *choice = choose_links(&plan, i, NULL, why, sizeof why);
        assert_non_null(choice);
        assert_true(plan_chain_bind(&plan, i, choice, &err));
        const struct program *p = &plan.rows[i].program;
        assert_true(p->feasible);
        assert_int_equal(p->constant_count, 14);
        int activations = 0;
        for (int k = 0; k < p->scratch_count; k++)
            activations += !strncmp(p->scratch[k].name, "activations", 11);
        assert_int_equal(activations, 4);
        int between = 0; /* convolution and what follows it, four times, one after another */
        for (int k = 0; k < p->scratch_count; k++)
            between += !strncmp(p->scratch[k].name, "between", 7);
        assert_int_equal(between, 1);
        assert_true(p->unit_count <= 5); /* of 11 kernels: equal ones are compiled and loaded once */
        free(choice);
    }
    assert_int_equal(chains, 2);
    plan_free(&plan);
    unlink(path);
    free(path);
}

/* By the scenario when it is read, or by the chain when it is made: a residual of a layer that never ran is the scenario's. */
static void refused(const char *order, const char *want)
{
    char *text = text_format("scenario: t\ndefaults: {n: 1, h: 6, w: 5, kernel: 3, pad: 1, op: conv2d}\n"
                             "layers: {a: {c: 3, k: 8}, b: {c: 8, k: 8, epilogue: [residual]}, d: {c: 8, k: 3}}\n"
                             "network: {order: %s}\nvariants: [conv2d/naive]\n",
                             order);
    struct error err = {0};
    char *path = text_file(text);
    struct scenario *s = scenario_load(path, &err);
    struct chain c;
    bool cropped;
    if (s)
        assert_false(scenario_chain(s, &s->networks[0], "cuda", LAYOUT_PLAN_GIVEN, NULL, &c, &cropped, &err));
    if (!strstr(err.text, want))
        fail_msg("'%s' is not said: %s", want, err.text);
    scenario_free(s);
    unlink(path);
    free(path);
    free(text);
}

static void what_cannot_run_whole_says_why(void **state)
{
    refused("[a, {layer: b, residual: d}]", "which has not run before it");
    refused("[a, d, a, {layer: b, residual: d}]", "but 'd' leaves 1x3x6x5");
    refused("[{repeat: 2000, of: [a, d]}]", "more than 1000 layer runs");
}

/* A part keeps its own skips; what others read from inside, or what comes from two tensors outside, is none. */
static void parts_are_chains(void **state)
{
    struct scenario *s = load(small);
    struct chain c, part;
    struct work w, own;
    struct op_data d;
    struct error err = {0};
    make(s, LAYOUT_PLAN_NHWC, &c, &w);
    assert_true(chain_part(&c, 1, 5, &part)); /* both blocks and the last body convolution: all read the head's output or their own */
    static const int inputs[] = {-1, 0, 1, 2, 3}, residuals[] = {-2, -1, -2, 1, -1};
    for (int i = 0; i < 5; i++) {
        assert_int_equal(part.links[i].input, inputs[i]);
        assert_int_equal(part.links[i].residual, residuals[i]);
    }
    assert_true(chain_work(&part, &own, &err));
    assert_true(own.runs == 5 && own.width == 8 && own.straight == 1 && own.back == 2 && own.plain == 1 && own.r == 3 && own.stride == 1);
    assert_true(op_data_make(&w, DATA_PART_PRECISION, &d, &err));
    float *links = chain_constant(&c, 1, 5, &d, op_role(w.op, "links"), 5 * CHAIN_COLUMNS),
          *bias = chain_constant(&c, 1, 5, &d, op_role(w.op, "bias"), 40),
          *filter = chain_constant(&c, 1, 5, &d, op_role(w.op, "filter"), 5 * 576);
    assert_true(links[0] == 8 && links[2] == 0 && links[3] == -1 && links[4] == 0); /* b1: reads the input, adds nothing, relu */
    assert_true(links[3 * CHAIN_COLUMNS + 2] == 3 && links[3 * CHAIN_COLUMNS + 3] == 2 && links[3 * CHAIN_COLUMNS + 4] == 1 &&
                links[3 * CHAIN_COLUMNS + 5] == 3 * 576 && links[3 * CHAIN_COLUMNS + 6] == 24);
    assert_true(links[4 * CHAIN_COLUMNS + 3] == 0); /* the long skip */
    assert_memory_equal(bias + 24, d.links[4].at[SLOT_BIAS].value, 8 * sizeof(float));
    assert_memory_equal(filter + 4 * 576, d.links[5].at[SLOT_FILTER].value, 576 * sizeof(float));
    chain_free(&part);
    assert_false(chain_part(&c, 0, 5, &part)); /* the last body convolution reads the head, which is inside */
    assert_false(chain_part(&c, 3, 3, &part)); /* and the head and the first block are two tensors */
    chain_work(&c, &own, &err);
    assert_true(own.width == 0 && own.plain == 0 && own.back == 5);
    free(links);
    free(bias);
    free(filter);
    op_data_free(&d);
    chain_free(&c);
    scenario_free(s);
}

static void add_median(struct row *row, const char *cache, const char *load, double us)
{
    struct row_time *t = row_add_time(row);
    t->step = -1;
    snprintf(t->cache, sizeof t->cache, "%s", cache);
    snprintf(t->load, sizeof t->load, "%s", load);
    t->median_ns = us * 1000;
    t->low_ns = us * 990;
    t->high_ns = us * 1020;
}

static struct row *known(const struct plan *plan, int i, double us)
{
    struct row *row = plan_row_new(plan, i, "cuda:0");
    row->status = ROW_OK;
    add_median(row, "cold", "isolated", us);
    return row;
}

static double of(const struct row *row, const char *name)
{
    const struct row_metric *m = row_metric(row, -1, name);
    return m ? m->value : NAN;
}

static int find_row(const struct plan *plan, const char *variant, const char *layer, enum layout layout)
{
    for (int i = 0; i < plan->row_count; i++)
        if (plan->rows[i].variant && !strcmp(plan_row_variant(&plan->rows[i]), variant) &&
            !strcmp(plan->cases[plan->rows[i].case_index].layer->name, layer) &&
            plan->cases[plan->rows[i].case_index].work.layout == layout)
            return i;
    fail_msg("no %s on %s", variant, layer);
    return -1;
}

/* What keeps the fastest row of a link out: another side, a mask that the network has not, another size; nothing verified is said. */
static void choices_are_rows_that_fit(struct plan *plan, struct row **rows)
{
    char why[256];
    struct side other = {0};
    int at = find_row(plan, "conv2d/cudnn", "b1", LAYOUT_NCHW), halo = find_row(plan, "conv2d/tiled_halo", "head", LAYOUT_NCHW);
    for (int i = 0; i < plan->row_count; i++) {
        struct chain_row *chain = plan->rows[i].chain;
        if (!chain || chain->layout != LAYOUT_PLAN_GIVEN || chain->pick != CHAIN_BEST)
            continue;
        struct text t = {0};
        for (int sided = 0; sided < 3; sided++) {
            plan->rows[at].side = sided ? &other : NULL;
            chain->side = sided == 2 ? &other : NULL;
            int *choice = choose_links(plan, i, rows, why, sizeof why);
            assert_true(choice && (choice[1] == at) == (sided != 1));
            free(choice);
        }
        plan->rows[at].side = chain->side = NULL;
        plan->rows[at].program.uses_mask = true;
        int *choice = choose_links(plan, i, rows, why, sizeof why);
        assert_true(choice && choice[1] != at);
        free(choice);
        plan->rows[at].program.uses_mask = false;
        choice = choose_links(plan, i, rows, why, sizeof why);
        assert_true(choice && choice[1] == at && choice[3] == at);
        choice[3] = find_row(plan, "conv2d/cudnn", "b1", LAYOUT_NHWC); /* one layer by two rows is named twice */
        choose_describe(plan, i, choice, &t);
        assert_string_equal(text_get(&t), "naive on head; cudnn on b1, b2, b1, up");
        choice[3] = at;
        struct work *w = &plan->cases[plan->rows[at].case_index].work;
        for (int side = 0; side < 3; side++) { /* a cropped layer's time is not the layer's */
            struct row *out = row_new();
            w->h += side == 1;
            w->w += side == 2;
            choose_sums(plan, i, choice, rows, out);
            assert_true(isnan(of(out, "chain.sum_ns")) == (side > 0));
            w->h -= side == 1;
            w->w -= side == 2;
            row_free(out);
        }
        choice[0] = -1; /* its other links were traced */
        for (int k = 1; k < 7; k++) {
            row_free(rows[choice[k]]);
            rows[choice[k]] = known(plan, choice[k], 10);
            rows[choice[k]]->launched = 0; /* ... and launched nothing */
        }
        struct row *out = row_new();
        choose_sums(plan, i, choice, rows, out);
        assert_true(of(out, "chain.library_layout_ns") == 0);
        row_free(out);
        free(choice);
        for (int k = 0; k < plan->row_count; k++)
            if (!strcmp(plan->cases[plan->rows[k].case_index].layer->name, "head") && !plan->rows[k].chain)
                rows[k]->status = ROW_WRONG;
        assert_null(choose_links(plan, i, rows, why, sizeof why));
        assert_non_null(strstr(why, "layer 'head' has no verified row in NCHW"));
        assert_int_equal(rows[halo]->status, ROW_WRONG);
        text_free(&t);
        return;
    }
    fail();
}

/* Why the library cannot run a layer is what its own row of that layer says, wherever that stands. */
static void the_librarys_own_reason(const struct plan *plan, struct row **rows, const char *layer)
{
    char why[256] = "", want[64];
    int at = 0;
    snprintf(want, sizeof want, "layer '%s': nothing for it", layer);
    for (int i = 0; i < plan->row_count; i++) {
        bool library = !strcmp(plan_row_variant(&plan->rows[i]), "conv2d/cudnn");
        bool here = library && !strcmp(plan->cases[plan->rows[i].case_index].layer->name, layer);
        at = here ? i : at;
        row_set(&rows[i]->reason, here ? "nothing for it" : library ? NULL : "another's");
    }
    rows[at]->status = ROW_SKIPPED;
    for (int i = 0; i < plan->row_count; i++)
        if (plan->rows[i].chain && plan->rows[i].chain->pick == CHAIN_LIBRARY && plan->rows[i].chain->layout == LAYOUT_PLAN_GIVEN)
            assert_null(choose_links(plan, i, rows, why, sizeof why));
    assert_string_equal(why, want);
    rows[at]->status = ROW_OK;
}

/* cuDNN 10 us a layer, of which 3 turn a layout; naive 8 on the head (and wrong on `up`), 20 elsewhere; tiled_halo never right. */
static void choices_follow_the_times(void **state)
{
    char *path = text_file(small), why[256];
    struct plan_options options = {.scenario_path = path};
    struct error err = {0};
    struct plan plan;
    int looked = 0;
    if (!plan_make(&options, "cuda", chip_find("GH100"), &plan, &err))
        fail_msg("%s", err.text);
    struct row **rows = calloc((size_t)plan.row_count, sizeof *rows);
    for (int i = 0; i < plan.row_count; i++) {
        const char *name = plan_row_variant(&plan.rows[i]), *layer = plan.cases[plan.rows[i].case_index].layer->name;
        bool library = !strcmp(name, "conv2d/cudnn"), halo = !strcmp(name, "conv2d/tiled_halo");
        rows[i] = known(&plan, i, library ? 10 : !strcmp(layer, "head") ? 8 : 20);
        if (library) {
            add_median(rows[i], "warm", "sustained", 7);
            fixture_launch(rows[i], "_ZN5cudnn3ops16nchwToNhwcKernelIfEv", (struct row_launch){.ns = 3000});
            fixture_launch(rows[i], "fprop", (struct row_launch){.ns = 6000});
        } else {
            fixture_launch(rows[i], "conv_naive", (struct row_launch){.ns = 5000});
        }
        if (halo || (!library && !strcmp(layer, "up")))
            rows[i]->status = ROW_WRONG;
    }
    for (int i = 0; i < plan.row_count; i++) {
        const struct chain_row *chain = plan.rows[i].chain;
        if (!chain || chain->layout != LAYOUT_PLAN_GIVEN)
            continue;
        int *choice = choose_links(&plan, i, rows, why, sizeof why);
        if (chain->pick == CHAIN_SINGLE && strstr(chain->single, "tiled_halo")) {
            assert_null(choice);
            assert_string_equal(why, "it is verified on no layer of this network");
            continue;
        }
        assert_non_null(choice);
        struct row *out = row_new();
        struct text t = {0};
        choose_describe(&plan, i, choice, &t);
        choose_sums(&plan, i, choice, rows, out);
        assert_true(of(out, "chain.library_sum_ns") == 7 * 10000);
        assert_true(isnan(of(out, "chain.sum_warm_ns")));
        if (chain->pick == CHAIN_LIBRARY) {
            assert_string_equal(text_get(&t), "cudnn on head, b1, b2, up");
            assert_true(of(out, "chain.sum_ns") == 7 * 10000 && of(out, "chain.library_layout_ns") == 7 * 3000);
            assert_true(of(out, "chain.inside.nchwToNhwcKernel_ns") == 7 * 3000 && isnan(of(out, "chain.inside.nhwcToNchwKernel_ns")));
            assert_true(of(out, "chain.sum_back_ns") == 7 * 7000);
        } else if (chain->pick == CHAIN_BEST) {
            assert_string_equal(text_get(&t), "naive on head; cudnn on b1, b2, up");
            assert_true(of(out, "chain.sum_back_ns") == 8000 + 6 * 7000); /* naive has no time in a graph */
            assert_true(of(out, "chain.sum_ns") == 8000 + 6 * 10000 && of(out, "chain.library_layout_ns") == 6 * 3000);
        } else { /* naive where it is right */
            assert_string_equal(text_get(&t), "naive on head, b1, b2; cudnn on up");
            assert_true(of(out, "chain.sum_ns") == 8000 + 5 * 20000 + 10000 && of(out, "chain.library_layout_ns") == 3000);
            assert_true(of(out, "chain.sum_low_ns") == 0.99 * of(out, "chain.sum_ns"));
            assert_true(of(out, "chain.sum_high_ns") == 1.02 * of(out, "chain.sum_ns"));
            assert_true(choose_behind(&plan, i, choice, rows) == (8000 + 5 * 20000 + 10000) / 70000.0);
            int times = rows[choice[0]]->time_count;
            rows[choice[0]]->time_count = 0; /* nothing is known, nothing is held against it */
            assert_true(isnan(choose_behind(&plan, i, choice, rows)));
            rows[choice[0]]->time_count = times;
        }
        looked++;
        text_free(&t);
        row_free(out);
        free(choice);
    }
    assert_int_equal(looked, 3);
    for (int k = 0; k < rows[0]->time_count; k++) /* the plan's very first row, cuDNN on the head, is the fastest there */
        rows[0]->times[k].median_ns = 5000;
    for (int i = 0; i < plan.row_count; i++)
        if (plan.rows[i].chain && plan.rows[i].chain->pick == CHAIN_BEST && plan.rows[i].chain->layout == LAYOUT_PLAN_NHWC) {
            int *choice = choose_links(&plan, i, rows, why, sizeof why);
            struct row *out = row_new();
            assert_true(choice && choice[0] == 0);
            choose_sums(&plan, i, choice, rows, out);
            assert_true(of(out, "chain.sum_ns") == 5000 + 6 * 10000 && of(out, "chain.library_sum_ns") == 5000 + 6 * 10000);
            assert_true(of(out, "chain.library_layout_ns") == 7 * 3000);
            struct text t = {0};
            choose_describe(&plan, i, choice, &t);
            assert_string_equal(text_get(&t), "cudnn on head, b1, b2, up");
            text_free(&t);
            row_free(out);
            rows[0]->status = ROW_WRONG; /* the library has no sum where one layer of it is not known, were it the first */
            out = row_new();
            choose_sums(&plan, i, choice, rows, out);
            assert_true(isnan(of(out, "chain.library_sum_ns")));
            rows[0]->status = ROW_OK;
            row_free(out);
            free(choice);
            looked++;
        }
    for (int cold = 0; cold < 2; cold++) { /* where only warm times were taken those decide */
        for (int i = 0; i < plan.row_count; i++)
            for (int k = 0; k < rows[i]->time_count; k++)
                if (!strcmp(rows[i]->times[k].load, "isolated"))
                    snprintf(rows[i]->times[k].cache, sizeof rows[i]->times[k].cache, "%s", cold ? "cold" : "warm");
        for (int i = 0; i < plan.row_count && !cold; i++)
            if (plan.rows[i].chain && plan.rows[i].chain->pick == CHAIN_BEST && plan.rows[i].chain->layout == LAYOUT_PLAN_GIVEN) {
                int *choice = choose_links(&plan, i, rows, why, sizeof why);
                struct text t = {0};
                choose_describe(&plan, i, choice, &t);
                assert_string_equal(text_get(&t), "naive on head; cudnn on b1, b2, up");
                text_free(&t);
                free(choice);
            }
    }
    assert_int_equal(looked, 4);
    rows[0]->status = ROW_SKIPPED; /* the library has the op, but not this call: nobody else stands for it */
    for (int i = 0; i < plan.row_count; i++)
        if (plan.rows[i].chain && plan.rows[i].chain->pick == CHAIN_LIBRARY && plan.rows[i].chain->layout == LAYOUT_PLAN_NHWC) {
            assert_null(choose_links(&plan, i, rows, why, sizeof why));
            looked++;
        }
    assert_int_equal(looked, 5);
    rows[0]->status = ROW_OK;
    the_librarys_own_reason(&plan, rows, "head"); /* the plan's first row */
    the_librarys_own_reason(&plan, rows, "up");
    choices_are_rows_that_fit(&plan, rows);
    for (int i = 0; i < plan.row_count; i++)
        row_free(rows[i]);
    free(rows);
    plan_free(&plan);
    unlink(path);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(residuals_are_those_of_edsr),
        cmocka_unit_test(layout_plans_convert_where_they_say),
        cmocka_unit_test(reference_is_the_net_in_double),
        cmocka_unit_test(tolerance_grows_with_depth),
        cmocka_unit_test(programs_are_joined),
        cmocka_unit_test(parts_are_chains),
        cmocka_unit_test(choices_follow_the_times),
        cmocka_unit_test(what_cannot_run_whole_says_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
