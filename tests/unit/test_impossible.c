/* session/: a verified time below the lowest floor of its work is no time of that work. The figures of an H200: 4.8 TB/s, 60 MiB of L2. */
#include "scenario_text.h"
#include "session/parent.h"
#include <math.h>

#define LAYERS \
    "scenario: t\nlayers:\n" \
    "  wide: {op: conv2d, n: 1, c: 64, h: 720, w: 1280, k: 64, kernel: 3, pad: 1, dtype: f16, layout: NHWC}\n" \
    "  tiny: {op: conv2d, n: 1, c: 8, h: 8, w: 8, k: 8, kernel: 3, pad: 1, dtype: f16, layout: NHWC}\n" \
    "variants: [conv2d/cudnn, conv2d/naive]\n"

static struct session s;
static char *path;
static struct plan_options options;

static int begin(void **state)
{
    struct error err = {0};
    path = text_file(LAYERS);
    options = (struct plan_options){.scenario_path = path};
    if (!plan_make(&options, "cuda", chip_find("H200"), &s.plan, &err)) {
        print_error("%s\n", err.text);
        return -1;
    }
    s.rows = xcalloc((size_t)s.plan.row_count, sizeof *s.rows);
    s.roofs = (struct roofs){.count = 1, .items = {{"graph_node", "ns", "", 671}}};
    return 0;
}

static int end(void **state)
{
    free(s.rows);
    plan_free(&s.plan);
    unlink(path);
    free(path);
    return 0;
}

static bool forget, untold; /* the least time of the work; how well the time is known */

/* The status of the layer's naive row when it takes this long; 2 % around it. */
static enum row_status status_at(const char *layer, enum row_status before, const char *cache, const char *load, double us, char **reason)
{
    struct error err = {0};
    enum row_status status = ROW_PLANNED;
    for (int i = 0; i < s.plan.row_count; i++) {
        struct row *row = s.rows[i] = plan_row_new(&s.plan, i, "cuda:0");
        if (!strcmp(row->layer, layer) && strstr(row->variant, "naive")) {
            session_row_roof(&s, i);
            row->least_ns = forget ? NAN : row->least_ns;
            row->status = before;
            struct row_time *t = row_add_time(row);
            *t = (struct row_time){.step = -1, .median_ns = us * 1e3, .low_ns = us * 980, .high_ns = untold ? 0 : us * 1020};
            snprintf(t->cache, sizeof t->cache, "%s", cache);
            snprintf(t->load, sizeof t->load, "%s", load);
            if (!session_row_judge(&s, i, &err))
                fail_msg("%s", err.text);
            status = row->status;
            if (reason)
                *reason = xstrdup(row->reason ? row->reason : "");
        }
        row_free(row);
    }
    return status;
}

/* 117.96 MB in and 0.07 of filters must be read; of 117.96 MB out all but 62.9 written: 36.1 us, far above the arithmetic (1.5 products of
 * 9: 9.4 us at 1.98 GHz). */
static void test_memory(void **state)
{
    char *reason;
    assert_int_equal(status_at("wide", ROW_OK, "cold", "isolated", 34, &reason), ROW_IMPOSSIBLE);
    if (strncmp(reason,
                "it takes 34 us (isolated, cold), and no known algorithm can do this work on this chip in less than 36.06 us: ", 108))
        fail_msg("%s", reason);
    free(reason);
    assert_int_equal(status_at("wide", ROW_OK, "cold", "isolated", 35.5, NULL), ROW_OK); /* its interval holds 36.06 */
    assert_int_equal(status_at("wide", ROW_OK, "cold", "isolated", 58.8, NULL), ROW_OK); /* a cheat, but no impossible one */
    assert_int_equal(status_at("wide", ROW_FOIL, "cold", "isolated", 1, NULL), ROW_FOIL);
    assert_int_equal(status_at("wide", ROW_WRONG, "cold", "isolated", 1, NULL), ROW_WRONG);
}

/* In warm rounds 62.9 MB of the input may be there already: 23 us. */
static void test_warm(void **state)
{
    assert_int_equal(status_at("wide", ROW_OK, "warm", "sustained", 25, NULL), ROW_OK);
    assert_int_equal(status_at("wide", ROW_OK, "warm", "sustained", 22, NULL), ROW_IMPOSSIBLE);
}

/* What is too small for any bandwidth still needs a launch. */
static void test_launch(void **state)
{
    assert_int_equal(status_at("tiny", ROW_OK, "cold", "isolated", 0.6, NULL), ROW_IMPOSSIBLE);
    assert_int_equal(status_at("tiny", ROW_OK, "warm", "sustained", 0.6, NULL), ROW_IMPOSSIBLE);
    assert_int_equal(status_at("tiny", ROW_OK, "cold", "isolated", 0.7, NULL), ROW_OK);
    s.roofs.count = 0; /* not measured: then nothing is said of it */
    assert_int_equal(status_at("tiny", ROW_OK, "cold", "isolated", 0.6, NULL), ROW_OK);
    s.roofs.count = 1;
}

/* Nothing is held against a time whose interval is not known, nor against work whose least time is not. */
static void test_unknown(void **state)
{
    untold = true;
    assert_int_equal(status_at("wide", ROW_OK, "cold", "isolated", 1, NULL), ROW_OK);
    untold = false;
    forget = true;
    assert_int_equal(status_at("wide", ROW_OK, "cold", "isolated", 1, NULL), ROW_OK);
    assert_int_equal(status_at("wide", ROW_OK, "warm", "sustained", 1, NULL), ROW_OK);
    forget = false;
    assert_int_equal(status_at("wide", ROW_OK, "cold", "isolated", 1, NULL), ROW_IMPOSSIBLE);
}

/* The roof of a row is a cold one: its bytes come at the rate of a copy, however fast the L2 is. */
static void test_roof(void **state)
{
    const struct roofs before = s.roofs;
    int looked = 0;
    s.roofs = (struct roofs){.count = 5,
                             .items = {{"graph_node", "ns", "", 671},
                                       {"copy", "B/s", "", 4e12},
                                       {"l2", "B/s", "", 8e12},
                                       {"f16_acc32", "FLOP/s", "", 8e14},
                                       {"launch", "ns", "", 2000}}};
    for (int i = 0; i < s.plan.row_count; i++) {
        struct row *row = s.rows[i] = plan_row_new(&s.plan, i, "cuda:0");
        session_row_roof(&s, i);
        const struct row_metric *memory = row_metric(row, -1, "model.roof_memory_ns"), *whole = row_metric(row, -1, "model.roof_ns"),
                                *compute = row_metric(row, -1, "model.roof_compute_ns");
        assert_true(memory && whole && compute && fabs(memory->value - row->bytes / 4e12 * 1e9) < 1e-6);
        assert_true(fabs(compute->value - row->flop / 8e14 * 1e9) < 1e-6);
        assert_true(whole->value == fmax(2000, fmax(memory->value, compute->value)));
        looked++;
        row_free(row);
    }
    assert_true(looked >= 4);
    s.roofs = before;
}

static void test_words(void **state)
{
    assert_string_equal(row_status_name(ROW_IMPOSSIBLE), "impossible");
    assert_int_equal(row_status_parse("impossible"), ROW_IMPOSSIBLE);
    for (int i = 0; i < ROW_STATUS_COUNT; i++) {
        struct row row = {.status = (enum row_status)i}, *rows[] = {&row};
        bool fails = i == ROW_WRONG || i == ROW_UNSAFE || i == ROW_STATEFUL || i == ROW_IMPOSSIBLE || i == ROW_CRASHED || i == ROW_HUNG ||
                     i == ROW_BROKEN;
        assert_int_equal(session_exit_code(rows, 1), fails ? 4 : 0);
        assert_int_equal(row_status_parse(row_status_name(row.status)), i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_memory),  cmocka_unit_test(test_warm), cmocka_unit_test(test_launch),
                                       cmocka_unit_test(test_unknown), cmocka_unit_test(test_roof), cmocka_unit_test(test_words)};
    return cmocka_run_group_tests(tests, begin, end);
}
