/* device/cupti and the shipped counter groups: plans for the chips that users own, without a GPU or a driver. A probe of CUPTI 13.0, not
 * this code, gave the pass counts of single metrics. Skips where libcupti is not installed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "counter/set.h"
#include "device/cupti/cupti.h"
#include "device/cupti/error.h"
#include <cupti_result.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const chips[] = {"TU102", "GA100", "GA102", "AD102", "GH100", "GB100", "GB202"};
enum { CHIPS = sizeof chips / sizeof *chips };

static void need_cupti(void)
{
#ifdef __SANITIZE_ADDRESS__
    fprintf(stderr, "skipped: libcupti loads libnvperf_host with RTLD_DEEPBIND, which AddressSanitizer does not allow\n");
    skip();
#endif
    struct error err = {0};
    const char *const *names;
    size_t count;
    if (!cupti_chips(&names, &count, &err)) {
        if (err.kind != ERROR_ENVIRONMENT)
            fail_msg("%s", err.text);
        fprintf(stderr, "skipped: %.160s\n", err.text);
        skip();
    }
}

static struct cupti_chip *chip_of(const char *name)
{
    struct cupti_chip *chip;
    struct error err = {0};
    if (!cupti_open(name, NULL, &chip, &err))
        fail_msg("%s: %s", name, err.text);
    return chip;
}

static size_t passes(const char *name, const char *const *metrics, size_t count)
{
    struct cupti_chip *chip = chip_of(name);
    struct cupti_plan plan;
    struct error err = {0};
    if (!cupti_plan(chip, metrics, count, &plan, &err))
        fail_msg("%s: %s", name, err.text);
    size_t n = plan.passes;
    assert_true(plan.config_bytes > 0);
    cupti_plan_free(&plan);
    cupti_close(chip);
    return n;
}

static bool has(void *context, const char *metric)
{
    return cupti_has(context, metric);
}

/* How often all kernels run for these metrics. */
static size_t passes_of(const struct counter_chip *asked, const char *const *metrics, int count, const char *what)
{
    struct cupti_plan plan;
    struct error err = {0};
    if (!cupti_plan(asked->context, metrics, (size_t)count, &plan, &err))
        fail_msg("%s on %s: %s", what, asked->name, err.text);
    size_t passes = plan.passes;
    cupti_plan_free(&plan);
    return passes;
}

/* The same for groups, whose metrics are `set` then. */
static size_t passes_of_groups(const struct counter_chip *asked, const struct counter_group *const *groups, int count, const char *what,
                               struct counter_set *set)
{
    struct error err = {0};
    if (!counter_set_make(groups, count, NULL, 0, asked, set, &err))
        fail_msg("%s on %s: %s", what, asked->name, err.text);
    return passes_of(asked, set->metrics, set->count, what);
}

/* What each row of a run costs, and a slow one. */
static void basic_groups_cost_little(const struct counter_groups *groups, const struct counter_chip *asked)
{
    const struct counter_group *basic[32];
    struct counter_set set;
    int count = 0;
    for (int i = 0; i < groups->count; i++)
        if (groups->items[i]->basic)
            basic[count++] = groups->items[i];
    assert_true(passes_of_groups(asked, basic, count, "the basic groups", &set) <= 10);
    int *which = xcalloc((size_t)set.count, sizeof *which), slow = counter_set_slow(&set, which);
    const char **metrics = xcalloc((size_t)slow + 1, sizeof *metrics);
    for (int i = 0; i < slow; i++)
        metrics[i] = set.metrics[which[i]];
    assert_true(passes_of(asked, metrics, slow, "slow rows") <= 3);
    free(metrics);
    free(which);
    counter_set_free(&set);
}

static void test_shipped_groups(void **state)
{
    need_cupti();
    struct counter_groups groups;
    struct error err = {0};
    if (!counter_groups_load("harness/counter/groups", NULL, &groups, &err))
        fail_msg("%s", err.text);
    const struct counter_group *const *items = (const struct counter_group *const *)groups.items;
    for (int c = 0; c < CHIPS; c++) {
        struct cupti_chip *chip = chip_of(chips[c]);
        struct counter_chip asked = {chips[c], has, chip};
        struct counter_set set;
        size_t sum = 0;
        for (int i = 0; i < groups.count; i++) {
            size_t passes = passes_of_groups(&asked, items + i, 1, items[i]->name, &set);
            assert_true(passes >= 1 && passes <= 12);
            if (!strcmp(items[i]->name, "core"))
                assert_true(passes <= 2);
            sum += passes;
            counter_set_free(&set);
        }
        size_t all = passes_of_groups(&asked, items, groups.count, "all", &set);
        assert_true(all >= 1 && all < sum); /* merging saves */
        counter_set_free(&set);
        if (!strcmp(chips[c], "GH100"))
            basic_groups_cost_little(&groups, &asked);
        cupti_close(chip);
    }
    counter_groups_free(&groups);
}

static void test_fallbacks(void **state)
{
    need_cupti();
    struct cupti_chip *gb202 = chip_of("GB202"), *gh100 = chip_of("GH100");
    assert_false(cupti_has(gb202, "dram__bytes_read.sum"));
    assert_true(cupti_has(gb202, "fbpa__dram_read_bytes.sum"));
    assert_true(cupti_has(gh100, "dram__bytes_read.sum"));
    assert_true(cupti_has(gh100, "smsp__warps_issue_stalled_gmma.sum"));
    assert_false(cupti_has(gb202, "smsp__warps_issue_stalled_gmma.sum"));
    assert_false(cupti_has(gh100, "sm__inst_executed_pipe_fp16.sum"));      /* quoted on the web */
    assert_false(cupti_has(gh100, "launch__waves_per_multiprocessor.sum")); /* ncu's own */
    assert_false(cupti_has(gh100, "dram__bytes_read"));                     /* no roll-up */
    assert_false(cupti_has(gh100, "dram__bytes_read.pct"));
    assert_false(cupti_has(gh100, ""));
    cupti_close(gb202);
    cupti_close(gh100);
}

/* cuptiGetVersion: the counts below are those of 13.0. */
static void test_pass_counts(void **state)
{
    need_cupti();
    int (*get_version)(uint32_t *) = NULL;
    const struct cupti_function function = {"cuptiGetVersion", &get_version};
    uint32_t version = 0;
    assert_true(cupti_functions(&function, 1, NULL));
    assert_int_equal(get_version(&version), 0);
    if (version / 10000 != 13 || version >= 130100) {
        fprintf(stderr, "skipped: CUPTI %u is not 13.0\n", version);
        skip();
    }
    const char *const sm[] = {"sm__throughput.avg.pct_of_peak_sustained_elapsed"},
                      *const l1[] = {"l1tex__throughput.avg.pct_of_peak_sustained_active"},
                      *const l2[] = {"lts__throughput.avg.pct_of_peak_sustained_elapsed"}, *const hit[] = {"lts__t_sector_hit_rate.pct"},
                      *const flop[] = {
                          "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum",
                          "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", "smsp__sass_thread_inst_executed_op_hadd_pred_on.sum",
                          "smsp__sass_thread_inst_executed_op_hmul_pred_on.sum", "smsp__sass_thread_inst_executed_op_hfma_pred_on.sum"};
    assert_int_equal(passes("GH100", sm, 1), 8);
    assert_int_equal(passes("GH100", l1, 1), 5);
    assert_int_equal(passes("GH100", l2, 1), 4);
    assert_int_equal(passes("GH100", hit, 1), 2);
    assert_int_equal(passes("GH100", flop, 6), 1);
    for (int c = 0; c < CHIPS; c++)
        assert_int_equal(passes(chips[c], (const char *const[]){"sm__cycles_elapsed.max"}, 1), 1);
}

static void refuses(struct cupti_chip *chip, const char *const *metrics, size_t count, const char *text, const char *hint)
{
    struct cupti_plan plan;
    struct error err = {0};
    assert_false(cupti_plan(chip, metrics, count, &plan, &err));
    if (!strstr(err.text, text) || strcmp(err.hint, hint))
        fail_msg("wanted '%s' / '%s', got '%s' / '%s'", text, hint, err.text, err.hint);
    assert_int_equal(err.kind, ERROR_USAGE);
    assert_null(plan.config);
}

static void test_unknown(void **state)
{
    need_cupti();
    struct cupti_chip *chip = chip_of("GH100");
    /* the bad one of a batch is named, though CUPTI itself only says "invalid parameter" for the whole */
    refuses(chip, (const char *const[]){"sm__cycles_elapsed.max", "dram__byts_read.sum"}, 2, "GH100 has no metric 'dram__byts_read.sum'",
            "dram__bytes_read.sum");
    refuses(chip, (const char *const[]){"sm__cycles_elapsed.maks"}, 1, "sm__cycles_elapsed has no such roll-up; it has ",
            "sm__cycles_elapsed.max");
    refuses(chip, (const char *const[]){"sm__cycles_elapsed"}, 1, "metric 'sm__cycles_elapsed' needs a roll-up", "sm__cycles_elapsed.sum");
    refuses(chip, (const char *const[]){"zzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"}, 1, "GH100 has no metric",
            "bench counters --chip GH100 --list '*' names them all");
    refuses(chip, (const char *const[]){""}, 1, "GH100 has no metric ''", "bench counters --chip GH100 --list '*' names them all");
    refuses(chip, NULL, 0, "no metrics to plan", "");
    cupti_close(chip);
    struct error err = {0};
    assert_false(cupti_open("GH10", NULL, &chip, &err));
    assert_null(chip);
    assert_non_null(strstr(err.text, "CUPTI has no chip 'GH10'; it has "));
    assert_non_null(strstr(err.text, "GB202"));
    assert_string_equal(err.hint, "GH100");
}

/* Every code of the header is explained by its own name, in its own words, and the refusals of a machine have a cure. */
static void test_causes(void **state)
{
    static const struct {
        int code;
        bool machine;
    } known[] = {{CUPTI_ERROR_HARDWARE_BUSY, true},
                 {CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED, true},
                 {CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, true},
                 {CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED, true},
                 {CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, true},
                 {CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED, true},
                 {CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED, true},
                 {CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED, true},
                 {CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED, true},
                 {CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED, true},
                 {CUPTI_ERROR_INVALID_PARAMETER, false},
                 {CUPTI_ERROR_INVALID_OPERATION, false},
                 {CUPTI_ERROR_UNKNOWN, false}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct error err = {0};
        assert_false(cupti_ok(known[i].code, "cuptiX", &err));
        assert_int_equal(err.kind, known[i].machine ? ERROR_ENVIRONMENT : ERROR_INTERNAL);
        assert_int_equal(error_exit_code(err.kind), known[i].machine ? 5 : 1);
        assert_memory_equal(err.text, "cuptiX: ", 8);
    }
    for (int code = 1; code <= CUPTI_ERROR_INVALID_CHIP_NAME; code++) {
        const struct cupti_cause *c = cupti_cause(code);
        if (!c)
            fail_msg("CUPTI error %d has no sentence", code);
        assert_true(strlen(c->what) > 20);
        assert_int_equal(c->machine, c->cure[0] != 0);
    }
    struct error err = {0};
    assert_false(cupti_ok(998, "cuptiX", &err));
    assert_non_null(strstr(err.text, "998"));
    assert_int_equal(err.kind, ERROR_INTERNAL);
}

/* The library's own name of each code is the one in our table. */
static void test_names(void **state)
{
    need_cupti();
    int (*result_string)(int, const char **) = NULL;
    const struct cupti_function function = {"cuptiGetResultString", &result_string};
    assert_true(cupti_functions(&function, 1, NULL));
    int compared = 0;
    for (const struct cupti_cause *c = cupti_causes; c->name; c++) {
        const char *name = NULL;
        char want[128];
        snprintf(want, sizeof want, "CUPTI_ERROR_%s", c->name);
        if (result_string(c->code, &name))
            continue; /* the library has no name for 36 and 37 */
        assert_string_equal(name, want);
        compared++;
    }
    assert_true(compared >= 40);
}

int main(void)
{
    if (!getenv("BENCH_HOME"))
        setenv("BENCH_HOME", ".", 1); /* tests run from the root of the repository */
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shipped_groups), cmocka_unit_test(test_fallbacks),
                                       cmocka_unit_test(test_pass_counts),    cmocka_unit_test(test_unknown),
                                       cmocka_unit_test(test_causes),         cmocka_unit_test(test_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
