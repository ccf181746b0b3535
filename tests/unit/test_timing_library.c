/* worker/time with a library: which of its plans becomes a row's, and what the row says of it. The engines of the stand-in take known
 * times, and its result is a convolution on the host. */
#include "timing_world.h"
#include <limits.h>

#include "cudnn_graph_run.h"

#define ENGINES 8
static struct {
    struct device *dev;
    double ns[ENGINES];                                          /* by engine */
    int runs[ENGINES], fails_from[ENGINES], wrong_from[ENGINES]; /* from that run on: refused, or nothing is written (0: never) */
    struct cudnn_api api;
    struct cudnn_choice choice; /* what it came to know */
    int choices;
    bool ahead, is_graph; /* plans are made before anybody is timed; a rig is run as a graph */
    bool is_verified, is_sliced;
    bool unsettled; /* at the end the network's plans are settled again, and a bias cannot be converted */
    int asked_ahead;
    const struct cudnn_choice *known; /* before */
} library;

static struct cudnn_conv convolution; /* of the layer */

static enum dtype type_of(const struct graph_tensor *t)
{
    return t->data == DATA_HALF ? DTYPE_F16 : t->data == DATA_BFLOAT16 ? DTYPE_BF16 : DTYPE_F32;
}
static uint64_t address_of(int64_t uid)
{
    for (int i = 0; i < world.uid_count; i++)
        if (world.uids[i] == uid)
            return world.pointers[i];
    fail_msg("the graph has a tensor %d, and nobody gave it an address", (int)uid);
    return 0;
}

static double *read_tensor(const struct graph_tensor *t)
{
    struct error err = {0};
    if (t->uid == UID_Y)
        return NULL;
    double *values = xcalloc(t->places, sizeof *values);
    void *raw = xcalloc(t->places, 4);
    assert_true(timing.emu->read(library.dev, address_of(t->uid), raw, t->places * dtype_bytes(type_of(t)), &err));
    for (size_t i = 0; i < t->places; i++)
        values[i] = dtype_get(type_of(t), raw, i);
    free(raw);
    return values;
}

/* What its graph describes, on the host. */
static int run_library(void *handle, void *plan, void *pack)
{
    struct graph_run run;
    struct error err = {0};
    int engine = ((struct fake *)plan)->of->engine, nth = ++library.runs[engine];
    if (library.fails_from[engine] && nth >= library.fails_from[engine])
        return STATUS_NOT_SUPPORTED;
    execute(handle, plan, pack);
    if (world.workspace || ((struct fake *)plan)->of->workspace) /* it has what it asked for, and uses it */
        assert_true(timing.emu->fill(library.dev, world.workspace, 7, (size_t)((struct fake *)plan)->of->workspace, &err));
    spend(library.ns[engine]);
    graph_run(((struct fake *)plan)->graph, &run, read_tensor);
    const struct graph_tensor *y = graph_find(&run, UID_Y);
    void *raw = xcalloc(y->places, 4);
    for (size_t i = 0; i < y->places; i++)
        dtype_set(type_of(y), raw, i, y->value[i]);
    if (!library.wrong_from[engine] || nth < library.wrong_from[engine])
        assert_true(timing.emu->write(library.dev, address_of(UID_Y), raw, y->places * dtype_bytes(type_of(y)), &err));
    free(raw);
    graph_run_free(&run);
    return STATUS_SUCCESS;
}

/* Two plans of a row, its steps captured once it has run. */
static void run_as_graph(struct worker *w)
{
    struct error err = {0};
    struct rig *rig;
    int row = layer_of(&w->job.plan, "my/cudnn_lib");
    struct program p = *plan_program(&w->job.plan, row);
    struct op_data *data;
    const struct device_image none[4] = {{.label = "none"}};
    p.graph = true;
    assert_true(data_get(&w->data, row, DATA_PART_PRECISION, 0, &data, &err));
    if (!rig_open(w->job.dev, w->library.cudnn, &p, none, false, &rig, &err) || !rig_feed(rig, data, &err))
        fail_msg("%s", err.text);
    static const int runs[][2] = {{1, 0}, {2, 0}, {2, 0}, {2, 1}, {2, 1}}; /* by itself; captured, launched; another plan is captured */
    for (int i = 0; i < 5; i++) {
        if (i == 3)
            rig_plan_use(rig, 0, 1);
        if (!rig_run(rig, &err))
            fail_msg("%s", err.text);
        assert_true(library.runs[1] == runs[i][0] && library.runs[2] == runs[i][1]);
    }
    assert_int_equal(rig_plan_used(rig, 0), 1);
    rig_close(rig);
}

/* Before it is timed a row is verified with the first plan that is offered; none is raced for it. */
static void verify_row(struct worker *w)
{
    struct error err = {0};
    const struct result *r = w->context;
    int row = layer_of(&w->job.plan, "my/cudnn_lib");
    json_t *verify = json_pack("{s:s,s:i,s:[]}", "do", "verify", "row", row, "choice");
    if (!worker_handle(w, verify, &err))
        fail_msg("%s", err.text);
    json_decref(verify);
    const struct row *of = r->rows[row];
    if (of->status != ROW_OK)
        fail_msg("%s", of->reason);
    assert_true(!strcmp(of->engine, "engine 1") && of->engine_number == 1 && of->plan_count == 0 && of->time_count == 0);
    assert_true(!strncmp(of->check, "exact + ", 8) && !row_metric(of, -1, "verify.neighbours"));
    assert_true(library.runs[1] >= 3 && library.runs[2] == 0);
}

static void give_library(struct worker *w)
{
    library.dev = w->job.dev;
    library.api = api;
    library.api.cudnnBackendExecute = run_library;
    w->library.cudnn = xcalloc(1, sizeof *w->library.cudnn);
    w->library.cudnn->api = &library.api;
    w->library.cudnn->dev = w->job.dev;
    w->library.cudnn->handle = &a_handle;
    if (library.known)
        cudnn_choose(w->library.cudnn, &convolution, &library.known->facts, library.known->among);
    if (library.known)
        memcpy(w->library.cudnn->choices[0].raced, library.known->raced, sizeof library.known->raced);
    for (int i = 0; library.ahead && i < w->job.plan.row_count; i++)
        if (!strncmp(plan_row_variant(&w->job.plan.rows[i]), "my/", 3))
            rig_library_ahead(w->library.cudnn, plan_program(&w->job.plan, i), false);
    library.asked_ahead = world.asked[HEURISTIC_A];
    if (library.is_graph)
        run_as_graph(w);
    if (library.is_verified)
        verify_row(w);
}

/* The plans of a network whose second layer takes the first one's: its own bias must be ready before it is so. */
static void settle_without_bias(struct worker *w)
{
    struct error err = {0};
    struct rig *rig;
    struct op_data *data;
    const struct device_image none[4] = {{.label = "none"}};
    int row = 0;
    while (strcmp(plan_row_variant(&w->job.plan.rows[row]), "chain/library") != 0)
        row++;
    if (!data_get(&w->data, row, DATA_PART_PRECISION, 0, &data, &err) ||
        !rig_open(w->job.dev, w->library.cudnn, plan_program(&w->job.plan, row), none, false, &rig, &err) || !rig_feed(rig, data, &err))
        fail_msg("%s", err.text);
    assert_true(rig_library_step(rig, 0) == 0 && rig_library_step(rig, 1) == -1);
    assert_true(rig_plan_settle(rig, &err));
    timing.fails = "narrow_f16";
    assert_false(rig_plan_settle(rig, &err));
    assert_non_null(strstr(err.text, "narrow_f16 is refused"));
    rig_close(rig);
}

/* What a rig asks of the library is its own convolution, with the distance between pixels where a tensor is part of a wider one: a choice
 * is kept for it, and an engine that was hopelessly slow is known for it, and for no larger one. */
static void ask_for_slices(struct worker *w)
{
    struct error err = {0};
    struct rig *rig;
    int row = layer_of(&w->job.plan, "my/cudnn_lib");
    struct program p = *plan_program(&w->job.plan, row);
    struct step step = p.steps[0];
    const struct device_image none[4] = {{.label = "none"}};
    struct cudnn_conv sliced = convolution, smaller = convolution;
    step.operand_pitch[SLOT_INPUT] = sliced.pitch[0] = 5;
    step.operand_pitch[SLOT_OUTPUT] = sliced.pitch[1] = 7;
    smaller.h = smaller.p = 3;
    p.steps = &step;
    if (!rig_open(w->job.dev, w->library.cudnn, &p, none, false, &rig, &err))
        fail_msg("%s", err.text);
    assert_false(rig_plan_hopeless(rig, 0, 0) || rig_plan_hopeless(rig, 0, 1));
    rig_plan_is_hopeless(rig, 0, 1);
    assert_true(!rig_plan_hopeless(rig, 0, 0) && rig_plan_hopeless(rig, 0, 1));
    assert_true(cudnn_is_slow(w->library.cudnn, &sliced, 2) && !cudnn_is_slow(w->library.cudnn, &smaller, 2));
    rig_plan_use(rig, 0, 0);
    rig_plan_keep(rig, 0);
    const struct cudnn_choice *own = cudnn_chosen(w->library.cudnn, &convolution), *other = cudnn_chosen(w->library.cudnn, &sliced);
    assert_true(own && own->facts.engine == 2 && other && other->facts.engine == 1);
    rig_close(rig);
    memset(library.runs, 0, sizeof library.runs);
}

static void ask_library(struct worker *w)
{
    if (library.is_sliced)
        ask_for_slices(w);
    if (library.unsettled)
        settle_without_bias(w);
    library.choices = w->library.cudnn->choice_count;
    if (library.choices)
        library.choice = w->library.cudnn->choices[0];
}

static void offer(char mode, int engine, double ns)
{
    int heuristic = mode == 'A' ? HEURISTIC_A : mode == 'B' ? HEURISTIC_B : HEURISTIC_FALLBACK;
    world.list[heuristic][world.counts[heuristic]++] = (struct offered){.engine = engine, .workspace = 100 * engine};
    library.ns[engine] = ns;
}

static void begin_library(void)
{
    begin();
    memset(&library, 0, sizeof library);
    memset(&world, 0, sizeof world);
    convolution = (struct cudnn_conv){.n = 1,
                                      .c = 2,
                                      .h = 6,
                                      .w = 8,
                                      .k = 2,
                                      .r = 3,
                                      .s = 3,
                                      .p = 6,
                                      .q = 8,
                                      .stride = 1,
                                      .pad = 1,
                                      .dilation = 1,
                                      .groups = 1,
                                      .dtype = DTYPE_F32,
                                      .layout = LAYOUT_NCHW,
                                      .math = MATH_F32};
    timing.opened = give_library;
    timing.ends = ask_library;
}

static const struct row *library_row(const struct result *r)
{
    return row_of(r, "my/cudnn_lib");
}
/* Whatever was made of the library was given back. */
static void done(struct result *r)
{
    let_go(r);
    assert_int_equal(world.alive, 0);
}
static double median_of(const struct result *r, const char *name)
{
    return time_of(r, name, "cold", "isolated")->median_ns;
}

/* The fastest plan becomes the row with which our rows are compared. Each plan that was timed is reported with its time, and the choice is
 * stored for exactly this convolution. */
static void the_fastest_plan_is_the_row(void **state)
{
    begin_library();
    offer('A', 1, 300000), offer('A', 2, 100000), offer('B', 3, 200000);
    struct result r = timed("[my/cudnn_lib, my/ours]", "{rounds: [12, 12]}");
    const struct row *row = library_row(&r);
    assert_int_equal(row->status, ROW_OK);
    assert_string_equal(row->engine, "engine 2, mode A rank 1, best of 3, strict f32 (cuDNN's default is tf32)");
    assert_true(row->engine_number == 2 && !strcmp(row->engine_heuristic, "A") && row->engine_rank == 1 && row->workspace_bytes == 200);
    assert_true(fabs(median_of(&r, "my/cudnn_lib") - 100000) < 1);
    assert_true(fabs(time_of(&r, "my/ours", "cold", "isolated")->ratio - 1.25) < 1e-9);
    assert_true(row->plan_count == 3 && timing.plans == 1);
    for (int i = 0; i < 3; i++) {
        const struct row_plan *p = &row->plans[i];
        int engine = i == 1 ? 3 : i ? 2 : 1; /* mode A and B in turns */
        assert_true(p->engine == engine && !strcmp(p->heuristic, engine == 3 ? "B" : "A") && p->rank == (engine == 2) && p->step == -1);
        assert_true(fabs(p->median_ns - library.ns[engine]) < 1);
    }
    assert_int_equal(row_of(&r, "my/ours")->plan_count, 0);
    assert_true(library.choices == 1 && cudnn_conv_same(&library.choice.conv, &convolution));
    assert_true(library.choice.facts.engine == 2 && library.choice.among == 3);
    done(&r);
}

/* One that fails when it runs is none of those that were tried, but of those that were offered; where every one fails there is no row. */
static void what_cannot_run_is_passed_over(void **state)
{
    begin_library();
    offer('A', 1, 300000), offer('A', 2, 100000), offer('F', 3, 200000);
    library.fails_from[2] = 1;
    struct result r = timed("[my/cudnn_lib, my/ours]", "{rounds: [12, 12]}");
    const struct row *row = library_row(&r);
    assert_string_equal(row->engine, "engine 3, mode F rank 0, best of 3, strict f32 (cuDNN's default is tf32)");
    assert_true(row->plan_count == 2 && row->plans[0].engine == 1 && row->plans[1].engine == 3);
    assert_true(fabs(median_of(&r, "my/cudnn_lib") - 200000) < 1);
    done(&r);
    begin_library();
    offer('A', 1, 300000), offer('A', 2, 100000);
    library.fails_from[1] = library.fails_from[2] = 1;
    timing.may_fail = true;
    r = timed("[my/ours, my/cudnn_lib]", "{rounds: [12, 12]}");
    assert_false(r.ok);
    assert_true(r.blamed >= 0 && !strcmp(r.names[r.blamed], "my/cudnn_lib"));
    assert_non_null(strstr(r.err.text, "none of cuDNN's 2 plans runs"));
    let_go(&r); /* a worker that fails ends, with all that it has */
}

/* The fastest writes nothing: it is wrong, and none of the others stands in for it. Who comes behind it is right as before. */
static void a_wrong_plan_is_a_wrong_row(void **state)
{
    for (int late = 0; late < 2; late++) {
        begin_library();
        offer('A', 1, 300000), offer('A', 2, 100000);
        library.wrong_from[2] = late ? 60 : 1;
        struct result r = timed("[my/cudnn_lib, my/ours]", "{rounds: [40, 40]}");
        const struct row *row = library_row(&r);
        assert_int_equal(row->status, ROW_WRONG);
        assert_true((strstr(row->reason, "(in the measuring process, before timing)") != NULL) == !late);
        assert_true((strstr(row->reason, "was right") != NULL) == late);
        assert_true(row_of(&r, "my/ours")->status == ROW_OK && row_of(&r, "my/ours")->time_count == 1);
        done(&r);
    }
}

/* Two rows of the same convolution: the second takes the first one's choice, and its other plans do not run again. A choice of an earlier
 * run is reported with its date. */
static void what_is_known_is_not_raced_again(void **state)
{
    begin_library();
    offer('A', 1, 300000), offer('A', 2, 100000);
    struct result r = timed("[my/cudnn_lib, my/cudnn_too]", "{rounds: [12, 12]}");
    assert_string_equal(row_of(&r, "my/cudnn_too")->engine, "engine 2, mode A rank 1, best of 2, strict f32 (cuDNN's default is tf32)");
    assert_true(row_of(&r, "my/cudnn_too")->plan_count == 0 && library_row(&r)->plan_count == 2 && library.choices == 1);
    assert_true(library.runs[1] == 1 + 2);         /* as far as it was raced at all */
    assert_int_equal(world.asked[HEURISTIC_A], 1); /* and the plan is made once */
    assert_true(fabs(median_of(&r, "my/cudnn_too") - 100000) < 1 && row_of(&r, "my/cudnn_too")->workspace_bytes == 200);
    done(&r);
    begin_library();
    offer('A', 1, 300000), offer('A', 2, 100000);
    const struct cudnn_choice known = {.facts = {.text = "engine 1", .mode = 'A'}, .among = 7, .raced = "2026-01-02"};
    library.known = &known;
    r = timed("[my/cudnn_lib, my/ours]", "{rounds: [12, 12]}");
    assert_string_equal(library_row(&r)->engine,
                        "engine 1, mode A rank 0, best of 7, plan remembered from 2026-01-02, strict f32 (cuDNN's default "
                        "is tf32)");
    assert_true(fabs(median_of(&r, "my/cudnn_lib") - 300000) < 1 && library.runs[2] == 0);
    done(&r);
    begin_library(); /* which is not offered any more */
    offer('A', 3, 200000), offer('A', 2, 100000);
    library.known = &known;
    r = timed("[my/cudnn_lib, my/ours]", "{rounds: [12, 12]}");
    assert_string_equal(library_row(&r)->engine, "engine 2, mode A rank 1, best of 2, strict f32 (cuDNN's default is tf32)");
    assert_true(library.choices == 1 && library.choice.facts.engine == 2 && !library.choice.raced[0]);
    done(&r);
}

/* What was made ahead is what is raced: nobody is asked twice. A graph holds one plan, and another is another graph. */
static void plans_made_ahead_are_raced(void **state)
{
    for (int graph = 0; graph < 2; graph++) {
        begin_library();
        offer('A', 1, 300000), offer('A', 2, 100000);
        library.ahead = true;
        library.is_graph = graph;
        struct result r = timed("[my/cudnn_lib, my/ours]", "{rounds: [12, 12]}");
        assert_int_equal(library.asked_ahead, 1);
        assert_int_equal(world.asked[HEURISTIC_A], graph ? 2 : 1); /* the rig took what was ready */
        assert_true(fabs(median_of(&r, "my/cudnn_lib") - 100000) < 1 && library_row(&r)->plan_count == 2);
        done(&r);
    }
}

/* What is checked is the first plan; what is timed is the fastest. */
static void the_first_plan_is_verified(void **state)
{
    begin_library();
    offer('A', 1, 300000), offer('A', 2, 100000);
    library.is_verified = true;
    struct result r = timed("[my/cudnn_lib]", "{rounds: [12, 12]}");
    assert_true(library_row(&r)->engine_number == 2 && fabs(median_of(&r, "my/cudnn_lib") - 100000) < 1);
    const struct row_metric *same = row_metric(library_row(&r), -1, "verify.same_bits"); /* as it left when it was verified */
    assert_true(same && same->value == 1);
    done(&r);
}

static void a_slice_is_another_convolution(void **state)
{
    begin_library();
    offer('A', 1, 300000), offer('A', 2, 100000);
    library.is_sliced = true;
    struct result r = timed("[my/cudnn_lib]", "{rounds: [12, 12]}");
    assert_int_equal(library_row(&r)->status, ROW_OK);
    done(&r);
}

/* On f32 data the mode is told, as it decides more than the engine; what is fused is asked for. */
static void modes_and_epilogues_are_asked_for(void **state)
{
    static const struct {
        const char *layer, *said;
        enum dtype dtype;
        enum math math;
        bool bias, residual;
        int activation;
        double alpha;
    } kinds[] = {
        {", math: tf32", ", tf32 (cuDNN's default)", DTYPE_F32, MATH_TF32, false, false, 0, 0},
        {", epilogue: [bias, relu]", ", strict f32 (cuDNN's default is tf32)", DTYPE_F32, MATH_F32, true, false, 1, 0},
        {", epilogue: [residual]", ", strict f32 (cuDNN's default is tf32)", DTYPE_F32, MATH_F32, false, true, 0, 0},
        {", epilogue: [bias, leaky_relu: 0.25]", ", strict f32 (cuDNN's default is tf32)", DTYPE_F32, MATH_F32, true, false, 2, 0.25},
        {"16", "", DTYPE_F16, MATH_F16_ACC32, true, false, 0, 0}};
    for (int i = 0; i < 5; i++) {
        begin_library();
        offer('A', 1, 100000), offer('B', 2, 200000);
        timing.layer = i == 4 ? ", epilogue: [bias]" : kinds[i].layer;
        timing.dtype = i == 4 ? "f16" : NULL;
        convolution.dtype = kinds[i].dtype, convolution.math = kinds[i].math, convolution.bias = kinds[i].bias;
        convolution.residual = kinds[i].residual, convolution.activation = kinds[i].activation, convolution.alpha = kinds[i].alpha;
        struct result r = timed("[my/cudnn_lib]", "{rounds: [12, 12]}");
        char *said = text_format("engine 1, mode A rank 0, best of 2%s", kinds[i].said);
        if (library_row(&r)->status != ROW_OK)
            fail_msg("%d: %s", i, library_row(&r)->reason);
        assert_string_equal(library_row(&r)->engine, said);
        assert_true(library.choices == 1 && cudnn_conv_same(&library.choice.conv, &convolution));
        free(said);
        done(&r);
    }
}

/* A network of two equal layers: the second takes the first one's plan without a race. The network's rows are compared with the library's.
 */
static void a_network_takes_a_plan_a_layer(void **state)
{
    begin_library();
    offer('A', 1, 300000), offer('A', 2, 100000);
    timing.whole = "my/cudnn_lib";
    timing.whole_best = "my/ours";
    struct result r = timed("[my/cudnn_lib, my/ours]", "{rounds: [12, 12]}\nnetworks: {net: {order: [{repeat: 2, of: [a]}]}}");
    const struct row *all = row_of(&r, "chain/library"), *best = row_of(&r, "chain/best");
    assert_true(fabs(median_of(&r, "chain/library") - 200000) < 1 && fabs(median_of(&r, "chain/best") - 160000) < 1);
    assert_true(fabs(time_of(&r, "chain/best", "cold", "isolated")->ratio - 1.25) < 1e-9);
    assert_string_equal(all->engine, "a: engine 2, mode A rank 1, best of 2, strict f32 (cuDNN's default is tf32)");
    assert_true(all->plan_count == 2 && best->plan_count == 0 && !best->engine &&
                all->engine_number != 2); /* no layer's engine is the row's */
    for (int i = 0; i < 2; i++)
        assert_true(all->plans[i].step == 0 && all->plans[i].engine == i + 1 && fabs(all->plans[i].median_ns - library.ns[i + 1]) < 1);
    assert_int_equal(library.runs[1], 1 + 2);
    done(&r);
}

/* Layers a, b, b: b is another convolution, its second one the same again; their plans are told by layer. */
static void equal_layers_behind_another(void **state)
{
    begin_library();
    offer('A', 1, 300000), offer('A', 2, 100000);
    timing.more_layers = ", b: {op: conv2d, n: 1, c: 2, h: 6, w: 8, k: 2, kernel: 1, pad: 0, dtype: f32, layout: NCHW}";
    timing.whole = "my/cudnn_lib";
    struct result r = timed("[my/cudnn_lib]", "{rounds: [12, 12]}\nnetworks: {net: {order: [a, {repeat: 2, of: [b]}]}}");
    const struct row *all = row_of(&r, "chain/library");
    assert_string_equal(all->engine, "a: engine 2, mode A rank 1, best of 2, strict f32 (cuDNN's default is tf32); "
                                     "b: engine 2, mode A rank 1, best of 2, strict f32 (cuDNN's default is tf32)");
    assert_true(all->plan_count == 4 && all->plans[1].step == 0 && all->plans[2].step == 1 && all->plans[3].step == 1);
    assert_true(fabs(median_of(&r, "chain/library") - 300000) < 1 && library.choices == 2);
    done(&r);
    begin_library(); /* a bias that is not ready is no settled plan */
    offer('A', 1, 100000);
    timing.dtype = "f16";
    timing.layer = ", epilogue: [bias]";
    timing.whole = "my/cudnn_lib";
    library.unsettled = true;
    r = timed("[my/cudnn_lib]", "{rounds: [12, 12]}\nnetworks: {net: {order: [{repeat: 2, of: [a]}]}}");
    done(&r);
}

/* A row whose head fuses nothing asks the library for the bare convolution and runs the rest in steps of its own. */
static void what_is_not_fused_is_not_asked_for(void **state)
{
    begin_library();
    offer('A', 1, 100000);
    timing.layer = ", epilogue: [bias, relu]";
    struct result r = timed("[my/cudnn_bare]", "{rounds: [12, 12]}");
    const struct row *row = row_of(&r, "my/cudnn_bare");
    if (row->status != ROW_OK)
        fail_msg("%s", row->reason);
    assert_true(library.choices == 1 && cudnn_conv_same(&library.choice.conv, &convolution)); /* as a layer without an epilogue */
    done(&r);
}

static int set_up_library(void **state)
{
    static const char head[] =
        "/* bench 1\nop: conv2d\nwhat: the library\ndtype: {input: [f32, f16, bf16], output: same, bias: f32, accumulate: f32}\n"
        "math: [f32, tf32, f16_acc32, bf16_acc32]\nalgorithm: library\nepilogue: [bias, relu, leaky_relu, residual]\n"
        "steps:\n  - cudnn: conv2d\n*/\n";
    struct text one = {0}, other = {0}, bare = {0};
    const char *fuses = strstr(head, "epilogue:"), *behind = strstr(head, "steps:");
    text_add(&one, head);
    text_add(&other, head);
    text_addf(&bare, "%.*s%s", (int)(fuses - head), head, behind);
    setenv("BENCH_THREADS", "1", 1); /* further handles are a GPU's */
    return set_up(state) || !variant_put("cudnn_lib", &one) || !variant_put("cudnn_too", &other) || !variant_put("cudnn_bare", &bare);
}

/* The baseline of the ratios fails after the timed loop: it has no time, and nobody a ratio to it. */
static void a_failed_baseline_leaves_no_ratio(void **state)
{
    for (int i = 0, last = INT_MAX; i < 2; i++) {
        begin();
        timing.idle = "conv_fast";
        timing.idle_from = last;
        struct result r = timed("[my/ours, my/cudnn_fast]", "{rounds: [12, 12], load: [sustained]}");
        last = timing.launches;
        assert_int_equal(row_of(&r, "my/cudnn_fast")->status, i ? ROW_WRONG : ROW_OK);
        assert_int_equal(row_of(&r, "my/cudnn_fast")->time_count, !i);
        assert_int_equal(row_of(&r, "my/ours")->time_count, 1);
        assert_int_equal(isnan(row_of(&r, "my/ours")->times[0].ratio) != 0, i);
        let_go(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failed_baseline_leaves_no_ratio), cmocka_unit_test(the_fastest_plan_is_the_row),
        cmocka_unit_test(what_cannot_run_is_passed_over),    cmocka_unit_test(a_wrong_plan_is_a_wrong_row),
        cmocka_unit_test(what_is_known_is_not_raced_again),  cmocka_unit_test(plans_made_ahead_are_raced),
        cmocka_unit_test(the_first_plan_is_verified),        cmocka_unit_test(a_slice_is_another_convolution),
        cmocka_unit_test(modes_and_epilogues_are_asked_for), cmocka_unit_test(a_network_takes_a_plan_a_layer),
        cmocka_unit_test(equal_layers_behind_another),       cmocka_unit_test(what_is_not_fused_is_not_asked_for)};
    return cmocka_run_group_tests(tests, set_up_library, tear_down);
}
