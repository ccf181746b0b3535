/* measure/count/count with a stand-in for CUPTI that numbers the launches of a pass: what is counted, of whom, and who goes without. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/text.h"
#include "counter/combine.h"
#include "device/cuda/cuda.h"
#include "measure/count/count.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 3
struct rig {
    struct program program;
    struct step steps[4];
    int launches[4]; /* of each step */
    bool refused;    /* CUPTI counts nothing with it in the pass */
};
static struct rig rigs[ROWS];
static struct world {
    char said[512]; /* "w" wipe, "p" prepare, "F" flush, "a", "b", "c" a launch of a rig, "[" a count, "|" a pass, "!" an announcement */
    int launches;   /* of the pass */
    bool refuse;    /* somebody refused was in it */
    int dropped;    /* ranges less than were launched */
} world;

static void say(const char *what)
{
    if (strlen(world.said) + 2 < sizeof world.said)
        strcat(world.said, what);
}

/* ---- in place of measure/rig, the device and CUPTI ---- */
const struct program *rig_program(const struct rig *rig)
{
    return &rig->program;
}
bool rig_poison_all(struct rig *rig, struct error *err)
{
    say("w");
    return true;
}
bool rig_prepare(struct rig *rig, double *ns, struct error *err)
{
    assert_null(ns);
    say("p");
    return true;
}
/* As one graph, if the program says so: what CUPTI cannot count. */
bool rig_run(struct rig *rig, struct error *err)
{
    fail_msg("a graph was launched while it was counted");
    return false;
}
bool rig_run_stepwise(struct rig *rig, bool (*between)(void *context, int step, struct error *err), void *context, struct error *err)
{
    for (int i = 0; i < rig->program.step_count; i++)
        for (int k = 0; k < rig->launches[i]; k++, world.launches++)
            say((char[]){'a' + (char)(rig - rigs), 0});
    world.refuse |= rig->refused;
    return true;
}
bool cuda_flush_uncounted(struct device *dev, struct error *err)
{
    say("F");
    return true;
}
bool cupti_trace_run(bool (*run)(void *context, struct error *err), void *context, struct cupti_trace *trace, struct error *err)
{
    world.launches = 0;
    bool ok = run(context, err);
    *trace = (struct cupti_trace){.kernels = calloc(16, sizeof *trace->kernels), .kernel_count = world.launches};
    return ok;
}
void cupti_trace_free(struct cupti_trace *trace)
{
    free(trace->kernels);
}
/* Of the launch r. */
static double value_of(const char *metric, int r)
{
    return !strcmp(metric, counter_weight_time)     ? r + 1
           : !strcmp(metric, counter_weight_active) ? 2 * r + 1
           : text_ends(metric, "_elapsed")          ? 100 * r
           : text_ends(metric, "_active")           ? 1000 * r
                                                    : pow(10, r);
}
bool cupti_count(struct cupti_session *session, const struct cupti_job *job, struct cupti_counts *counts, struct error *err)
{
    say("[");
    *counts = (struct cupti_counts){.passes = 2, .metric_count = job->metric_count};
    for (int pass = 0; pass < 2; pass++) {
        world.launches = 0;
        world.refuse = false;
        say("|");
        if (!job->before(job->context, pass, err) || !job->pass(job->context, pass, err))
            return false;
        assert_int_equal(world.launches, job->range_max);
        if (world.refuse)
            return error_set(err, ERROR_ENVIRONMENT, "error 999");
    }
    counts->range_count = world.launches - world.dropped;
    counts->values = calloc((size_t)world.launches * job->metric_count, sizeof *counts->values);
    for (int r = 0; r < world.launches; r++)
        for (size_t m = 0; m < job->metric_count; m++)
            counts->values[(size_t)r * job->metric_count + m] = value_of(job->metrics[m], r);
    return true;
}
void cupti_counts_free(struct cupti_counts *counts)
{
    free(counts->values);
}

static bool sync(struct device *dev, struct error *err)
{
    return true;
}
static const struct device_ops ops = {.name = "fake", .sync = sync};
static struct device device = {.ops = &ops, .spec = "fake"};

/* ---- */
static int announced[8], announced_count;
static void announce(void *context, int item)
{
    say("!");
    announced[announced_count++ % 8] = item;
}

/* One kernel; two kernels, a fill and a prepared buffer, which is not launched here; a library step of two kernels. The second is timed as
 * a graph. */
static struct counted items[ROWS];
static void set_up(bool warm)
{
    struct error err = {0};
    static const enum step_kind kinds[ROWS][4] = {{STEP_KERNEL}, {STEP_KERNEL, STEP_KERNEL, STEP_FILL, STEP_KERNEL}, {STEP_CUDNN}};
    static const int steps[ROWS] = {1, 4, 1}, launches[ROWS][4] = {{1}, {0, 1, 0, 1}, {2}};
    world = (struct world){.dropped = 0};
    announced_count = 0;
    for (int i = 0; i < ROWS; i++) {
        rigs[i] = (struct rig){.program = {.step_count = steps[i], .steps = rigs[i].steps, .graph = i == 1}};
        for (int k = 0; k < steps[i]; k++) {
            rigs[i].steps[k].kind = kinds[i][k];
            rigs[i].steps[k].prepare = i == 1 && !k;
            rigs[i].launches[k] = launches[i][k];
        }
        items[i] = (struct counted){.rig = &rigs[i], .name = "row"};
        assert_true(count_trace(&device, &items[i], warm, &err));
        assert_int_equal(items[i].trace.kernel_count, i ? 2 : 1);
        assert_memory_equal(world.said, "wp", 2);
        world.said[0] = 0;
    }
    world.said[0] = 0;
}
static void tear_down(void)
{
    for (int i = 0; i < ROWS; i++)
        cupti_trace_free(&items[i].trace);
}

static const char *const metrics[] = {"x__y.sum", counter_weight_time, counter_weight_active};
static struct count_job job_of(bool warm)
{
    return (struct count_job){
        .dev = &device, .items = items, .count = ROWS, .warm = warm, .metrics = metrics, .metric_count = 3, .announce = announce};
}

/* In every pass all rows are cleared and prepared. Then each is announced and runs once: cold after a flush, or warm after a launch that is
 * not counted. */
static void all_at_once(void **state)
{
    for (int warm = 0; warm < 2; warm++) {
        struct count_result r;
        struct error err = {0};
        set_up(warm);
        struct count_job job = job_of(warm);
        assert_true(count_run(&job, &r, &err));
        assert_string_equal(world.said, warm ? "[|wpwpwp!aa!bbbb!cccc|wpwpwp!aa!bbbb!cccc" : "[|wpwpwp!Fa!Fbb!Fcc|wpwpwp!Fa!Fbb!Fcc");
        for (int i = 0; i < 6; i++)
            assert_int_equal(announced[i], i % 3);
        assert_true(r.passes == 2 && r.count == ROWS && r.metric_count == 3);
        /* launches are numbered through the pass: 0 | 1 2 | 3 4, warm 0 1 | 2 3 4 5 | 6 7 8 9, of which the second halves count */
        assert_true(r.rows[0][0] == (warm ? 1e1 : 1) && r.rows[1][0] == (warm ? 1.1e5 : 110) && r.rows[2][0] == (warm ? 1.1e9 : 11000));
        assert_true(!r.steps[0] && !r.steps[2]); /* of one step */
        assert_true(!r.steps[1][0] && r.steps[1][1][0] == (warm ? 1e4 : 10) && !r.steps[1][2] && r.steps[1][3][0] == (warm ? 1e5 : 100));
        assert_true(!r.why[0] && !r.why[1] && !r.why[2]);
        count_free(&r, items);
        tear_down();
    }
}

/* Whom CUPTI refuses takes nothing from the others, and says why. */
static void one_that_is_refused(void **state)
{
    struct count_result r;
    struct error err = {0};
    set_up(false);
    rigs[1].refused = true;
    struct count_job job = job_of(false);
    assert_true(count_run(&job, &r, &err));
    assert_true(!r.rows[1] && !r.steps[1] && !strcmp(r.why[1], "error 999"));
    assert_true(!r.why[0] && !r.why[2] && r.rows[0][0] == 1 && r.rows[2][0] == 11);
    assert_int_equal(announced[announced_count - 1], 2); /* by its place in the job, also alone */
    count_free(&r, items);
    for (int i = 0; i < ROWS; i++)
        rigs[i].refused = true;
    assert_false(count_run(&job, &r, &err)); /* nobody can be counted: that is CUPTI's */
    assert_string_equal(err.text, "error 999");
    assert_int_equal(r.count, 0);
    tear_down();
}

/* Kernels that belong to no step are the library's. A value per time or per active cycle is weighted by the kernels' times and cycles (here
 * 1 to 4, and 1, 3, 5, 7), and is absent if these were not counted. */
static void library_and_own_kernels(void **state)
{
    static const char *const weighted[] = {"x__y.sum", "x__y_elapsed", "x__y_active", counter_weight_time, counter_weight_active};
    struct rig rig = {.program = {.step_count = 4}, .launches = {3, 1}};
    struct counted item = {.rig = &rig, .name = "row"};
    struct count_result r;
    struct error err = {0};
    int first;
    rig.steps[0].kind = STEP_CUDNN, rig.steps[1].kind = STEP_KERNEL, rig.steps[2].kind = STEP_FILL, rig.steps[3].kind = STEP_KERNEL;
    rig.steps[3].prepare = true;
    rig.program.steps = rig.steps;
    assert_true(count_trace(&device, &item, false, &err));
    assert_true(count_launches(&item, 0, &first) == 3 && first == 0);
    assert_true(count_launches(&item, 1, &first) == 1 && first == 3 && count_launches(&item, 2, NULL) == 0);
    struct count_job job = {.dev = &device, .items = &item, .count = 1, .metrics = weighted, .metric_count = 5};
    assert_true(count_run(&job, &r, &err));
    assert_true(r.rows[0][0] == 1111 && r.rows[0][1] == 2000 / 10.0 && r.rows[0][2] == 34000 / 16.0);
    assert_true(r.steps[0][0][0] == 111 && r.steps[0][0][1] == 800 / 6.0 && r.steps[0][0][2] == 13000 / 9.0);
    assert_true(r.steps[0][1][0] == 1000 && r.steps[0][1][1] == 300 && !r.steps[0][2] && !r.steps[0][3]);
    count_free(&r, &item);
    job.metric_count = 3;
    assert_true(count_run(&job, &r, &err));
    assert_true(r.rows[0][0] == 1111 && isnan(r.rows[0][1]) && isnan(r.rows[0][2]) && r.steps[0][1][1] == 300);
    count_free(&r, &item);
    cupti_trace_free(&item.trace);
}

/* Another number of kernels than were traced: nobody knows whose values are whose. */
static void another_number_of_kernels(void **state)
{
    struct count_result r;
    struct error err = {0};
    set_up(false);
    world.dropped = 1;
    struct count_job job = job_of(false);
    assert_false(count_run(&job, &r, &err));
    assert_non_null(strstr(err.text, "CUPTI counted 4 kernels but traced 5"));
    job.count = 1;
    world.said[0] = 0;
    assert_false(count_run(&job, &r, &err));
    assert_string_equal(world.said, "[|wp!Fa|wp!Fa"); /* alone it is not tried again */
    tear_down();
}

/* A row that only copies does not run and does not divide the others: each further count costs CUPTI some 0.1 s. */
static void copies_alone(void **state)
{
    struct count_result r;
    struct error err = {0};
    set_up(false);
    rigs[1].launches[1] = rigs[1].launches[3] = items[1].trace.kernel_count = 0;
    struct count_job job = job_of(false);
    assert_true(count_run(&job, &r, &err));
    assert_string_equal(world.said, "[|wpwp!Fa!Fcc|wpwp!Fa!Fcc");
    assert_true(!r.rows[1] && !r.steps[1] && !r.why[1] && r.rows[0][0] == 1 && r.rows[2][0] == 110);
    count_free(&r, items);
    rigs[2].refused = true;
    world.said[0] = 0;
    assert_true(count_run(&job, &r, &err));
    assert_string_equal(world.said, "[|wpwp!Fa!Fcc[|wp!Fa|wp!Fa[|wp!Fcc");
    assert_true(!r.why[1] && !strcmp(r.why[2], "error 999"));
    count_free(&r, items);
    tear_down();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_at_once), cmocka_unit_test(one_that_is_refused),
                                       cmocka_unit_test(library_and_own_kernels), cmocka_unit_test(another_number_of_kernels),
                                       cmocka_unit_test(copies_alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
