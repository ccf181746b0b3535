/* session/: a verified time below the lowest floor of its work is no time of that work. The figures of an H200: 4.8 TB/s, 60 MiB of L2. */
#include "scenario_text.h"
#include "fixture_rows.h"
#include "run/message/wire.h"
#include "run/parent/parent.h"
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
    s.roofs = (struct ceiling_list){.count = 1, .items = {{"graph_node", "ns", "", 671}}};
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

/* 117.96 MB of input and 0.07 MB of filters must be read, and all but 62.9 of 117.96 MB of output written: 36.1 us, far more than the
 * arithmetic needs (1.5 products of 9: 9.4 us at 1.98 GHz). */
static void test_memory(void **state)
{
    char *reason;
    assert_int_equal(status_at("wide", ROW_OK, "cold", "isolated", 34, &reason), ROW_IMPOSSIBLE);
    if (strncmp(reason,
                "it takes 34 us (isolated, cold), but no known algorithm can do this work on this chip in less than 36.06 us: ", 108))
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

/* A launch raises a floor that is known and lower, and no other. */
static void test_floor_of_a_launch(void **state)
{
    static const double floors[] = {0, 100, 670, 672, 1e6}, want[] = {0, 671, 671, 672, 1e6};
    for (int i = 0; i < 5; i++) {
        struct row *row = s.rows[1] = plan_row_new(&s.plan, 1, "cuda:0");
        row->floor_ns = row->least_ns = floors[i];
        snprintf(row->floor_by, sizeof row->floor_by, "memory");
        session_row_roof(&s, 1);
        assert_true(row->floor_ns == want[i] && row->least_ns == want[i]);
        assert_string_equal(row->floor_by, want[i] == 671 ? "launch" : "memory");
        row_free(row);
    }
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

/* A step may be as fast as it likes, a row not; and of a mask that is not there nobody knows the least time. */
static void test_steps_and_masks(void **state)
{
    struct error err = {0};
    struct row *row = s.rows[1] = plan_row_new(&s.plan, 1, "cuda:0");
    row->status = ROW_OK;
    for (int step = 1; step >= -1; step--) {
        struct row_time *t = row_add_time(row);
        *t = (struct row_time){.step = step, .median_ns = step < 0 ? 58.8e3 : 1, .low_ns = 1, .high_ns = step < 0 ? 59e3 : 1};
        snprintf(t->cache, sizeof t->cache, "cold");
    }
    assert_true(session_row_judge(&s, 1, &err) && row->status == ROW_OK);
    row_free(row);
    char *mask = text_file("P2\n16 16\n1\n"), *text;
    unlink(mask);
    text = text_format(
        "scenario: t\nlayers: {a: {op: conv2d, n: 1, c: 8, h: 16, w: 16, k: 8, kernel: 3, pad: 1, mask: {pattern: file, path: %s}}}\n"
        "variants: [conv2d/naive]\n",
        mask);
    struct session masked = {0};
    char *own = text_file(text);
    const struct plan_options o = {.scenario_path = own};
    if (!plan_make(&o, "cuda", chip_find("H200"), &masked.plan, &err))
        fail_msg("%s", err.text);
    struct row of_mask = {.status = ROW_OK, .least_ns = 1}, *rows[] = {&of_mask, &of_mask};
    masked.rows = rows;
    assert_false(session_row_judge(&masked, 1, &err));
    assert_true(err.kind != ERROR_NONE);
    plan_free(&masked.plan);
    unlink(own);
    free(own);
    free(text);
    free(mask);
}

/* The roof of a row is a cold one: its bytes come at the rate of a copy, however fast the L2 is. */
static void test_roof(void **state)
{
    const struct ceiling_list before = s.roofs;
    int looked = 0;
    s.roofs = (struct ceiling_list){.count = 5,
                                    .items = {{"graph_node", "ns", "", 671},
                                              {"copy", "B/s", "", 4e12},
                                              {"l2", "B/s", "", 8e12},
                                              {"f16_acc32", "FLOP/s", "", 8e14},
                                              {"launch", "ns", "", 2000}}};
    for (int i = 0; i < s.plan.row_count; i++) {
        struct row *row = s.rows[i] = plan_row_new(&s.plan, i, "cuda:0");
        session_row_roof(&s, i);
        const struct row_metric *memory = row_metric(row, -1, "model.roof_memory_ns"), *whole = row_metric(row, -1, "model.roof_ns"),
                                *compute = row_metric(row, -1, "model.roof_compute_ns"),
                                *launch = row_metric(row, -1, "model.roof_launch_ns");
        assert_true(memory && whole && compute && fabs(memory->value - row->bytes / 4e12 * 1e9) < 1e-6);
        assert_true(fabs(compute->value - row->flop / 8e14 * 1e9) < 1e-6);
        assert_true(whole->value == fmax(2000, fmax(memory->value, compute->value)) && launch && launch->value == 2000);
        looked++;
        row_free(row);
    }
    assert_true(looked >= 4);
    s.roofs = before;
}

/* ---- the ceilings of the machine, measured by a process that this program is when it is called `worker` ---- */

static void answer(json_t *event)
{
    char *line = json_dumps(event, JSON_COMPACT);
    dprintf(3, "%s\n", line);
    free(line);
    json_decref(event);
}

static int be_the_worker(void)
{
    char line[4096];
    ssize_t got = read(3, line, sizeof line - 1);
    line[got > 0 ? got : 0] = 0;
    line[strcspn(line, "\n")] = 0; /* the command that lets it measure may have come with the first */
    json_t *command = json_loads(line, 0, NULL);
    const char *what = json_string_value(json_object_get(command, "do")), *device = json_string_value(json_object_get(command, "device"));
    if (!what || strcmp(what, "roofs") || !device || !strcmp(device, "cuda:9")) {
        answer(json_pack("{s:s,s:s,s:i}", "event", "failed", "text", "no such device", "kind", ERROR_ENVIRONMENT));
        return 0;
    }
    const struct ceiling_list found = {.measured = "2026-11-21T22:00:00Z", .count = 1, .items = {{"copy", "B/s", "a copy", 4e12}}};
    answer(json_pack("{s:s,s:o,s:s}", "event", "roofs", "roofs", wire_roofs(&found), "note", strcmp(device, "cuda:1") ? "" : "no l2"));
    answer(json_pack("{s:s}", "event", "done"));
    return 0;
}

static struct text noted;
static int measured;
static void take_note(void *context, const char *text)
{
    text_addf(&noted, "%s|", text);
}
static void take_progress(void *context, int done, int total, double seconds, double eta_s, const char *what)
{
    measured++;
}

/* Ceilings are measured once for a GPU, stored in the database and read from there. If the database keeps no times or the GPU is unknown,
 * there are none.
 */
static void test_ceilings(void **state)
{
    static const struct {
        const char *spec, *uuid;
        bool no_time, inside;
        int measured, count;
        const char *noted;
    } runs[] = {{"cuda:0", "GPU-1", true, false, 0, 0, ""},
                {"emu:GH100", "GPU-1", false, false, 0, 0, ""},
                {"cuda:0", "", false, false, 0, 0, ""},
                {"cuda:0", "GPU-1", false, true, 0, 0, ""},
                {"cuda:9", "GPU-1", false, false, 1, 0,
                 "the ceilings of this machine are unknown, so no row has a measured speed of light: no such device|"},
                {"cuda:0", "GPU-1", false, false, 1, 1, ""},
                {"cuda:0", "GPU-1", false, false, 0, 1, ""}, /* from the database */
                {"cuda:0", "GPU-1", true, false, 0, 0, ""},
                {"cuda:1", "GPU-2", false, false, 1, 1, "ceilings that could not be measured: no l2|"},
                {"cuda:1", "GPU-2", false, false, 0, 1, ""}};
    const struct session_sink sink = {.note = take_note, .progress = take_progress};
    char folder[] = "/tmp/test_impossible.XXXXXX", database[64], command[64];
    struct error err = {0};
    assert_non_null(mkdtemp(folder));
    snprintf(database, sizeof database, "%s/rows.db", folder);
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        const struct message_server *inside = runs[i].inside ? (const struct message_server *)&sink : NULL;
        const struct session_options o = {.no_time = runs[i].no_time, .inside = inside};
        struct session one = {.options = &o, .sink = &sink, .start_s = clock_s()};
        snprintf(one.device.spec, sizeof one.device.spec, "%s", runs[i].spec);
        snprintf(one.device.uuid, sizeof one.device.uuid, "%s", runs[i].uuid);
        measured = 0;
        if (!store_open(database, false, &one.store, &err))
            fail_msg("%s", err.text);
        fixture_run(&one.run, "ceilings", "cuda:0", "NVIDIA H200");
        one.run.id = 0;
        if (!store_run_begin(one.store, &one.run, &err))
            fail_msg("%s", err.text);
        session_roofs(&one);
        session_roofs_launch(&one);
        if (!session_roofs_settle(&one, &err))
            fail_msg("%s", err.text);
        assert_true(one.ceilings.pid <= 0); /* the process that measured them has ended */
        store_close(one.store);
        assert_string_equal(text_get(&noted), runs[i].noted);
        assert_true(measured == runs[i].measured && one.roofs.count == runs[i].count);
        if (one.roofs.count) {
            assert_string_equal(one.roofs.measured, "2026-11-21T22:00:00Z");
            assert_string_equal(one.roofs.items[0].name, "copy");
            assert_true(one.roofs.items[0].value == 4e12);
        }
        run_clear(&one.run);
        text_free(&noted);
    }
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
}

static void take_case(void *context, const struct run *run, struct row *const *rows, int count)
{
    text_addf(&noted, "%s:%d|", rows[0]->layer, count);
}

/* Cases that wait for counters are shown however the run ends, each once. */
static void test_shown(void **state)
{
    const struct session_sink sink = {.case_done = take_case};
    struct error err = {0};
    const struct session_options none = {0};
    struct session one = {.options = &none, .sink = &sink, .plan = s.plan, .start_s = clock_s()};
    char folder[] = "/tmp/test_impossible.XXXXXX", database[64], command[64];
    assert_non_null(mkdtemp(folder));
    snprintf(database, sizeof database, "%s/rows.db", folder);
    assert_true(store_open(database, false, &one.store, &err));
    fixture_run(&one.run, "shown", "cuda:0", "NVIDIA H200");
    one.run.id = 0;
    assert_true(store_run_begin(one.store, &one.run, &err));
    one.rows = xcalloc((size_t)s.plan.row_count, sizeof *one.rows);
    for (int i = 0; i < s.plan.row_count; i++)
        one.rows[i] = plan_row_new(&s.plan, i, "cuda:0");
    one.show_first = one.show_last = 2; /* the first case was counted and shown, the second was timed when the run failed */
    one.timed_last = 4;
    assert_true(session_spent(&one, NULL));
    assert_string_equal(text_get(&noted), "tiny:2|");
    assert_true(session_spent(&one, NULL));
    assert_string_equal(text_get(&noted), "tiny:2|");
    text_free(&noted);
    for (int i = 0; i < s.plan.row_count; i++)
        row_free(one.rows[i]);
    free(one.rows);
    run_clear(&one.run);
    store_close(one.store);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
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

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "worker"))
        return be_the_worker();
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_memory),          cmocka_unit_test(test_warm),
                                       cmocka_unit_test(test_launch),          cmocka_unit_test(test_floor_of_a_launch),
                                       cmocka_unit_test(test_unknown),         cmocka_unit_test(test_roof),
                                       cmocka_unit_test(test_steps_and_masks), cmocka_unit_test(test_ceilings),
                                       cmocka_unit_test(test_shown),           cmocka_unit_test(test_words)};
    return cmocka_run_group_tests(tests, begin, end);
}
