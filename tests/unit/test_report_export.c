/* JSON parses, says what docs/EXPORT.md says and gives every number back; CSV is quoted so that any reader finds the same cells. */
#include "base/hash.h"
#include "base/text.h"
#include "store/family.h"
#include "fixture_rows.h"
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "report/report.h"

#include <cmocka.h>

static json_t *document_of(const struct fixture *f)
{
    struct text t = {0};
    json_error_t where;
    report_json(&t, &f->run, f->rows, f->count);
    json_t *document = json_loads(text_get(&t), JSON_REJECT_DUPLICATES, &where);
    if (!document)
        fail_msg("%s at %d:%d", where.text, where.line, where.column);
    text_free(&t);
    return document;
}

/* The JSON object holds every column of the group, null where absent, equal otherwise. */
static void same_group(const json_t *object, enum column_group group, const void *base)
{
    for (const struct column *c = columns; c->name; c++) {
        if (c->group != group || strcmp(c->name, "environment") == 0)
            continue;
        const json_t *j = json_object_get(object, c->name);
        struct column_value v = column_get(c, base);
        if (!j || v.absent != json_is_null(j))
            fail_msg("%s: absent %d in the row", c->name, v.absent);
        else if (!v.absent && v.text)
            assert_string_equal(json_string_value(j), v.text);
        else if (!v.absent && v.is_real)
            assert_true(json_number_value(j) == v.real); /* to the last bit */
        else if (!v.absent && c->type == COLUMN_BOOL)
            assert_int_equal(json_boolean_value(j), v.integer != 0);
        else if (!v.absent && c->type != COLUMN_UINT64)
            assert_int_equal(json_integer_value(j), v.integer);
    }
}

/* Who adds, renames or takes away a column raises EXPORT_VERSION and says so in docs/EXPORT.md; then the hash is changed here. */
static void columns_are_those_of_the_version(void **state)
{
    (void)state;
    struct text names = {0};
    char hash[HASH_TEXT];
    for (const struct column *c = columns; c->name; c++)
        text_addf(&names, "%d %s;", c->group, c->name);
    hash_bytes(text_get(&names), names.len, hash);
    hash[8] = 0;
    text_free(&names);
    assert_string_equal(hash, "d1222f99"); /* of 2.12.0 */
}

static void json_round_trips(void **state)
{
    struct fixture f = {0};
    fixture_h200(&f);
    f.rows[0]->times[0].median_ns = 154700.0 / 3;
    f.rows[0]->times[0].samples_ns = xcalloc((size_t)f.rows[0]->times[0].rounds, sizeof(double));
    f.rows[0]->times[0].samples_ns[41] = 0.1 + 0.2;
    json_t *document = document_of(&f);
    assert_string_equal(json_string_value(json_object_get(document, "schema")), "bench.rows");
    assert_string_equal(json_string_value(json_object_get(document, "version")), "2.12.0");
    same_group(json_object_get(document, "run"), COLUMN_RUN, &f.run);
    assert_string_equal(json_string_value(json_object_get(json_object_get(json_object_get(document, "run"), "environment"), "cudnn")),
                        "cudnn 9.19.0");
    json_t *rows = json_object_get(document, "rows");
    assert_int_equal(json_array_size(rows), f.count);
    for (int i = 0; i < f.count; i++) {
        const json_t *row = json_array_get(rows, (size_t)i);
        same_group(row, COLUMN_CASE, f.rows[i]);
        same_group(row, COLUMN_RESULT, f.rows[i]);
        for (int k = 0; k < f.rows[i]->step_count; k++)
            same_group(json_array_get(json_object_get(row, "steps"), (size_t)k), COLUMN_STEP, &f.rows[i]->steps[k]);
        for (int k = 0; k < f.rows[i]->time_count; k++)
            same_group(json_array_get(json_object_get(row, "times"), (size_t)k), COLUMN_TIME, &f.rows[i]->times[k]);
        for (int k = 0; k < f.rows[i]->metric_count; k++)
            same_group(json_array_get(json_object_get(row, "metrics"), (size_t)k), COLUMN_METRIC, &f.rows[i]->metrics[k]);
        assert_int_equal(json_array_size(json_object_get(row, "steps")), f.rows[i]->step_count);
    }
    const json_t *samples = json_object_get(json_array_get(json_object_get(json_array_get(rows, 0), "times"), 0), "samples_ns");
    assert_int_equal(json_array_size(samples), 42);
    assert_true(json_real_value(json_array_get(samples, 41)) == 0.1 + 0.2);
    json_decref(document);
    fixture_free(&f);
}

/* The verdict, every rule behind it, and a time breakdown that adds up to the row's time. */
static void json_says_why(void **state)
{
    struct fixture f = {0};
    fixture_h200(&f);
    row_set(&f.rows[4]->steps[0].name, "bad \xff name");
    fixture_step(f.rows[4], "worse \xfe", 20, 0, 0, 0.5, "regs");
    fixture_time(f.rows[4], 0, 30, 0, 0, 0, 0);
    fixture_time(f.rows[4], 1, 5, 0, 0, 0, 0);
    json_t *document = document_of(&f);
    int known = 0, bound = 0;
    for (int i = 0; i < f.count; i++) {
        const json_t *row = json_array_get(json_object_get(document, "rows"), (size_t)i), *why = json_object_get(row, "why"),
                     *breakdown = json_object_get(why, "breakdown");
        const char *bottleneck = json_string_value(json_object_get(why, "bottleneck"));
        const json_t *first = json_array_get(json_object_get(why, "rules"), 0);
        assert_true(bottleneck ? !strcmp(bottleneck, json_string_value(json_object_get(first, "bottleneck"))) : !first);
        bound += bottleneck != NULL;
        if (json_is_null(breakdown))
            continue;
        double sum = 0;
        for (size_t k = 0; k < json_array_size(breakdown); k++) {
            sum += json_number_value(json_object_get(json_array_get(breakdown, k), "ns"));
            assert_true(json_is_string(json_object_get(json_array_get(breakdown, k), "what")));
        }
        assert_true(json_array_size(breakdown) > 0 && fabs(sum - row_time(f.rows[i], MODE_COLD)->median_ns) < 1e-3);
        known++;
    }
    assert_true(known == 29 && bound > 20); /* every verified row */
    json_decref(document);
    fixture_free(&f);
}

static void json_takes_hostile_text(void **state)
{
    struct fixture f = {0};
    fixture_emu(&f);
    row_set(&f.rows[0]->reason, "\"quote\" \\ \x01 \xff\xfe \xc3 \xed\xa0\x80 </script> \xe2\x82\xac");
    f.rows[1]->times = NULL;
    row_add_member(f.rows[1], FAMILY_EMU, -1, 0, "inf", "", "emu", INFINITY);
    f.run.seed = UINT64_MAX;
    row_set(&f.run.environment, "not JSON");
    json_t *document = document_of(&f);
    const json_t *row = json_array_get(json_object_get(document, "rows"), 0);
    assert_string_equal(
        json_string_value(json_object_get(row, "reason")),
        "\"quote\" \\ \x01 \xef\xbf\xbd\xef\xbf\xbd \xef\xbf\xbd \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd </script> \xe2\x82\xac");
    const json_t *metrics = json_object_get(json_array_get(json_object_get(document, "rows"), 1), "metrics");
    const json_t *last = json_array_get(metrics, json_array_size(metrics) - 1);
    assert_string_equal(json_string_value(json_object_get(last, "metric")), "emu.inf");
    assert_true(json_is_null(json_object_get(last, "value"))); /* there, and not known */
    assert_string_equal(json_string_value(json_object_get(json_object_get(document, "run"), "seed")), "18446744073709551615");
    json_decref(document);
    fixture_free(&f);
}

/* A reader of RFC 4180: the cells of one record; returns the rest. */
static const char *read_record(const char *p, char cells[][512], int *count)
{
    *count = 0;
    for (;;) {
        size_t n = 0;
        bool quoted = *p == '"';
        p += quoted;
        while (*p && (quoted ? !(*p == '"' && p[1] != '"') : *p != ',' && *p != '\r')) {
            p += quoted && *p == '"';
            assert_true(n < 511);
            cells[*count][n++] = *p++;
        }
        cells[(*count)++][n] = '\0';
        p += quoted;
        if (*p != ',')
            break;
        p++;
    }
    assert_true(p[0] == '\r' && p[1] == '\n');
    return p + 2;
}

static void csv_is_quoted(void **state)
{
    struct fixture f = {0};
    struct text t = {0};
    static char heads[256][512], cells[256][512];
    int head_count, count;
    fixture_emu(&f);
    row_set(&f.rows[0]->reason, "a, \"b\"\r\nc");
    report_csv(&t, &f.run, f.rows, f.count);
    const char *p = read_record(text_get(&t), heads, &head_count);
    for (int i = 0; i < f.count; i++) {
        p = read_record(p, cells, &count);
        assert_int_equal(count, head_count);
        for (int k = 0; k < count; k++)
            if (strcmp(heads[k], "id") == 0)
                assert_string_equal(cells[k], f.rows[i]->id);
            else if (strcmp(heads[k], "reason") == 0)
                assert_string_equal(cells[k], f.rows[i]->reason ? f.rows[i]->reason : "");
            else if (strcmp(heads[k], "registers") == 0) /* absent is empty, not 0 */
                assert_string_equal(cells[k], i == 0 ? "" : i == 1 ? "105" : "64");
            else if (strcmp(heads[k], "emu.warp_fma") == 0)
                assert_string_equal(cells[k], i == 0 ? "" : i == 1 ? "2654208" : "3538944");
            else if (strcmp(heads[k], "st_sect_req") == 0)
                assert_string_equal(cells[k], i == 0 ? "" : "16");
    }
    assert_string_equal(p, "");
    text_free(&t);
    fixture_free(&f);
}

/* Totals are the row's own counter, else the sum over its timed steps. */
static void csv_sums_steps(void **state)
{
    struct fixture f = {0};
    struct text t = {0};
    static char heads[256][512], cells[256][512];
    int count, found = 0;
    fixture_run(&f.run, "s", "emu:GH100", "emu");
    struct row *r = fixture_row(&f, 0, "l", "", "conv2d", "conv2d/two", "", ROW_OK);
    fixture_step(r, "prepare", 1, 0, 0, 1, "warps")->prepare = true;
    fixture_step(r, "a", 1, 0, 0, 1, "warps");
    fixture_step(r, "b", 2, 0, 0, 1, "warps");
    for (int s = 0; s < 3; s++)
        row_add_member(r, FAMILY_WARP, s, 0, "instructions", "", "emu", s == 1 ? 1000 : 30);
    report_csv(&t, &f.run, f.rows, f.count);
    read_record(read_record(text_get(&t), heads, &count), cells, &count);
    for (int k = 0; k < count; k++) {
        if (strcmp(heads[k], "emu.warp_instructions") == 0) {
            assert_string_equal(cells[k], "1030");
            found++;
        } else if (strcmp(heads[k], "step") == 0) { /* the longest by instructions stands for the row */
            assert_string_equal(cells[k], "a");
            found++;
        }
    }
    assert_int_equal(found, 2);
    text_free(&t);
    fixture_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_those_of_the_version), cmocka_unit_test(json_round_trips), cmocka_unit_test(json_says_why),
        cmocka_unit_test(json_takes_hostile_text),          cmocka_unit_test(csv_is_quoted),    cmocka_unit_test(csv_sums_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
