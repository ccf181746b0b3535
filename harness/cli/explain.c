/* The verb why, and the ceilings that bench doctor prints. */
#include "base/dtype.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/cli.h"
#include "report/form/document.h"
#include "report/view/number.h"
#include "report/page/why.h"
#include "store/lock.h"
#include "run/parent/child.h"
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

static void tell_note(void *context, const char *text)
{
    (void)context;
    cli_say(stderr, "bench: note: %s\n", text);
}

int cli_roofs(const struct roofs_arguments *a, const char *out_dir)
{
    struct error err = {0}, ignored = {0};
    SCOPED_TEXT t = {0};
    struct store *store = NULL;
    struct session_device d = {0};
    struct session_probe ask = {.spec = a->device ? a->device : "cuda:0"};
    struct child held = {.fd = -1, .errors = -1};
    const struct session_sink sink = {.note = tell_note};
    int lock = -1;
    struct roofs roofs;
    char note[512] = "", *database = cli_database(out_dir);
    bool ok = true;
    if (a->measure) {
        ask.keep = &held;
        ok = session_hold(ask.spec, &sink, &held, NULL, &lock, &err) && session_device(&ask, NULL, &d, &err);
        child_stop(&held, NULL, 0);
        ok = ok && session_roofs_measure(d.spec, a->compiler, a->bundle, NULL, &roofs, note, sizeof note, &err) &&
             file_make_dirs(out_dir, &err) && store_open(database, false, &store, &err) && store_roofs_put(store, d.uuid, &roofs, &err);
    } else { /* without a GPU the stored figures are printed all the same */
        ok = cli_store(database, "bench doctor --measure, on a machine with a GPU,", &store, &err);
        if (ok)
            session_device(&ask, NULL, &d, &ignored);
    }
    struct roof_print p = {.t = &t, .chip = d.uuid[0] ? &d.chip : NULL, .uuid = d.uuid};
    ok = ok && store_roofs_each(store, print_roofs, &p, &err);
    if (ok && !p.count) {
        error_set(&err, ERROR_USAGE, "%s holds no measured ceilings", database);
        ok = error_hint(&err, "bench doctor --measure, or any timed run, on a machine with a GPU");
    }
    int code = ok ? 0 : cli_fail(&err);
    cli_print(&t);
    if (note[0])
        cli_say(stderr, "bench: note: not measured: %s\n", note);
    store_close(store);
    lock_release(&lock);
    free(database);
    return code;
}

struct stored_row {
    struct store *store;
    struct runs runs;
    int run; /* index of the one the row is in */
    struct row **rows;
    int count, index;
};

static void close_row(struct stored_row *r)
{
    if (r->rows)
        rows_free(r->rows, r->count);
    runs_free(&r->runs);
    store_close(r->store);
}

/* The row of the newest run that has it; of one run or one device where that is asked for. */
static bool find_row(struct stored_row *r, const char *database, const char *device, int run_id, const char *words, struct error *err)
{
    bool any = false;
    if (!cli_store(database, "bench run SCENARIO", &r->store, err) || !store_runs(r->store, &r->runs, err))
        return false;
    for (r->run = r->runs.count - 1; r->run >= 0; r->run--) {
        const struct run *run = &r->runs.items[r->run];
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
        error_hint(err, "bench list runs lists what there is");
    }
    return false;
}

static int why_row(const char *database, const char *device, int run_id, const char *words)
{
    struct error err = {0};
    struct stored_row r = {0};
    struct document d = {0};
    int code = 0;
    if (find_row(&r, database, device, run_id, words, &err)) {
        if (r.run < r.runs.count - 1)
            block_itemf(document_prose(&d, TONE_NOTICE, DETAIL_ALWAYS), NULL, NULL, "run %lld of %s, not the last",
                        (long long)r.runs.items[r.run].id, r.runs.items[r.run].started);
        why_of_row(&d, &r.runs.items[r.run], r.rows, r.count, r.index, false);
        cli_document(&d);
    } else {
        code = cli_fail(&err);
    }
    close_row(&r);
    return code;
}

int cli_why(const struct verb *verb, int argc, char **argv)
{
    SCOPED_BY(cli_plan_free) struct plan_arguments a = {0};
    SCOPED const char **rest = xcalloc((size_t)argc + 1, sizeof *rest);
    const char *out = NULL, *given = NULL;
    bool measure = false;
    int run_id = 0, count, code;
    struct option options[PLAN_OPTION_COUNT + COUNTER_OPTION_COUNT + 4] = {{0}};
    const struct option own[] = {
        {"--measure", 0, OPTION_FLAG, NULL, "run the row again with every counter; the options of bench run belong to it", &measure},
        {"--out", 'o', OPTION_TEXT, "DIR", "where the database is; default ./.bench", &out},
        {"--run", 0, OPTION_INT, "N", "only this run (bench list runs); default: the newest that has the row", &run_id},
    };
    memcpy(options, own, sizeof own);
    cli_plan_options(&a, options + 3);
    cli_counter_options(&a, options + 3 + PLAN_OPTION_COUNT);
    SCOPED char *words = NULL, *database = NULL;
    if (!cli_options(verb, options, argc, argv, rest, &count, NULL, &code))
        return code;
    if (measure && count)
        return cli_profile(&a, rest, count, cli_out_dir(out));
    words = cli_words(rest, &count, &given);
    if (!count)
        return cli_usage(verb, measure ? "which row? bench why --measure edsr body_1 naive" : "which row? bench why body_1 naive");
    database = given ? xstrdup(given) : cli_database(cli_out_dir(out));
    return why_row(database, a.device, run_id, words);
}
