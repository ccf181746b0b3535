/* store/former: what schemas before 9 (masks: before 10; product and epilogue: before 11; notes and clauses: before 12; families of
 * metrics, names of cases: before 13; numbers of axes and parameters: before 14) kept as text becomes fields and lists, once, when such a
 * database is opened. Nothing else reads that text. */
#include "store/database.h"
#include "store/family.h"
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "n=4,mask=iid:0.1": a value has no comma. */
static void take_pairs(struct row *row, char *text, void (*add)(struct row *row, const char *name, const char *value, double number))
{
    for (char *one; (one = strsep(&text, ","));) {
        char *value = strchr(one, '=');
        if (!value || value == one)
            continue;
        *value = 0;
        add(row, one, value + 1, NAN); /* former_numbers comes behind */
    }
}

/* "edsr_x2:16, x4:1" */
static void take_networks(struct row *row, char *text)
{
    for (char *one; (one = strsep(&text, ","));) {
        char *name = one + strspn(one, " "), *runs = strrchr(name, ':'), *end;
        long long count = runs ? strtoll(runs + 1, &end, 10) : 0;
        if (count > 0 && !*end && runs > name) {
            *runs = 0;
            row_add_network(row, name, count);
        }
    }
}

/* "conv2d/cudnn + pointwise/epilogue" */
static void take_parts(struct row *row, const char *text)
{
    for (const char *plus; *text; text = plus ? plus + 3 : text + strlen(text)) {
        plus = strstr(text, " + ");
        SCOPED char *one = xstrndup(text, plus ? (size_t)(plus - text) : strlen(text));
        row_add_part(row, one, one + (strchr(one, '/') ? strcspn(one, "/") + 1 : 0));
    }
}

static int number_of(const json_t *kernel, const char *name)
{
    const json_t *j = json_object_get(kernel, name);
    return json_is_integer(j) && json_integer_value(j) >= 0 && json_integer_value(j) <= INT32_MAX ? (int)json_integer_value(j) : -1;
}

/* The kernels that CUPTI saw, as a JSON list. */
static void take_kernels(struct row *row, const char *text)
{
    json_t *all = json_loads(text, 0, NULL), *one;
    size_t i;
    row->launched = json_is_array(all) ? (int)json_array_size(all) : -1;
    json_array_foreach(all, i, one)
    {
        struct row_launch *l = row_add_launch(row);
        const json_t *ns = json_object_get(one, "ns"), *gap = json_object_get(one, "gap_ns");
        row_set(&l->name, json_string_value(json_object_get(one, "name")));
        l->step = number_of(one, "step");
        l->ns = json_is_number(ns) ? json_number_value(ns) : l->ns;
        l->gap_ns = json_is_number(gap) ? json_number_value(gap) : l->gap_ns;
        l->registers = number_of(one, "registers");
        l->static_smem = number_of(one, "static_smem");
        l->dynamic_smem = number_of(one, "dynamic_smem");
        for (size_t k = 0; k < 3; k++) {
            const json_t *grid = json_array_get(json_object_get(one, "grid"), k), *block = json_array_get(json_object_get(one, "block"), k);
            l->grid[k] = json_is_integer(grid) ? json_integer_value(grid) : -1;
            l->block[k] = json_is_integer(block) ? json_integer_value(block) : -1;
        }
    }
    json_decref(all);
}

/* cuDNN's plans were metrics with their facts in the name. */
static bool take_plans(struct store *store, int64_t result, struct row *row, struct error *err)
{
    SCOPED_BY(store_finalize) sqlite3_stmt *s = NULL;
    int code = SQLITE_DONE;
    bool done = store_prepare(store,
                              "SELECT metric_step, metric, value FROM metric WHERE result = ?1 AND metric GLOB 'cudnn.plan[0-9]*' ORDER BY "
                              "metric_index",
                              &s, err);
    if (done)
        sqlite3_bind_int64(s, 1, result);
    while (done && (code = sqlite3_step(s)) == SQLITE_ROW) {
        int plan, engine, rank;
        char heuristic;
        const char *name = (const char *)sqlite3_column_text(s, 1);
        if (sscanf(name, "cudnn.plan%d_engine%d_%c%d_ns", &plan, &engine, &heuristic, &rank) != 4)
            continue;
        struct row_plan *p = row_add_plan(row);
        p->step = sqlite3_column_int(s, 0);
        p->engine = engine;
        p->heuristic[0] = heuristic;
        p->rank = rank;
        p->median_ns = sqlite3_column_double(s, 2);
    }
    done = done && (code == SQLITE_DONE || store_error(store, "migrating", err));
    return done;
}

#define TWIN "the same launches of the same machine code as "

static void take_result(struct row *row, char *params, const char *reason)
{
    const char *own = row->part_count ? row->parts[0].variant : "", *base = strrchr(own, '/');
    row->library = !strncmp(base ? base + 1 : own, "cudnn", 5);
    if (row->engine && !strncmp(row->engine, "engine ", 7))
        row->engine_number = atoi(row->engine + 7);
    if (reason && !strncmp(reason, TWIN, strlen(TWIN)))
        row->twin = text_format("%s/%s[%s]", row->case_id, own, reason + strlen(TWIN));
    take_pairs(row, params, row_add_param);
}

static char *text_at(sqlite3_stmt *s, int column)
{
    const char *text = (const char *)sqlite3_column_text(s, column);
    return xstrdup(text ? text : "");
}

static bool put_fields(struct store *store, int64_t result, const struct row *row, struct error *err)
{
    SCOPED_BY(store_finalize) sqlite3_stmt *s = NULL;
    bool done =
        store_prepare(store, "UPDATE result SET library = ?2, twin = ?3, engine_number = ?4, launched = ?5 WHERE result = ?1", &s, err);
    if (done) {
        sqlite3_bind_int64(s, 1, result);
        sqlite3_bind_int(s, 2, row->library);
        if (row->twin)
            sqlite3_bind_text(s, 3, row->twin, -1, SQLITE_TRANSIENT);
        if (row->engine_number >= 0)
            sqlite3_bind_int(s, 4, row->engine_number);
        if (row->launched >= 0)
            sqlite3_bind_int(s, 5, row->launched);
        done = sqlite3_step(s) == SQLITE_DONE || store_error(store, "migrating", err);
    }
    return done;
}

/* One row of former times; its texts are in the columns of `s`. */
static bool fill_row(struct store *store, sqlite3_stmt *s, struct error *err)
{
    int64_t result = sqlite3_column_int64(s, 0);
    struct row *row = row_new();
    enum { CASE_ID = 1, AXES, NETWORKS, VARIANT, PARAMS, REASON, ENGINE, KERNELS, TEXTS };
    char *texts[TEXTS];
    for (int i = 1; i < TEXTS; i++)
        texts[i] = text_at(s, i);
    row_set(&row->case_id, texts[CASE_ID]);
    row_set(&row->engine, texts[ENGINE]);
    take_pairs(row, texts[AXES], row_add_axis);
    take_networks(row, texts[NETWORKS]);
    take_parts(row, texts[VARIANT]);
    take_result(row, texts[PARAMS], texts[REASON]);
    if (texts[KERNELS][0])
        take_kernels(row, texts[KERNELS]);
    bool done = take_plans(store, result, row, err) && put_fields(store, result, row, err);
    for (const struct row_list *l = row_lists; done && l->table; l++)
        done = rows_put_list(store, l, result, row, err);
    for (int i = 1; i < TEXTS; i++)
        free(texts[i]);
    row_free(row);
    return done;
}

static bool fill_rows(struct store *store, struct error *err)
{
    SCOPED_BY(store_finalize) sqlite3_stmt *s = NULL;
    int code = SQLITE_DONE;
    bool done = store_prepare(store,
                              "SELECT result, \"case\", axes, networks, variant, params, reason, engine, kernels FROM result JOIN \"case\" "
                              "USING (case_key) ORDER BY result",
                              &s, err);
    while (done && (code = sqlite3_step(s)) == SQLITE_ROW)
        done = fill_row(store, s, err);
    done = done && (code == SQLITE_DONE || store_error(store, "migrating", err));
    return done;
}

/* The options of a command line that another command needs to find the same rows. */
static void take_argv(struct run *run, char *argv)
{
    static const struct {
        const char *letter, *name;
        size_t offset;
    } options[] = {{"-V", "--variants", offsetof(struct run, asked_variants)},
                   {"-d", "--device", offsetof(struct run, asked_device)},
                   {"-o", "--out", offsetof(struct run, asked_out)}};
    char *rest = argv;
    strsep(&rest, " ");
    row_set(&run->verb, strsep(&rest, " "));
    for (char *word; (word = strsep(&rest, " "));)
        for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
            size_t n = strlen(options[i].name);
            char *value = !strcmp(word, options[i].letter) || !strcmp(word, options[i].name) ? strsep(&rest, " ")
                          : !strncmp(word, options[i].name, n) && word[n] == '='             ? word + n + 1
                                                                                             : NULL;
            if (value) {
                char **field = (char **)(void *)((char *)run + options[i].offset);
                struct text t = {0};
                if (i == 0)
                    text_addf(&t, "%s%s-V ", *field ? *field : "", *field ? " " : "");
                text_add_word(&t, value);
                free(*field);
                *field = text_take(&t);
                break;
            }
        }
}

static bool fill_runs(struct store *store, struct error *err)
{
    SCOPED_BY(runs_free) struct runs runs = {0};
    SCOPED_BY(store_finalize) sqlite3_stmt *s = NULL;
    bool done =
        store_runs(store, &runs, err) &&
        store_prepare(store, "UPDATE run SET verb = ?2, asked_variants = ?3, asked_device = ?4, asked_out = ?5 WHERE run = ?1", &s, err);
    for (int i = 0; i < runs.count && done; i++) {
        struct run *run = &runs.items[i];
        if (!run->argv)
            continue;
        take_argv(run, run->argv);
        const char *const texts[] = {run->verb, run->asked_variants, run->asked_device, run->asked_out};
        sqlite3_reset(s);
        sqlite3_bind_int64(s, 1, run->id);
        for (int k = 0; k < 4; k++)
            sqlite3_bind_text(s, k + 2, texts[k], -1, SQLITE_TRANSIENT);
        done = sqlite3_step(s) == SQLITE_DONE || store_error(store, "migrating", err);
    }
    return done;
}

/* Does the database have it? A version before that which brought it does not. */
static bool former_has(struct store *store, const char *what, bool *there, struct error *err)
{
    int64_t count = 0;
    bool done = store_integer(store, what, &count, err);
    *there = count > 0;
    return done;
}

bool former_fill(struct store *store, struct error *err)
{
    bool kernels, samples;
    return former_has(store, "SELECT count(*) FROM pragma_table_info('result') WHERE name = 'kernels'", &kernels, err) &&
           former_has(store, "SELECT count(*) FROM sqlite_master WHERE name = 'sample'", &samples, err) &&
           (kernels || store_exec(store, "ALTER TABLE result ADD COLUMN kernels TEXT", "migrating", err)) && fill_runs(store, err) &&
           fill_rows(store, err) &&
           store_exec(store,
                      "UPDATE \"case\" SET cropped = instr(\"case\", '@') > 0; DELETE FROM metric WHERE metric GLOB 'cudnn.plan[0-9]*'",
                      "migrating", err) &&
           (!samples ||
            store_exec(
                store,
                "UPDATE timing SET samples_ns = (SELECT samples_ns FROM sample WHERE sample.timing = timing.timing); DROP TABLE sample",
                "migrating", err));
}

bool former_masks(struct store *store, struct error *err)
{
    /* "blobs24:0.10:3": pattern and radius, density (not of pixel and checkerboard), seed; a seed of 1 was not written */
    return store_exec(store,
                      "WITH mask AS (SELECT case_key, substr(axis_value, 1, instr(axis_value || ':', ':') - 1) AS word,"
                      " substr(axis_value, instr(axis_value || ':', ':') + 1) AS rest FROM axis JOIN result USING (result)"
                      " WHERE axis = 'mask' AND axis_value <> 'none' GROUP BY case_key)"
                      " UPDATE \"case\" SET mask_pattern = rtrim(mask.word, '0123456789'),"
                      " mask_radius = CAST(nullif(substr(mask.word, length(rtrim(mask.word, '0123456789')) + 1), '') AS INTEGER),"
                      " mask_seed = CASE WHEN word IN ('pixel', 'checkerboard') THEN CAST(ifnull(nullif(rest, ''), 1) AS INTEGER)"
                      " WHEN rest = '' OR word = 'file' THEN NULL WHEN instr(rest, ':') THEN CAST(substr(rest, instr(rest, ':') + 1) AS "
                      "INTEGER) ELSE 1 END"
                      " FROM mask WHERE mask.case_key = \"case\".case_key",
                      "migrating", err);
}

bool former_words(struct store *store, struct error *err)
{
    /* "NVIDIA H200 \302\267 driver 580 \302\267 132 SMs"; "conv2d 64->64 3x3 +bias+relu  1x8x16 f16" */
    return store_exec(store,
                      "UPDATE run SET product = substr(device_about, 1, instr(device_about || ' \302\267 ', ' \302\267 ') - 1)"
                      " WHERE run_device NOT GLOB 'emu*';"
                      "WITH found AS (SELECT case_key, instr(work, ' +') AS at FROM \"case\" WHERE instr(work, ' +')),"
                      " cut AS (SELECT case_key, at, substr(work, at + 1) AS rest FROM found JOIN \"case\" USING (case_key))"
                      " UPDATE \"case\" SET epilogue = substr(rest, 2, instr(rest || ' ', ' ') - 2),"
                      " bare_work = substr(work, 1, at - 1) || substr(rest, instr(rest || ' ', ' '))"
                      " FROM cut WHERE cut.case_key = \"case\".case_key",
                      "migrating", err);
}

bool former_notes(struct store *store, struct error *err)
{
    /* where one of them ended is not told for certain: they become one */
    return store_exec(store,
                      "INSERT INTO note (result, note_index, note_text) SELECT result, 0, note FROM result WHERE note <> '';"
                      "UPDATE result SET clause = rtrim(substr(reason, 1, instr(reason, '(') - 1))"
                      " WHERE status = 'infeasible' AND instr(reason, '(') > 1;"
                      "UPDATE part SET part_name = substr(part, instr(part, '/') + 1) WHERE part_name IS NULL",
                      "migrating", err);
}

bool former_names(struct store *store, struct error *err)
{
    /* a part of a family behind the whole of it; what sampling lost is of no state */
#define TAKE_FAMILY(id, name, begins, root) "UPDATE metric SET metric_family = '" name "' WHERE metric GLOB '" begins "*';"
    return store_exec(store,
                      METRIC_FAMILIES(TAKE_FAMILY) "UPDATE metric SET metric_family = 'hw' WHERE metric = 'hw.samples_dropped';"
                                                   "UPDATE \"case\" SET case_name = substr(\"case\", length(scenario) + 2) WHERE "
                                                   "instr(\"case\", scenario || '/') = 1",
                      "migrating", err);
}

static void number_of_text(sqlite3_context *context, int count, sqlite3_value **of)
{
    const char *text = (const char *)sqlite3_value_text(of[0]);
    double number;
    if (count && text && text_to_real(text, &number))
        sqlite3_result_double(context, number);
}

bool former_numbers(struct store *store, struct error *err)
{
    bool made = sqlite3_create_function(store->db, "number_of_text", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL, number_of_text, NULL,
                                        NULL) == SQLITE_OK;
    return (made || store_error(store, "migrating", err)) &&
           store_exec(store,
                      "UPDATE axis SET axis_number = number_of_text(axis_value) WHERE axis_number IS NULL;"
                      "UPDATE param SET param_number = number_of_text(param_value) WHERE param_number IS NULL",
                      "migrating", err);
}
