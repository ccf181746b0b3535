/* session: a run that continues another of the same command, as for each density that bisection adds. It takes over the worker and the
 * rows. Workers are this program, started as bench starts itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "base/file.h"
#include "own_folder.h"
#include "run/parent/parent.h"
#include "run/child/worker.h"
#include <math.h>
#include <string.h>

static char *scenario;
static const char text[] = "scenario: t\n"
                           "layers: {a: {op: conv2d, n: 1, c: 4, h: 12, w: 16, k: 4, kernel: 3, pad: 1, dtype: f32, layout: NCHW}}\n"
                           "axes: {mask: {layers: [a], values: [{pattern: blobs, radius: 4, density: [0.25]}]}}\n"
                           "variants: [conv2d/naive]\ntime: {rounds: [6, 6]}\n";

struct kind {
    bool kept;    /* worker and rows are handed over */
    bool touched; /* a file is another in between */
    const char *gpus;
};

/* Two runs and what is stored of them: rows, ids in their order. False: the second failed, as *err says. */
static bool both(const struct kind *kind, const char *name, struct text *ids, int *taken, struct error *err)
{
    char *database = text_format("%s/%s.db", dir, name);
    struct session_kept *kept = NULL;
    struct scenario_wish more[] = {{"t/a[mask=blobs4:0.25]", 0.5, NULL, NULL}, {0}};
    struct session_options o = {.plan = {.scenario_path = scenario, .device = "emu:GH100,no-check"},
                                .database = database,
                                .argv = "bench run",
                                .verb = "run",
                                .gpus = kind->gpus,
                                .kept = kind->kept ? &kept : NULL};
    struct session_result result;
    const struct session_sink sink = {0};
    struct row **rows = NULL;
    struct store *store = NULL;
    struct run run = {0};
    assert_true(file_write(scenario, text, strlen(text), err));
    if (!session_run(&o, &sink, &result, err))
        fail_msg("%s", err->text);
    assert_true(result.rows > 0 && result.kept == 0 && (kept != NULL) == kind->kept);
    if (kind->touched)
        assert_true(file_write(scenario, text, strlen(text) - 1, err)); /* its last line ends without a newline now */
    int before = result.rows;
    struct session_result first = result;
    first.first_round_s = 0.25; /* emu times nothing */
    o.before = &first;
    o.resume = true;
    o.plan.filter.extra = more;
    bool ok = session_run(&o, &sink, &result, err);
    *taken = result.kept;
    assert_true(!ok || (result.rows == 2 * before && result.kept == before && (kept != NULL) == kind->kept));
    session_kept_free(kept);
    assert_true(store_open(database, true, &store, &(struct error){0}) && store_run(store, first.run_id, &run, &(struct error){0}));
    if (ok) { /* what is told of the command is all of it, as long as a stopwatch would say, and the first round is that of the first run */
        double sum = 0;
        for (int i = 0; i < PHASE_COUNT; i++) {
            assert_true(result.spent_s[i] >= first.spent_s[i]);
            assert_true(run.spent_s[i] <= result.spent_s[i] + 1e-6); /* what ends a run is told and not stored */
            sum += result.spent_s[i];
        }
        assert_true(first.seconds > 0 && result.seconds > first.seconds && fabs(sum - result.seconds) <= 1e-6);
        assert_true(result.started_s == first.started_s && fabs(result.ended_s - result.started_s - result.seconds) < 0.02);
        assert_true(run.first_round_s == 0.25);
    }
    int count = store_rows(store, first.run_id, &rows, &(struct error){0});
    for (int i = 0; i < count; i++)
        text_addf(ids, "%s %s %d %d %d %s: %g of %g in, %lld of %lld tiles, %g FLOP\n", rows[i]->id, rows[i]->key, (int)rows[i]->status,
                  rows[i]->case_index, rows[i]->row_index, rows[i]->check ? rows[i]->check : "", rows[i]->density_in, rows[i]->mask_density,
                  (long long)rows[i]->tiles_active, (long long)rows[i]->tiles, rows[i]->flop_scheduled);
    rows_free(rows, count);
    run_clear(&run);
    store_close(store);
    free(database);
    return ok;
}

/* Whether they are handed over or read again and made anew: the same rows are stored. */
static void what_is_handed_over_is_what_is_stored(void **state)
{
    SCOPED_TEXT handed = {0};
    SCOPED_TEXT read = {0};
    struct error err = {0};
    int taken;
    if (!both(&(struct kind){.kept = true}, "handed", &handed, &taken, &err) || !both(&(struct kind){0}, "read", &read, &taken, &err))
        fail_msg("%s", err.text);
    assert_string_equal(text_get(&handed), text_get(&read));
    assert_non_null(strstr(text_get(&handed), "0.50]"));
    text_free(&read);
    if (!both(&(struct kind){.kept = true, .gpus = "0-1"}, "gpus", &read, &taken, &err))
        fail_msg("%s", err.text);
    assert_string_equal(text_get(&handed), text_get(&read));
}

/* The worker has its plan from the files of the run before. */
static void a_file_that_changed_is_told(void **state)
{
    SCOPED_TEXT ids = {0};
    struct error err = {0};
    int taken;
    assert_false(both(&(struct kind){.kept = true, .touched = true}, "touched", &ids, &taken, &err));
    assert_non_null(strstr(err.text, "changed during the run"));
    error_clear(&err);
    assert_false(both(&(struct kind){.kept = true, .touched = true, .gpus = "0"}, "touched2", &ids, &taken, &err));
    assert_non_null(strstr(err.text, "changed during the run"));
}

static int asked;

/* A prediction that leaves a rule without a choice. */
static void predict_nothing(const struct run *run, struct row *const *rows, int count, double *ns)
{
    asked++;
    for (int i = 0; i < count; i++)
        ns[i] = NAN;
}

/* What the first run raced in vain is not raced again by those that follow. */
static void rules_are_raced_once(void **state)
{
    static const char ruled[] =
        "scenario: t\nlayers: {a: {op: conv2d, n: 1, c: 32, h: 12, w: 16, k: 8, kernel: 3, pad: 1, dtype: f16, layout: NHWC}}\n"
        "axes: {mask: {layers: [a], values: [{pattern: blobs, radius: 4, density: [0.25]}]}}\nvariants: [conv2d/sparse_auto]\n";
    SCOPED char *database = text_format("%s/raced.db", dir);
    struct session_kept *kept = NULL;
    const struct scenario_wish more[] = {{"t/a[mask=blobs4:0.25]", 0.5, NULL, NULL}, {0}};
    struct session_options o = {.plan = {.scenario_path = scenario, .device = "emu:GH100,no-check"},
                                .database = database,
                                .argv = "bench run",
                                .verb = "run",
                                .decides = true,
                                .predict = predict_nothing,
                                .kept = &kept};
    struct session_result first, second;
    const struct session_sink sink = {0};
    struct error err = {0};
    assert_true(file_write(scenario, ruled, strlen(ruled), &err));
    if (!session_run(&o, &sink, &first, &err))
        fail_msg("%s", err.text);
    assert_true(asked == 1 && kept);
    o.before = &first;
    o.resume = true;
    o.plan.filter.extra = more;
    if (!session_run(&o, &sink, &second, &err))
        fail_msg("%s", err.text);
    session_kept_free(kept);
    assert_int_equal(asked, 1);
    assert_int_equal(second.rows, 2 * first.rows);
}

static struct tuned_config stored(const char *signature)
{
    return (struct tuned_config){.signature = xstrdup(signature), .variant = xstrdup("conv2d/naive")};
}

/* Workers are sent what is stored of the plan's own layers, in its order. */
static void other_layers_are_forgotten(void **state)
{
    struct plan plan;
    struct error err = {0};
    struct plan_options options = {.scenario_path = scenario};
    char own[HASH_TEXT];
    assert_true(file_write(scenario, text, strlen(text), &err));
    if (!plan_make(&options, "emu", chip_find("GH100"), &plan, &err))
        fail_msg("%s", err.text);
    work_signature(&plan.cases[0].work, own);
    for (int mine = 0; mine <= 3; mine++) { /* at the bit's place */
        struct tuned_config *list = xcalloc(4, sizeof *list), *t = list;
        for (int i = 0; i < 3; i++)
            list[i] = stored(i == 1 || (mine >> (i / 2) & 1) == 0 ? "another" : own);
        session_forget_others(list, &plan);
        for (int i = 0; i < 2; i++)
            if (mine >> i & 1)
                assert_string_equal((t++)->signature, own);
        assert_null(t->signature);
        session_remembered_free(list);
    }
    session_forget_others(NULL, &plan);
    plan_free(&plan);
}

static int open_world(void **state)
{
    if (!getenv("BENCH_HOME"))
        setenv("BENCH_HOME", ".", 1);
    if (set_up(state))
        return -1;
    scenario = text_format("%s/s.yaml", dir);
    return 0;
}

static int close_world(void **state)
{
    free(scenario);
    return tear_down(state);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "worker"))
        return worker_main();
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_handed_over_is_what_is_stored),
                                       cmocka_unit_test(a_file_that_changed_is_told), cmocka_unit_test(rules_are_raced_once),
                                       cmocka_unit_test(other_layers_are_forgotten)};
    return cmocka_run_group_tests(tests, open_world, close_world);
}
