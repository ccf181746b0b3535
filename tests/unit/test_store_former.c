/* store/former: a database of schema 8 (golden/store_v8.sql) becomes one of this schema: what was text is fields and lists, once; and the
 * two kinds are merged with each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "store/family.h"
#include "store_helpers.h"

static void former_at(const char *name)
{
    struct error err = {0};
    size_t bytes;
    char *script = file_read("tests/unit/golden/store_v8.sql", 1 << 20, &bytes, &err);
    sqlite3 *db;
    if (!script)
        fail_msg("%s", err.text);
    assert_int_equal(sqlite3_open(name, &db), SQLITE_OK);
    if (sqlite3_exec(db, script, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s", sqlite3_errmsg(db));
    sqlite3_close(db);
    free(script);
}

static const struct row *row_of(struct row *const *rows, int count, const char *id)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(rows[i]->id, id))
            return rows[i];
    fail_msg("no row %s", id);
    return NULL;
}

static void check_library(const struct row *r)
{
    assert_true(r->library && r->cropped);
    assert_int_equal(r->engine_number, 41);
    assert_int_equal(r->launched, 2);
    assert_int_equal(r->launch_count, 2);
    const struct row_launch *l = &r->launches[1];
    assert_string_equal(l->name, "sm90_xmma");
    assert_true(l->step == 0 && l->ns == 142655 && l->gap_ns == -700 && isnan(r->launches[0].gap_ns));
    assert_true(l->registers == 168 && l->dynamic_smem == 231424 && l->grid[0] == 15 && l->grid[1] == 8 && l->block[0] == 384);
    assert_int_equal(r->plan_count, 2);
    assert_true(r->plans[0].engine == 41 && !strcmp(r->plans[0].heuristic, "A") && r->plans[0].rank == 0);
    assert_true(r->plans[1].engine == 7 && !strcmp(r->plans[1].heuristic, "F") && r->plans[1].rank == 2 && r->plans[1].step == -1);
    assert_true(r->plans[0].median_ns == 145000 && r->plans[1].median_ns == 151000.5);
    assert_null(row_metric(r, -1, "cudnn.plan0_engine41_A0_ns"));
    assert_true(row_metric(r, -1, "cudnn.planned")->value == 3); /* a variant's own column stays */
    assert_true(r->times[0].rounds == 3 && r->times[0].samples_ns && r->times[0].samples_ns[0] == 145000);
}

static void check_rows(const char *name, int64_t run)
{
    struct error err = {0};
    struct store *store = NULL;
    struct row **rows;
    if (!store_open(name, true, &store, &err))
        fail_msg("%s", err.text);
    int count = store_rows(store, run, &rows, &err);
    assert_int_equal(count, 7);
    check_library(row_of(rows, count, "former/head@8x8/conv2d/cudnn"));
    const struct row *r = row_of(rows, count, "former/head@8x8/conv2d/naive[BLOCK=16]");
    assert_string_equal(r->twin, "former/head@8x8/conv2d/naive[BLOCK=8]");
    assert_int_equal(r->param_count, 1);
    assert_string_equal(row_pair_value(r->param, r->param_count, "BLOCK"), "16");
    assert_string_equal(r->params, "BLOCK=16");
    assert_true(!r->library && r->launched == -1 && r->launch_count == 0 && r->network_count == 1);
    r = row_of(rows, count, "former/head@8x8[mask=iid:0.25]/conv2d/cudnn");
    assert_string_equal(row_axis(r, "mask"), "iid:0.25");
    assert_string_equal(r->mask_pattern, "iid");
    assert_true(r->mask_seed == 1 && r->mask_radius == -1);
    assert_int_equal(r->axis_count, 1);
    r = row_of(rows, count, "former/up@8x8/conv2d/naive[BLOCK=16]");
    assert_int_equal(r->launched, 0); /* traced, and it launched none */
    assert_int_equal(r->part_count, 2);
    assert_string_equal(r->parts[0].variant, "conv2d/naive");
    assert_string_equal(r->parts[1].variant, "depth_to_space/d2s_native");
    assert_int_equal(r->network_count, 2); /* what was no "name:runs" is none */
    assert_true(!strcmp(r->network[0].name, "x2") && r->network[0].runs == 1);
    assert_true(!strcmp(r->network[1].name, "x16") && r->network[1].runs == 2);
    r = row_of(rows, count, "former/x2@8x8/chain/library[launch=stream]");
    assert_string_equal(row_pair_value(r->param, r->param_count, "launch"), "stream");
    rows_free(rows, count);
    struct run of = {0};
    assert_true(store_run(store, run, &of, &err));
    assert_string_equal(of.verb, "run");
    assert_string_equal(of.asked_variants, "-V my=k -V other=o.cu");
    assert_string_equal(of.asked_device, "emu");
    assert_string_equal(of.asked_out, "out");
    run_clear(&of);
    store_close(store);
}

static void text_becomes_fields(void **state)
{
    struct error err = {0};
    former_at(path);
    check_rows(path, 1); /* a report that only reads brings it up to date */
    struct store *store = open_or_fail(false);
    int64_t count = -1;
    assert_true(store_integer(store, "PRAGMA user_version", &count, &err));
    assert_int_equal(count, schema_version());
    assert_true(store_integer(store, "SELECT count(*) FROM pragma_foreign_key_check", &count, &err));
    assert_int_equal(count, 0);
    assert_true(store_integer(store, "SELECT count(*) FROM pragma_table_info('result') WHERE name = 'kernels'", &count, &err));
    assert_int_equal(count, 0);
    assert_true(store_exec(store, "DELETE FROM run", "emptying it", &err)); /* the new table of results is still everybody's parent */
    assert_true(store_integer(store, "SELECT (SELECT count(*) FROM result) + (SELECT count(*) FROM kernel) + (SELECT count(*) FROM axis)",
                              &count, &err));
    assert_int_equal(count, 0);
    store_close(store);
}

static void merge_one(const char *into, const char *from)
{
    struct error err = {0};
    struct merge_counts counts;
    struct store *store = NULL;
    if (!store_open(into, false, &store, &err) || !store_merge(store, from, &counts, &err))
        fail_msg("%s", err.text);
    assert_int_equal(counts.runs, 1);
    assert_int_equal(counts.rows, 7);
    store_close(store);
}

static void former_and_present_are_merged(void **state)
{
    char other[160], third[160];
    struct fixture f = {0};
    snprintf(other, sizeof other, "%s/other.db", folder);
    snprintf(third, sizeof third, "%s/third.db", folder);
    former_at(other);
    fixture_h200(&f);
    struct store *store = open_or_fail(false);
    put_all(store, &f);
    store_close(store);
    fixture_free(&f);
    merge_one(path, other); /* into a present one */
    check_rows(path, 2);
    former_at(third);
    struct error err = {0};
    struct merge_counts counts;
    if (!store_open(third, false, &store, &err) || !store_merge(store, path, &counts, &err))
        fail_msg("%s", err.text);
    assert_int_equal(counts.runs, 1); /* into a former one: its own run is known again */
    assert_int_equal(counts.runs_known, 1);
    store_close(store);
    check_rows(third, 1);
}

/* A column that the database lacks is added when it is opened, by a reader too: one line in fields.def needs no migration. */
static void a_new_column_is_added(void **state)
{
    struct error err = {0};
    struct fixture f = {0};
    int64_t count;
    struct store *store = open_or_fail(false);
    fixture_h200(&f);
    put_all(store, &f);
    assert_true(store_exec(store, "DROP VIEW row; ALTER TABLE result DROP COLUMN note; ALTER TABLE timing DROP COLUMN p95_ns", "", &err));
    store_close(store);
    for (int read_only = 1; read_only >= 0; read_only--) {
        struct row **rows;
        store = open_or_fail(read_only);
        assert_int_equal(store_rows(store, f.run.id, &rows, &err), f.count);
        assert_null(rows[0]->note);
        assert_true(isnan(rows[0]->times[0].p95_ns));
        rows_free(rows, f.count);
        assert_true(store_integer(store, "SELECT count(*) FROM row WHERE note IS NULL", &count, &err));
        assert_true(count >= f.count);
        store_close(store);
    }
    fixture_free(&f);
}

/* Two builds of one variant stand in one run. */
static void sides_stand_beside_each_other(void **state)
{
    struct error err = {0};
    struct fixture f = {0};
    struct row **rows;
    struct store *store = open_or_fail(false);
    fixture_h200(&f);
    put_all(store, &f);
    struct row *r = f.rows[1];
    row_set(&r->side, "head");
    row_set(&r->side_revision, "1a2b3c4");
    assert_true(store_put(store, f.run.id, r, &err));
    assert_true(store_put(store, f.run.id, r, &err)); /* the same again replaces it */
    int count = store_rows(store, f.run.id, &rows, &err), same = 0, head = 0;
    assert_int_equal(count, f.count + 1);
    for (int i = 0; i < count; i++) {
        same += !strcmp(rows[i]->id, r->id);
        head += rows[i]->side && !strcmp(rows[i]->side, "head") && !strcmp(rows[i]->side_revision, "1a2b3c4");
    }
    assert_int_equal(same, 2);
    assert_int_equal(head, 1);
    rows_free(rows, count);
    store_close(store);
    fixture_free(&f);
}

/* Schema 9 knew a mask's pattern, radius and seed only as the value of its axis. */
static void masks_of_schema_9(void **state)
{
    static const struct {
        const char *axes, *pattern;
        int radius, seed;
    } masks[] = {{"mask=blobs24:0.10:3", "blobs", 24, 3}, {"mask=iid:0.25", "iid", -1, 1},      {"mask=full", "full", -1, -1},
                 {"mask=pixel:7", "pixel", -1, 7},        {"mask=pixel", "pixel", -1, 1},       {"mask=none", NULL, -1, -1},
                 {"mask=file:a/b.png", "file", -1, -1},   {"n=4,mask=box:0.1:2", "box", -1, 2}, {"n=4", NULL, -1, -1}};
    enum { MASKS = sizeof masks / sizeof *masks };
    struct error err = {0};
    struct fixture f = {0};
    struct row **rows;
    int64_t count;
    struct store *store = open_or_fail(false);
    fixture_run(&f.run, "masks", "cuda:0", "GPU");
    for (int i = 0; i < MASKS; i++)
        fixture_row(&f, i, "body", masks[i].axes, "conv2d", "cudnn", "", ROW_OK);
    put_all(store, &f);
    assert_true(store_exec(store, "UPDATE \"case\" SET mask_pattern = NULL, mask_radius = NULL, mask_seed = NULL; PRAGMA user_version = 9",
                           "test", &err));
    store_close(store);
    store = open_or_fail(false);
    assert_true(store_integer(store, "PRAGMA user_version", &count, &err));
    assert_int_equal(count, schema_version());
    assert_int_equal(store_rows(store, f.run.id, &rows, &err), MASKS);
    for (int i = 0; i < MASKS; i++) {
        const char *pattern = rows[i]->mask_pattern;
        if (pattern && masks[i].pattern ? strcmp(pattern, masks[i].pattern) != 0 : pattern != masks[i].pattern)
            fail_msg("%s: pattern %s", masks[i].axes, pattern);
        assert_int_equal(rows[i]->mask_radius, masks[i].radius);
        assert_int_equal(rows[i]->mask_seed, masks[i].seed);
    }
    rows_free(rows, MASKS);
    store_close(store);
    fixture_free(&f);
}

/* The product was the first word of what the device says of itself, the epilogue a word of the work. */
static void words_become_columns(void **state)
{
    static const char bare[] = "conv2d 64->64 3x3  1x8x16 f16";
    struct error err = {0};
    struct fixture f = {0};
    struct row **rows;
    struct run run = {0};
    struct store *store = open_or_fail(false);
    fixture_run(&f.run, "words", "cuda:0", "NVIDIA H200 \302\267 driver 580 \302\267 132 SMs");
    fixture_row(&f, 0, "bare", "", bare, "cudnn", "", ROW_OK);
    fixture_row(&f, 1, "both", "", "conv2d 64->64 3x3 +bias+relu  1x8x16 f16", "cudnn", "", ROW_OK);
    put_all(store, &f);
    assert_true(store_exec(store, "UPDATE run SET product = NULL; PRAGMA user_version = 10", "test", &err));
    store_close(store);
    store = open_or_fail(false);
    assert_true(store_run(store, f.run.id, &run, &err));
    assert_string_equal(run.product, "NVIDIA H200");
    assert_int_equal(store_rows(store, f.run.id, &rows, &err), 2);
    assert_true(!rows[0]->epilogue && !rows[0]->bare_work);
    assert_string_equal(rows[1]->epilogue, "bias+relu");
    assert_string_equal(rows[1]->bare_work, bare);
    rows_free(rows, 2);
    run_clear(&run);
    store_close(store);
    fixture_free(&f);
}

/* All notes of a row were one text, in which "; " may also stand inside of one; a reason's clause was what stood before its values. */
static void notes_become_a_list(void **state)
{
    struct error err = {0};
    struct fixture f = {0};
    struct row **rows;
    struct store *store = open_or_fail(false);
    fixture_run(&f.run, "notes", "cuda:0", "GPU");
    for (int i = 0; i < 3; i++)
        fixture_row(&f, i, "body", "", "conv2d", i ? "ours" : "cudnn", i ? i > 1 ? "T=2" : "T=1" : "", ROW_OK);
    row_add_note(f.rows[0], "tuned; stale");
    row_add_note(f.rows[0], "guessed");
    row_add_note(f.rows[1], "slow");
    f.rows[2]->status = ROW_INFEASIBLE;
    row_set(&f.rows[2]->reason, "needs c % 4 == 0 (c = 3)");
    put_all(store, &f);
    assert_true(store_exec(store, "DROP TABLE note; PRAGMA user_version = 11", "test", &err));
    store_close(store);
    store = open_or_fail(false);
    assert_int_equal(store_rows(store, f.run.id, &rows, &err), 3);
    assert_string_equal(rows[0]->note, "tuned; stale; guessed");
    assert_int_equal(rows[0]->note_count, 1);
    assert_string_equal(rows[0]->notes[0].text, rows[0]->note);
    row_add_note(rows[1], "slow");
    assert_string_equal(rows[1]->note, "slow");
    assert_true(!rows[2]->note && !rows[2]->note_count && !rows[1]->clause);
    assert_string_equal(rows[2]->clause, "needs c % 4 == 0");
    rows_free(rows, 3);
    store_close(store);
    fixture_free(&f);
}

/* What a metric is one of was told by how its name begins, a case's own name stood behind its scenario's. */
static void names_become_fields(void **state)
{
    static const struct {
        const char *name, *family;
    } of[] = {
        {"hw.sm_busy", "hw"},         {"hw.stall_long_scoreboard", "stall"}, {"hw.samples", "hw"},       {"hw.samples_wait", "samples"},
        {"hw.samples_dropped", "hw"}, {"hw.executed_lanes", "executed"},     {"emu.warp_fma", "warp"},   {"emu.barriers", "emu"},
        {"static.sass_mma", "sass"},  {"static.barriers", "static"},         {"model.roof_ns", "model"}, {"chain.steps_ns", NULL}};
    enum { COUNT = sizeof of / sizeof *of };
    struct error err = {0};
    struct fixture f = {0};
    struct row **rows;
    struct store *store = open_or_fail(false);
    fixture_run(&f.run, "families", "cuda:0", "GPU");
    fixture_row(&f, 0, "body", "", "conv2d", "ours", "", ROW_OK);
    for (int i = 0; i < COUNT; i++)
        row_add_metric(f.rows[0], -1, 0, of[i].name, "", "cupti", i);
    put_all(store, &f);
    assert_true(store_exec(store, "UPDATE \"case\" SET case_name = NULL; PRAGMA user_version = 12", "test", &err));
    store_close(store);
    store = open_or_fail(false);
    assert_int_equal(store_rows(store, f.run.id, &rows, &err), 1);
    assert_int_equal(rows[0]->metric_count, COUNT);
    assert_string_equal(rows[0]->case_name, "body");
    for (int i = 0; i < COUNT; i++) {
        const struct row_metric *m = row_metric(rows[0], -1, of[i].name);
        assert_string_equal(m->family, of[i].family ? of[i].family : "");
    }
    assert_true(metric_is(row_metric(rows[0], -1, "hw.stall_long_scoreboard"), FAMILY_HARDWARE));
    assert_string_equal(metric_word(row_metric(rows[0], -1, "hw.stall_long_scoreboard"), FAMILY_STALL), "long_scoreboard");
    assert_false(metric_is(row_metric(rows[0], -1, "hw.samples"), FAMILY_SAMPLES));
    assert_false(metric_is(row_metric(rows[0], -1, "chain.steps_ns"), FAMILY_MODEL));
    rows_free(rows, 1);
    store_close(store);
    fixture_free(&f);
}

/* The numbers of axes and parameters stood only in their texts. */
static void values_become_numbers(void **state)
{
    static const struct {
        const char *text;
        double number; /* NaN: a word */
    } of[] = {{"4", 4},      {"-1", -1},   {"0.25", 0.25}, {"1e-3", 1e-3}, {"blobs24:0.10:3", NAN}, {"3x5", NAN}, {"NHWC", NAN},
              {"0x10", NAN}, {"nan", NAN}, {"1e999", NAN}, {"", NAN}};
    enum { COUNT = sizeof of / sizeof *of };
    struct error err = {0};
    struct fixture f = {0};
    struct row **rows;
    struct store *store = open_or_fail(false);
    fixture_run(&f.run, "numbers", "cuda:0", "GPU");
    for (int i = 0; i < COUNT; i++) {
        const char layer[] = {(char)('a' + i), 0};
        fixture_row(&f, i, layer, "", "conv2d", "ours", "", ROW_OK);
        row_add_axis(f.rows[i], "n", of[i].text, NAN);
        row_add_param(f.rows[i], "T", "word", NAN);
        row_add_param(f.rows[i], "U", of[i].text, NAN);
    }
    put_all(store, &f);
    assert_true(store_exec(store,
                           "ALTER TABLE axis DROP COLUMN axis_number; ALTER TABLE param DROP COLUMN param_number; PRAGMA user_version = 13",
                           "test", &err));
    store_close(store);
    for (int pass = 0; pass < 2; pass++) { /* migrated, and as it then is */
        store = open_or_fail(pass == 0);
        assert_int_equal(store_rows(store, f.run.id, &rows, &err), COUNT);
        for (int i = 0; i < COUNT; i++) {
            const struct row_pair of_row[] = {rows[i]->axis[0], rows[i]->param[1]};
            for (int k = 0; k < 2; k++) {
                assert_string_equal(of_row[k].value, of[i].text);
                assert_true(isnan(of[i].number) ? isnan(of_row[k].number) : of_row[k].number == of[i].number);
            }
            assert_true(isnan(rows[i]->param[0].number));
        }
        rows_free(rows, COUNT);
        store_close(store);
    }
    fixture_free(&f);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(text_becomes_fields),  TEST(former_and_present_are_merged), TEST(a_new_column_is_added), TEST(sides_stand_beside_each_other),
        TEST(masks_of_schema_9),    TEST(words_become_columns),          TEST(notes_become_a_list),   TEST(names_become_fields),
        TEST(values_become_numbers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
