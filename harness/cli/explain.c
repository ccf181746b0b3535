/* Verbs that explain: why, roofs. */
#include "base/dtype.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/cli.h"
#include "report/number.h"
#include "report/why.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the data sheet says of the same thing; 0 = it says nothing. */
static double sheet_of(const struct chip *chip, const char *name)
{
    if (!strcmp(name, "copy"))
        return chip->dram_bytes_s;
    if (!strcmp(name, "l2"))
        return chip->l2_bytes_s;
    if (!strcmp(name, "shared")) /* 32 banks of 4 bytes a clock */
        return (double)chip->smem_banks * 4 * chip->sm_count * chip->clock_max_hz;
    enum math math = math_parse(name);
    return math > MATH_NONE && math < MATH_COUNT ? chip_flop_s(chip, math) : 0;
}

struct roof_print {
    struct text *t;
    const struct chip *chip; /* of the GPU `uuid`; NULL: not here */
    const char *uuid;
    int count;
};

static void print_roofs(void *context, const char *uuid, const struct roofs *roofs)
{
    struct roof_print *p = context;
    const struct chip *chip = p->chip && !strcmp(p->uuid, uuid) ? p->chip : NULL;
    text_addf(p->t, "%s%s  measured %s\n", p->count++ ? "\n" : "", uuid, roofs->measured);
    for (int i = 0; i < roofs->count; i++) {
        const struct roof *r = &roofs->items[i];
        char a[NUMBER_TEXT], b[NUMBER_TEXT];
        bool time = !strcmp(r->unit, "ns");
        text_addf(p->t, "  %-11s %-14s", r->name, time ? number_time(r->value, a) : number_si(r->value, r->unit, a));
        double sheet = chip && !time ? sheet_of(chip, r->name) : 0;
        if (sheet > 0)
            text_addf(p->t, " %3s %% of %-14s", number_percent(r->value / sheet, a), number_si(sheet, r->unit, b));
        else
            text_addf(p->t, "%-26s", "");
        text_addf(p->t, " %s\n", r->how);
    }
}

int cli_roofs(const struct verb *verb, int argc, char **argv)
{
    const char *out = NULL, *device = NULL, *compiler = NULL, *bundle = NULL, **rest = xcalloc((size_t)argc + 1, sizeof *rest);
    bool measure = false;
    const struct option options[] = {
        {"--measure", 0, OPTION_FLAG, NULL, "measure this machine now, also when it was measured before", &measure},
        {"--device", 'd', OPTION_TEXT, "DEVICE", "default cuda:0", &device},
        {"--compiler", 0, OPTION_TEXT, "NAME", "as in bench run", &compiler},
        {"--bundle", 0, OPTION_TEXT, "FILE", "compiled elsewhere by bench compile --bundle", &bundle},
        {"--out", 'o', OPTION_TEXT, "DIR", "where the database is; default ./.bench", &out},
        {0},
    };
    struct error err = {0};
    struct text t = {0};
    struct store *store = NULL;
    struct session_device d = {0};
    struct roofs roofs;
    char note[512] = "", *database = NULL;
    int count, code = 0;
    if (!cli_options(verb, options, argc, argv, rest, &count, NULL, &code))
        goto done;
    if (count) {
        code = cli_usage(verb, "too many arguments");
        goto done;
    }
    out = cli_out_dir(out);
    database = cli_database(out);
    bool ok = true;
    if (measure) {
        ok = session_device(&(struct session_probe){.spec = device ? device : "cuda:0"}, NULL, &d, &err) &&
             session_roofs_measure(d.spec, compiler, bundle, NULL, &roofs, note, sizeof note, &err) && file_make_dirs(out, &err) &&
             store_open(database, false, &store, &err) && store_roofs_put(store, d.uuid, &roofs, &err);
    } else if (!file_exists(database)) {
        error_set(&err, ERROR_USAGE, "%s: there is no database", database);
        error_hint(&err, "bench roofs --measure makes one on a machine with a GPU; -o DIR names another folder");
        ok = false;
    } else {
        struct error ignored = {0}; /* without a GPU the stored figures are printed all the same */
        session_device(&(struct session_probe){.spec = device ? device : "cuda:0"}, NULL, &d, &ignored);
        ok = store_open(database, true, &store, &err);
    }
    struct roof_print p = {.t = &t, .chip = d.uuid[0] ? &d.chip : NULL, .uuid = d.uuid};
    ok = ok && store_roofs_each(store, print_roofs, &p, &err);
    if (ok && !p.count) {
        error_set(&err, ERROR_USAGE, "%s holds no measured ceilings", database);
        error_hint(&err, "bench roofs --measure, or any timed run, on a machine with a GPU");
        ok = false;
    }
    code = ok ? 0 : cli_fail(&err);
    cli_print(&t);
    if (note[0])
        fprintf(stderr, "bench: note: not measured: %s\n", note);
done:
    if (store)
        store_close(store);
    text_free(&t);
    free(database);
    free(rest);
    return code;
}

/* "body_1 naive" may come as one argument or as several; a last one that is a file is the database. */
static char *row_words(const char **rest, int *count, const char **database)
{
    struct text words = {0};
    size_t n = *count ? strlen(rest[*count - 1]) : 0;
    if (*count > 1 && n > 3 && !strcmp(rest[*count - 1] + n - 3, ".db"))
        *database = rest[--*count];
    for (int i = 0; i < *count; i++)
        text_addf(&words, "%s%s", i ? " " : "", rest[i]);
    return text_take(&words);
}

struct stored_row {
    struct store *store;
    struct run *runs;   /* by number */
    int run_count, run; /* index of the one the row is in */
    struct row **rows;
    int count, index;
};

static void close_row(struct stored_row *r)
{
    if (r->rows)
        rows_free(r->rows, r->count);
    for (int i = 0; i < r->run_count; i++)
        run_clear(&r->runs[i]);
    free(r->runs);
    if (r->store)
        store_close(r->store);
}

/* The row of the newest run that has it; of one run or one device where that is asked for. */
static bool find_row(struct stored_row *r, const char *database, const char *device, int run_id, const char *words, struct error *err)
{
    bool any = false;
    if (!file_exists(database)) {
        error_set(err, ERROR_USAGE, "%s: there is no database", database);
        return error_hint(err, "bench run SCENARIO makes one; -o DIR names another folder");
    }
    if (!store_open(database, true, &r->store, err) || (r->run_count = store_runs(r->store, &r->runs, err)) < 0) {
        r->run_count = 0;
        return false;
    }
    for (r->run = r->run_count - 1; r->run >= 0; r->run--) {
        const struct run *run = &r->runs[r->run];
        struct error why = {0};
        if ((run_id && run->id != run_id) || (device && strcmp(run->device ? run->device : "", device)))
            continue;
        r->count = store_rows(r->store, run->id, &r->rows, &why);
        r->index = r->count >= 0 ? why_find(r->rows, r->count, words, &why) : -1;
        if (r->index >= 0)
            return true;
        if (r->count >= 0)
            rows_free(r->rows, r->count);
        r->rows = NULL;
        if (!any)
            *err = why; /* of the newest run: what the user most likely means */
        any = true;
    }
    if (!any) {
        error_set(err, ERROR_USAGE, "%s holds no such run", database);
        error_hint(err, "bench history lists what there is");
    }
    return false;
}

static int why_row(const char *database, const char *device, int run_id, const char *words, struct text *t)
{
    struct error err = {0};
    struct stored_row r = {0};
    struct report_style style = cli_style();
    int code = 0;
    if (find_row(&r, database, device, run_id, words, &err)) {
        int first = r.index, last = r.index;
        while (first > 0 && r.rows[first - 1]->case_index == r.rows[r.index]->case_index)
            first--;
        while (last < r.count && r.rows[last]->case_index == r.rows[r.index]->case_index)
            last++;
        if (r.run < r.run_count - 1)
            text_addf(t, "run %lld of %s, not the last\n", (long long)r.runs[r.run].id, r.runs[r.run].started);
        report_why(t, &r.runs[r.run], r.rows + first, last - first, r.index - first, &style);
    } else {
        code = cli_fail(&err);
    }
    close_row(&r);
    return code;
}

int cli_why(const struct verb *verb, int argc, char **argv)
{
    const char *out = NULL, *device = NULL, *given = NULL, **rest = xcalloc((size_t)argc + 1, sizeof *rest);
    int run_id = 0, count, code;
    const struct option options[] = {
        {"--out", 'o', OPTION_TEXT, "DIR", "where the database is; default ./.bench", &out},
        {"--device", 'd', OPTION_TEXT, "DEVICE", "only runs on this device", &device},
        {"--run", 0, OPTION_INT, "N", "only this run (bench history); default: the newest that has the row", &run_id},
        {0},
    };
    struct text t = {0};
    char *words = NULL, *database = NULL;
    if (!cli_options(verb, options, argc, argv, rest, &count, NULL, &code))
        goto done;
    words = row_words(rest, &count, &given);
    if (!count) {
        code = cli_usage(verb, "which row? bench why body_1 naive");
        goto done;
    }
    database = given ? xstrdup(given) : cli_database(cli_out_dir(out));
    code = why_row(database, device, run_id, words, &t);
    cli_print(&t);
done:
    text_free(&t);
    free(words);
    free(database);
    free(rest);
    return code;
}
