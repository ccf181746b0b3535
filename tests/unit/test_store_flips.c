/* store: a bit that flips in a database or in a shared file is told, or changes nothing that is read. SQLite itself has no checksums. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include "store_helpers.h"
#include "base/text.h"
#include "store/json.h"
#include "store/seal.h"

#define FLIPS (getenv("FLIPS") ? atoi(getenv("FLIPS")) : 200)

static uint64_t random_state = 20261128; /* FLIPS=10000 SEED=7 draws others */
static uint64_t draw(uint64_t below)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (random_state >> 16) % below;
}

static void add_text(void *context, const char *uuid, const struct ceiling_list *list)
{
    struct text *t = context;
    text_addf(t, "%s %s", uuid, list->measured);
    for (int i = 0; i < list->count; i++)
        text_addf(t, " %s %.17g %s %s", list->items[i].name, list->items[i].value, list->items[i].unit, list->items[i].how);
}

static void add_json(struct text *t, json_t *o)
{
    json_write(t, o);
}

static void add_columns(struct text *t, enum column_group group, const void *base)
{
    json_t *o = json_object();
    json_columns_add(o, group, base);
    add_json(t, o);
}

static bool add_run(struct text *t, struct store *store, const struct run *run, struct error *err)
{
    struct row **rows = NULL;
    int count = store_rows(store, run->id, &rows, err);
    add_columns(t, COLUMN_RUN, run);
    for (int i = 0; i < count; i++) {
        add_columns(t, COLUMN_CASE, rows[i]);
        add_columns(t, COLUMN_RESULT, rows[i]);
        for (const struct row_list *l = row_lists; l->table; l++)
            add_json(t, json_list(l, rows[i]));
    }
    if (count > 0)
        rows_free(rows, count);
    return count >= 0;
}

/* All that can be read of the file; NULL and the error: it was refused. */
static char *all_of(const char *file, struct error *err)
{
    struct store *store = NULL;
    struct runs runs = {0};
    struct wisdom *wisdom = NULL;
    struct text t = {0};
    int count = 0;
    bool ok = store_open(file, true, &store, err) && store_runs(store, &runs, err);
    for (int i = 0; ok && i < runs.count; i++)
        ok = add_run(&t, store, &runs.items[i], err);
    ok = ok && store_ceilings_each(store, add_text, &t, err) && (count = store_wisdom(store, &wisdom, err)) >= 0;
    for (int i = 0; i < count; i++)
        add_columns(&t, COLUMN_WISDOM, &wisdom[i]);
    if (count > 0)
        wisdom_free(wisdom, count);
    runs_free(&runs);
    store_close(store);
    if (!ok)
        text_free(&t);
    return ok ? text_take(&t) : NULL;
}

/* Two runs, a GPU's ceilings and a tuned configuration. */
static void make_database(void)
{
    struct error err = {0};
    struct store *store = open_or_fail(false);
    struct ceiling_list ceilings = {.count = 1, .measured = "2026-01-01T00:00:00Z"};
    struct wisdom w = {0};
    for (int i = 0; i < 2; i++) {
        struct fixture f = {0};
        (i ? fixture_h200 : fixture_emu)(&f);
        put_all(store, &f);
        assert_true(store_run_end(store, f.run.id, NULL, &err));
        fixture_free(&f);
    }
    snprintf(ceilings.items[0].name, sizeof ceilings.items[0].name, "dram_read");
    ceilings.items[0].value = 4.1e12;
    assert_true(store_ceilings_put(store, "GPU-1", &ceilings, &err));
    memset(w.signature, 'a', sizeof w.signature - 1);
    memset(w.source_hash, 'b', sizeof w.source_hash - 1);
    snprintf(w.tuned, sizeof w.tuned, "2026-01-01T00:00:00Z");
    row_set(&w.variant, "my/one");
    row_set(&w.chip, "GH100");
    row_set(&w.compiler, "nvrtc 13.0");
    if (!store_wisdom_put(store, &w, &err))
        fail_msg("%s", err.text);
    columns_free(COLUMN_WISDOM, &w);
    store_close(store);
}

static void flips_are_told(const char *file)
{
    struct error err = {0};
    size_t bytes;
    SCOPED char *data = file_read(file, 1 << 26, &bytes, &err), *want = all_of(file, &err), *copy = text_format("%s/flipped.db", folder);
    int told = 0;
    if (getenv("SEED"))
        random_state = strtoull(getenv("SEED"), NULL, 10);
    assert_true(data && want);
    for (int i = 0; i < FLIPS; i++) {
        size_t flipped[3];
        int n = i % 4 ? 1 : 3;
        for (int k = 0; k < n; k++) {
            flipped[k] = draw(8 * bytes);
            data[flipped[k] / 8] ^= (char)(1 << flipped[k] % 8);
        }
        write_file(copy, data, bytes);
        SCOPED char *got = all_of(copy, &err);
        if (got && strcmp(got, want) != 0)
            fail_msg("%s: bit %zu of byte %zu changes what is read, and nothing is said", file, flipped[0] % 8, flipped[0] / 8);
        told += !got;
        if (!got && (err.kind == ERROR_NONE || err.kind == ERROR_INTERNAL))
            fail_msg("%s: bit %zu of byte %zu: %s", file, flipped[0] % 8, flipped[0] / 8, err.text);
        error_clear(&err);
        for (int k = n - 1; k >= 0; k--)
            data[flipped[k] / 8] ^= (char)(1 << flipped[k] % 8);
    }
    assert_true(told > FLIPS / 4);
}

static void a_flipped_bit_is_told(void **state)
{
    make_database();
    flips_are_told(path);
}

static void a_shared_file_as_well(void **state)
{
    struct error err = {0};
    char *data;
    size_t bytes;
    make_database();
    assert_true(store_share(path, 2, &data, &bytes, &err));
    SCOPED char *shared = text_format("%s/shared.bench", folder);
    write_file(shared, data, bytes);
    free(data);
    flips_are_told(shared);
}

/* A schema whose `run` is no key any more gives runs without a number. */
static void a_run_without_a_number_is_told(void **state)
{
    struct error err = {0};
    size_t bytes;
    make_database();
    SCOPED char *data = file_read(path, 1 << 26, &bytes, &err);
    char *at = data ? memmem(data, bytes, "run INTEGER PRIMARY KEY", 23) : NULL;
    assert_non_null(at);
    memcpy(at, "run INTEGER DEFAULT (7)", 23);
    write_file(path, data, bytes);
    SCOPED char *got = all_of(path, &err);
    assert_null(got);
    error_clear(&err);
}

/* A schema format that SQLite does not know (byte 47 of the header) is damage, not a fault of bench. */
static void an_unknown_format_is_damage(void **state)
{
    struct error err = {0};
    size_t bytes;
    make_database();
    SCOPED char *data = file_read(path, 1 << 26, &bytes, &err);
    data[47] = 9;
    write_file(path, data, bytes);
    SCOPED char *got = all_of(path, &err);
    if (got || err.kind != ERROR_USAGE)
        fail_msg("%s", err.text);
    error_clear(&err);
}

/* A seal that is damaged itself, or lost, leaves no run unchecked. */
static void a_damaged_seal_is_told(void **state)
{
    static const char *const damage[] = {"UPDATE seal SET lines = 'swm' || substr(lines, 4) WHERE run = 2",
                                         "DELETE FROM seal WHERE run = 2", "ALTER TABLE seal RENAME TO sead"};
    for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
        struct error err = {0};
        make_database();
        struct store *store = open_or_fail(false);
        assert_true(store_exec(store, damage[i], "damaging it", &err));
        store_close(store);
        SCOPED char *got = all_of(path, &err);
        if (got || !strstr(err.text, "damaged: its run"))
            fail_msg("%s: %s", damage[i], err.text);
        error_clear(&err);
        assert_int_equal(unlink(path), 0);
    }
}

static int64_t number(struct store *store, const char *sql)
{
    int64_t n = -1;
    struct error err = {0};
    if (!store_integer(store, sql, &n, &err))
        fail_msg("%s", err.text);
    return n;
}

/* Each way in which a run comes to be, or changes, leaves a seal that holds; a run that is written has none. */
static void each_change_is_sealed(void **state)
{
    struct error err = {0};
    struct fixture f = {0};
    struct store *store = open_or_fail(false);
    fixture_emu(&f);
    put_all(store, &f);
    assert_int_equal(number(store, "SELECT count(*) FROM seal"), 0);
    store_close(store); /* it was interrupted */
    store = open_or_fail(false);
    assert_int_equal(number(store, "SELECT count(*) FROM seal WHERE run = 1"), 1);
    assert_true(seal_check_all(store, &err));
    assert_true(store_run_begin(store, &f.run, &err)); /* and is resumed */
    assert_int_equal(number(store, "SELECT count(*) FROM seal WHERE run = 1"), 0);
    assert_true(store_run_environment(store, f.run.id, "{\"a\": 1}", &err) && store_run_end(store, f.run.id, NULL, &err));
    assert_true(seal_check_all(store, &err));
    assert_int_equal(number(store, "SELECT count(*) FROM seal WHERE run = 1"), 1);
    store_close(store);
    char first[128];
    snprintf(first, sizeof first, "%s", path);
    snprintf(path, sizeof path, "%s/other.db", folder);
    store = open_or_fail(false);
    struct merge_counts counts;
    assert_true(store_merge(store, first, &counts, &err) && counts.runs == 1);
    assert_int_equal(number(store, "SELECT count(*) FROM seal WHERE run = 1"), 1);
    assert_true(seal_check_all(store, &err));
    assert_true(store_exec(store, "UPDATE result SET what = 'another' WHERE row_index = 1", "changing it", &err));
    assert_false(seal_check_all(store, &err));
    assert_non_null(strstr(err.text, "damaged: its run 1 is not what bench stored"));
    error_clear(&err);
    store_close(store);
    store = NULL;
    snprintf(path, sizeof path, "%s/third.db", folder); /* damage does not travel */
    store = open_or_fail(false);
    SCOPED char *damaged = text_format("%s/other.db", folder);
    assert_false(store_merge(store, damaged, &counts, &err));
    assert_non_null(strstr(err.text, "damaged"));
    store_close(store);
    fixture_free(&f);
}

/* The checksums stored beside the rows equal those computed from the rows: for replaced rows, with -0, infinite and binary values. An older
 * bench stored none; such a run can be read. */
static void sums_are_those_of_the_rows(void **state)
{
    struct error err = {0};
    struct fixture f = {0};
    struct store *store = open_or_fail(false);
    struct merge_counts counts;
    fixture_h200(&f);
    row_add_metric(f.rows[0], -1, 0, "hw.zero", "", "cupti", -0.0);
    row_add_metric(f.rows[0], 1, 3, "hw.infinite", "\xff", "cupti", INFINITY);
    row_set(&f.rows[1]->reason, "\xfe not UTF-8");
    put_all(store, &f);
    row_add_note(f.rows[0], "once more");
    assert_true(store_put(store, f.run.id, f.rows[0], &err) && store_run_end(store, f.run.id, NULL, &err));
    assert_int_equal(number(store, "SELECT count(*) FROM seal WHERE run > 0 AND lines LIKE 'sum 1 %'"), 1);
    assert_int_equal(number(store, "SELECT count(*) FROM result WHERE sum IS NULL"), 0);
    assert_true(seal_check_all(store, &err));
    SCOPED char *before = all_of(path, &err);
    assert_true(store_exec(store, "UPDATE result SET sum = NULL; DELETE FROM seal", "", &err) && seal_missing(store, &err));
    assert_true(seal_check_all(store, &err));
    assert_true(store_exec(store, "ALTER TABLE result DROP COLUMN sum", "", &err));
    store_close(store);
    SCOPED char *older = xstrdup(path);
    snprintf(path, sizeof path, "%s/newer.db", folder);
    store = open_or_fail(false);
    assert_true(store_merge(store, older, &counts, &err) && counts.runs == 1 && seal_check_all(store, &err));
    store_close(store);
    SCOPED char *after = all_of(path, &err);
    assert_string_equal(before, after);
    fixture_free(&f);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {TEST(a_flipped_bit_is_told),          TEST(a_shared_file_as_well),
                                       TEST(a_run_without_a_number_is_told), TEST(an_unknown_format_is_damage),
                                       TEST(a_damaged_seal_is_told),         TEST(sums_are_those_of_the_rows),
                                       TEST(each_change_is_sealed)};
    return cmocka_run_group_tests_name("store_flips", tests, NULL, NULL);
}
