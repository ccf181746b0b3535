/* plan/rows/shard and store/join: shares of a plan, and one run of their parts. */
#include "scenario_text.h"
#include "store_helpers.h"
#include "plan/rows/shard.h"
#include "base/clock.h"
#include "store/seal.h"
#include <math.h>
#include <sys/resource.h>

static void make_plan(const char *path_, const char *only, struct plan *plan)
{
    struct plan_options options = {.scenario_path = path_, .filter.only = only};
    struct error err = {0};
    if (!plan_make(&options, "emu", chip_find("GH100"), plan, &err))
        fail_msg("%s", err.text);
}

/* CPU seconds (user and system) of `bench run SCENARIO -d emu` with all kernels compiled, measured in November 2026 on two cores. */
static void an_estimate_is_near_what_a_run_took(void **state)
{
    static const struct {
        const char *path;
        double took_s;
    } all[] = {
        {"scenarios/smoke.yaml", 1.4},     {"scenarios/fkl.yaml", 118},
        {"scenarios/edsr.yaml", 46},       {"scenarios/span.yaml", 11.2},
        {"scenarios/notebook.yaml", 10.6}, {"scenarios/espcn.yaml", 8},
        {"scenarios/epilogues.yaml", 7.3}, {"scenarios/sparsity_small.yaml", 25.6},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct plan plan;
        double sum = 0;
        make_plan(all[i].path, NULL, &plan);
        SCOPED double *seconds = xcalloc((size_t)plan.case_count, sizeof *seconds);
        plan_costs(&plan, false, seconds);
        for (int k = 0; k < plan.case_count; k++)
            sum += seconds[k];
        if (!(sum > all[i].took_s / 1.5 && sum < all[i].took_s * 1.5))
            fail_msg("%s: %g s, not %g s", all[i].path, sum, all[i].took_s);
        plan_free(&plan);
    }
}

/* Every case is in one shard; whole units; no shard costs more than its fair share and one more unit; twice the same. */
static void shards_are_whole_and_balanced(void **state)
{
    struct plan plan;
    make_plan("scenarios/sparsity_small.yaml", NULL, &plan);
    int shard[64], again[64], unit[64], most = 0;
    double seconds[64], load[4] = {0}, total = 0, largest = 0;
    assert_in_range(plan.case_count, 20, 64);
    plan_shards(&plan, false, 4, shard);
    plan_shards(&plan, false, 4, again);
    plan_units(&plan, unit);
    plan_costs(&plan, false, seconds);
    for (int i = 0; i < plan.case_count; i++) {
        assert_in_range(shard[i], 0, 3);
        assert_int_equal(shard[i], again[i]);
        assert_int_equal(shard[i], shard[unit[i]]);
        load[shard[i]] += seconds[i];
        total += seconds[i];
    }
    for (int i = 0; i < plan.case_count; i++) {
        double of = 0;
        int cases = 0;
        for (int k = 0; k < plan.case_count; k++)
            if (unit[k] == i) {
                of += seconds[k];
                cases++;
            }
        largest = of > largest ? of : largest;
        most = cases > most ? cases : most;
    }
    assert_int_equal(most, 2); /* the two densities of a pattern, between which a break-even is searched */
    for (int k = 0; k < 4; k++)
        assert_true(load[k] <= total / 4 + largest + 1e-9);
    plan_free(&plan);
}

/* A network needs the rows of its layers. */
static void a_network_stays_with_its_layers(void **state)
{
    char *file = text_file("scenario: t\nlayers:\n"
                           "  a: {op: conv2d, n: 1, c: 4, h: 8, w: 8, k: 4, kernel: 3, pad: 1}\n"
                           "  b: {op: conv2d, n: 1, c: 4, h: 8, w: 8, k: 4, kernel: 1}\n"
                           "networks: {x2: {order: [a, a]}}\n"
                           "variants: [conv2d/naive]\n");
    struct plan plan;
    int unit[8], network = -1, shard[8];
    make_plan(file, NULL, &plan);
    assert_int_equal(plan.case_count, 3);
    plan_units(&plan, unit);
    plan_shards(&plan, false, 3, shard);
    for (int i = 0; i < plan.row_count; i++)
        if (plan.rows[i].kind == PLAN_CHAIN)
            network = plan.rows[i].case_index;
    for (int i = 0; i < 3; i++)
        assert_int_equal(unit[i] == unit[network], i == network || !strcmp(plan.cases[i].layer->name, "a"));
    assert_true(shard[0] != shard[1]);
    plan_free(&plan);
    unlink(file);
    free(file);
}

/* Another set of rows is another plan; the same rows are the same plan. */
static void a_plan_has_an_identity(void **state)
{
    struct plan plan;
    char whole[HASH_TEXT], again[HASH_TEXT], part[HASH_TEXT], timed[HASH_TEXT];
    make_plan("scenarios/smoke.yaml", NULL, &plan);
    plan_identity(&plan, false, whole);
    plan_identity(&plan, true, timed);
    plan_free(&plan);
    make_plan("scenarios/smoke.yaml", NULL, &plan);
    plan_identity(&plan, false, again);
    plan_free(&plan);
    make_plan("scenarios/smoke.yaml", "naive", &plan);
    plan_identity(&plan, false, part);
    plan_free(&plan);
    assert_string_equal(whole, again);
    assert_string_not_equal(whole, part);
    assert_string_not_equal(whole, timed);
}

/* ---- joining ---- */

struct part {
    const char *name, *identity, *started;
    int shard, first, last; /* rows: two a case */
    const char *driver;
    double median_ns, clock_mhz;
    enum row_status status;
    bool ended;
};

/* A part of a plan of 8 rows in 4 cases, in 2 shards. Returns its path. Caller frees. */
static char *write_part(const struct part *p)
{
    struct error err = {0};
    struct store *store = NULL;
    struct fixture f = {0};
    char *file = text_format("%s/%s.db", folder, p->name);
    fixture_run(&f.run, "t", "cuda:0", "NVIDIA H200");
    snprintf(f.run.started, sizeof f.run.started, "%s", p->started);
    row_set(&f.run.identity, p->identity);
    row_set(&f.run.driver, p->driver);
    memset(f.run.plan_hash, 'a', HASH_TEXT - 1);
    f.run.shard = p->shard;
    f.run.shards = 2;
    f.run.plan_rows = 8;
    f.run.planned = 4;
    f.run.wall_s = 10;
    for (int i = p->first; i < p->last; i++) {
        char layer[16], params[24];
        snprintf(layer, sizeof layer, "l%d", i / 2);
        snprintf(params, sizeof params, "B=%d", i % 2);
        struct row *row = fixture_row(&f, i / 2, layer, "", "conv2d", "conv2d/naive", params, p->status);
        struct row_time *t = row_add_time(row);
        t->step = -1;
        row_time_set_mode(t, MODE_COLD);
        t->median_ns = p->median_ns;
        t->low_ns = p->median_ns * 0.999;
        t->high_ns = p->median_ns * 1.001;
        row->sm_clock_mhz = p->clock_mhz;
        row_set(&row->where, p->name);
    }
    if (!store_open(file, false, &store, &err))
        fail_msg("%s", err.text);
    put_all(store, &f);
    if (p->ended)
        assert_true(store_run_end(store, f.run.id, NULL, &err));
    store_close(store);
    fixture_free(&f);
    return file;
}

struct told {
    int parts, conflicts, apart;
    int64_t rows, known, joined;
    char why[200];
};

static void hear(void *context, const struct join_part *p)
{
    struct told *t = context;
    t->parts++;
    t->conflicts += p->conflicts;
    t->apart += p->apart != NULL;
    t->rows += p->rows;
    t->known += p->known;
    t->joined = p->joined;
    snprintf(t->why, sizeof t->why, "%s", p->apart ? p->apart : "");
}

static struct told join(const char *file)
{
    struct error err = {0};
    struct told told = {0};
    struct store *store = open_or_fail(false);
    if (!store_join(store, file, hear, &told, &err))
        fail_msg("%s", err.text);
    store_close(store);
    return told;
}

static struct join_state state_of(int64_t run)
{
    struct error err = {0};
    struct join_state joined;
    struct store *store = open_or_fail(true);
    assert_true(store_join_state(store, run, &joined, &err));
    store_close(store);
    free(joined.missing);
    return joined;
}

/* Every value of the joined run's rows that a reader sees, as a text. */
static char *rows_text(int64_t run)
{
    struct error err = {0};
    struct store *store = open_or_fail(true);
    struct row **rows;
    struct text t = {0};
    int count = store_rows(store, run, &rows, &err);
    for (int i = 0; i < count; i++)
        text_addf(&t, "%s %s %s %.17g %s %s\n", rows[i]->id, row_status_name(rows[i]->status), rows[i]->where, rows[i]->times[0].median_ns,
                  rows[i]->origin, rows[i]->note ? rows[i]->note : "");
    rows_free(rows, count);
    store_close(store);
    return text_take(&t);
}

#define FIRST .driver = "580", .median_ns = 41e3, .clock_mhz = 1980, .status = ROW_OK, .ended = true

static void parts_become_one_run(void **state)
{
    char *one = write_part(&(struct part){"one", "i1", "2026-01-01T00:00:00Z", 1, 0, 4, FIRST}),
         *two = write_part(&(struct part){"two", "i2", "2026-01-01T00:00:05Z", 2, 4, 8, FIRST});
    struct told t = join(two);
    assert_int_equal(t.rows, 4);
    struct join_state s = state_of(t.joined);
    assert_int_equal(s.shards, 2);
    assert_int_equal(s.missing_count, 1);
    assert_int_equal(s.rows, 4);
    assert_int_equal(s.planned, 8);
    assert_int_equal(join(one).joined, t.joined);
    for (int i = 0; i < 2; i++) { /* again: nothing */
        t = join(i ? one : two);
        assert_int_equal(t.rows, 0);
        assert_int_equal(t.known, 4);
        assert_int_equal(t.conflicts, 0);
    }
    s = state_of(t.joined);
    assert_int_equal(s.missing_count, 0);
    assert_int_equal(s.rows, 8);
    struct error err = {0};
    struct run run;
    struct store *store = open_or_fail(true);
    assert_true(store_run(store, t.joined, &run, &err));
    assert_string_equal(run.started, "2026-01-01T00:00:00Z");
    assert_true(run.ended[0] && run.wall_s == 20 && run.planned == 8 && run.shards == 1);
    run_clear(&run);
    store_close(store);
    free(one);
    free(two);
}

/* A shard that ran twice: the order of joining changes nothing, and what differs is said once. */
static void a_shard_counts_once(void **state)
{
    char *one = write_part(&(struct part){"one", "i1", "2026-01-01T00:00:09Z", 1, 0, 4, FIRST}),
         *late = write_part(&(struct part){"late", "i3", "2026-01-01T00:00:30Z", 1, 0, 4, "580", 42e3, 1980, ROW_OK, true}),
         *same = write_part(&(struct part){"same", "i4", "2026-01-01T00:00:31Z", 1, 0, 4, "580", 41.01e3, 1980, ROW_OK, true}),
         *wrong = write_part(&(struct part){"wrong", "i5", "2026-01-01T00:00:40Z", 1, 2, 4, "580", 41e3, 1980, ROW_WRONG, true});
    struct told a = join(one), b = join(late);
    assert_int_equal(b.joined, a.joined);
    assert_int_equal(b.conflicts, 4);
    assert_int_equal(join(same).conflicts, 0); /* its intervals overlap */
    assert_int_equal(join(wrong).conflicts, 2);
    char *first = rows_text(a.joined);
    assert_non_null(strstr(first, "l0/conv2d/naive[B=0] ok one 41000 i1 measured twice: ok 41 us on one; also ok 42 us on late\n"));
    assert_non_null(
        strstr(first, "l1/conv2d/naive[B=0] wrong wrong 41000 i5 measured twice: wrong 41 us on wrong; also ok 41 us on one\n"));
    assert_int_equal(state_of(a.joined).rows, 4);
    unlink(path);
    join(wrong);
    join(late);
    a = join(one);
    join(late);
    char *second = rows_text(a.joined);
    for (char *p = first, *q = second; *p && *q;) { /* but for the notes, which name what was compared */
        assert_memory_equal(p, q, strcspn(p, "m"));
        p += strcspn(p, "\n") + 1;
        q += strcspn(q, "\n") + 1;
    }
    free(first);
    free(second);
    free(one);
    free(late);
    free(same);
    free(wrong);
}

/* The complete part wins, though it began later; and a part that has grown is taken again. */
static void the_complete_part_wins(void **state)
{
    char *cut = write_part(&(struct part){"cut", "i1", "2026-01-01T00:00:00Z", 1, 0, 3, "580", 41e3, 1980, ROW_OK, false}),
         *whole = write_part(&(struct part){"whole", "i2", "2026-01-01T00:00:30Z", 1, 0, 4, "580", 41e3, 1980, ROW_OK, true});
    struct told t = join(cut);
    assert_int_equal(t.rows, 3);
    assert_int_equal(state_of(t.joined).missing_count, 2); /* it has not ended */
    t = join(whole);
    assert_int_equal(t.rows, 2); /* the case that the first lacks a row of, as a whole */
    assert_int_equal(state_of(t.joined).rows, 4);
    unlink(cut);
    free(cut);
    cut = write_part(&(struct part){"cut", "i1", "2026-01-01T00:00:00Z", 1, 0, 4, FIRST});
    assert_int_equal(join(cut).rows, 2); /* complete now, and the first that began */
    free(cut);
    free(whole);
}

static void other_states_stay_apart(void **state)
{
    char *one = write_part(&(struct part){"one", "i1", "2026-01-01T00:00:00Z", 1, 0, 4, FIRST}),
         *driver = write_part(&(struct part){"driver", "i2", "2026-01-01T00:00:05Z", 2, 4, 8, "570", 41e3, 1980, ROW_OK, true}),
         *slow = write_part(&(struct part){"slow", "i3", "2026-01-01T00:00:06Z", 2, 4, 8, "580", 60e3, 1410, ROW_OK, true}),
         *near = write_part(&(struct part){"near", "i4", "2026-01-01T00:00:07Z", 2, 4, 8, "580", 41e3, 1950, ROW_OK, true});
    int64_t run = join(one).joined;
    struct told t = join(driver);
    assert_true(t.joined != run && t.apart == 1);
    assert_non_null(strstr(t.why, "driver 570, there 580"));
    t = join(slow);
    assert_true(t.joined != run && t.apart == 1);
    assert_non_null(strstr(t.why, "sm_clock_mhz 1410, there 1980"));
    assert_int_equal(join(near).joined, run);
    assert_int_equal(state_of(run).rows, 8);
    free(one);
    free(driver);
    free(slow);
    free(near);
}

/* Whatever is cut off a part: an error that names the file, or its whole rows; never a crash, and the other rows stay. */
static void a_cut_file_is_refused(void **state)
{
    char *one = write_part(&(struct part){"one", "i1", "2026-01-01T00:00:00Z", 1, 0, 4, FIRST}),
         *two = write_part(&(struct part){"two", "i2", "2026-01-01T00:00:05Z", 2, 4, 8, FIRST});
    int64_t run = join(one).joined;
    struct error err = {0};
    size_t bytes;
    char *all = file_read(two, 1 << 24, &bytes, &err);
    assert_non_null(all);
    for (size_t n = 1; n < bytes; n = n < 4096 ? n * 3 : n + 4096 * 3 + 1) {
        struct told told = {0};
        struct store *store = open_or_fail(false);
        write_file(two, all, n);
        err = (struct error){0};
        assert_false(store_join(store, two, hear, &told, &err));
        assert_non_null(strstr(err.text, "two.db"));
        assert_int_equal(err.kind, ERROR_USAGE);
        store_close(store);
    }
    assert_int_equal(state_of(run).rows, 4);
    write_file(two, all, bytes);
    assert_int_equal(join(two).rows, 4);
    free(all);
    free(one);
    free(two);
}

/* ---- many rows ---- */

#define MANY_PARTS 16

static char *many_file(int part)
{
    return text_format("%s/many%d.db", folder, part);
}

/* A part of `count` rows, ten a case: 30 metrics, two kernels, a time of 60 rounds. */
static void write_many(int part, int count)
{
    struct error err = {0};
    struct store *store = NULL;
    struct fixture f = {0};
    SCOPED char *file = many_file(part), *identity = text_format("part %d", part);
    fixture_run(&f.run, "t", "cuda:0", "NVIDIA H200");
    row_set(&f.run.identity, identity);
    memset(f.run.plan_hash, 'a', HASH_TEXT - 1);
    f.run.shard = part + 1;
    f.run.shards = MANY_PARTS;
    f.run.plan_rows = count * MANY_PARTS;
    struct row *row = fixture_row(&f, 0, "l", "", "conv2d", "conv2d/naive", "B=1", ROW_OK);
    struct row_time *t = row_add_time(row);
    t->rounds = 60;
    t->samples_ns = xcalloc(60, sizeof *t->samples_ns);
    for (int i = 0; i < 30; i++) {
        SCOPED char *name = text_format("hw.counter_%d", i);
        row_add_metric(row, -1, 0, name, "", "cupti", 1e6 * i + 0.25);
    }
    row_add_step(row);
    row_add_step(row);
    f.run.id = 0;
    if (!store_open(file, false, &store, &err) || !store_run_begin(store, &f.run, &err))
        fail_msg("%s", err.text);
    assert_true(store_exec(store, "PRAGMA synchronous = OFF", "", &err));
    for (int i = 0; i < count; i++) {
        SCOPED char *of = text_format("t/l%d", part * count + i / 10), *id = text_format("%s/v%d", of, i % 10);
        row_set(&row->case_id, of);
        row_set(&row->id, id);
        row->case_index = part * count + i / 10;
        row->row_index = i % 10;
        hash_bytes(id, strlen(id), row->key);
        if (!store_put(store, f.run.id, row, &err))
            fail_msg("%s", err.text);
    }
    assert_true(store_run_end(store, f.run.id, NULL, &err));
    store_close(store);
    fixture_free(&f);
}

static double cpu_s(void)
{
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) + 1e-6 * (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec);
}

/* Shuffled and repeated parts, as `import --join` takes many; the joined run has a seal that holds. JOIN_ROWS makes it large. */
static void many_rows_become_one_run(void **state)
{
    struct error err = {0};
    struct told told = {0};
    struct rusage r;
    int64_t seals;
    int count = (getenv("JOIN_ROWS") ? atoi(getenv("JOIN_ROWS")) : 1600) / MANY_PARTS;
    for (int i = 0; i < MANY_PARTS; i++)
        write_many(i, count);
    double began = clock_s(), cpu = cpu_s();
    struct store *store = open_or_fail(false);
    assert_true(store_join_much(store, true, &err));
    for (int i = 0; i < MANY_PARTS + 2; i++) {
        SCOPED char *file = many_file(i * 7 % MANY_PARTS);
        if (!store_join(store, file, hear, &told, &err))
            fail_msg("%s", err.text);
    }
    assert_true(store_join_much(store, false, &err));
    getrusage(RUSAGE_SELF, &r);
    print_message("%d rows: %.1f s, %.1f s of CPU, %.0f MB\n", count * MANY_PARTS, clock_s() - began, cpu_s() - cpu,
                  (double)r.ru_maxrss / 1024);
    assert_int_equal(told.rows, count * MANY_PARTS);
    assert_int_equal(told.known, 2 * count);
    assert_int_equal(store_row_count(store, 1, &err), count * MANY_PARTS);
    assert_true(store_integer(store, "SELECT count(*) FROM seal WHERE run = 1 AND lines LIKE 'sum 1 %'", &seals, &err) && seals == 1);
    assert_true(seal_check_all(store, &err));
    assert_true(store_exec(store, "UPDATE metric SET value = value + 1 WHERE result = 17 AND metric_index = 3", "", &err));
    assert_false(seal_check_all(store, &err));
    store_close(store);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_estimate_is_near_what_a_run_took),
                                       cmocka_unit_test(shards_are_whole_and_balanced),
                                       cmocka_unit_test(a_network_stays_with_its_layers),
                                       cmocka_unit_test(a_plan_has_an_identity),
                                       TEST(parts_become_one_run),
                                       TEST(a_shard_counts_once),
                                       TEST(the_complete_part_wins),
                                       TEST(other_states_stay_apart),
                                       TEST(a_cut_file_is_refused),
                                       TEST(many_rows_become_one_run)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
