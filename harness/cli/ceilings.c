/* bench doctor --roofs: the ceilings that this machine was measured to have. */
#include "base/dtype.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/cli.h"
#include "report/view/number.h"
#include "run/parent/child.h"
#include "store/lock.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The data sheet's figure for the same ceiling; 0: it has none. */
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

struct ceiling_print {
    struct text *t;
    const struct chip *chip; /* of the GPU `uuid`; NULL: this machine does not have it */
    const char *uuid;
    int count;
};

static void print_ceilings(void *context, const char *uuid, const struct ceiling_list *ceilings)
{
    struct ceiling_print *p = context;
    const struct chip *chip = p->chip && !strcmp(p->uuid, uuid) ? p->chip : NULL;
    text_addf(p->t, "%s%s  measured %s\n", p->count++ ? "\n" : "", uuid, ceilings->measured);
    for (int i = 0; i < ceilings->count; i++) {
        const struct ceiling *r = &ceilings->items[i];
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
    cli_say(stderr, "bench: note: %s\n", text);
}

int cli_ceilings(const struct ceilings_arguments *a, const char *out_dir)
{
    struct error err = {0}, ignored = {0};
    SCOPED_TEXT t = {0};
    struct store *store = NULL;
    struct session_device d = {0};
    struct session_probe ask = {.spec = a->device ? a->device : "cuda:0"};
    struct child held = {.fd = -1, .errors = -1};
    const struct session_sink sink = {.note = tell_note};
    int lock = -1;
    struct ceiling_list ceilings;
    char note[512] = "", *database = cli_database(out_dir);
    bool ok = true;
    if (a->measure) {
        ask.keep = &held;
        ok = session_hold(ask.spec, &sink, &held, NULL, &lock, &err) && session_device(&ask, NULL, &d, &err);
        child_stop(&held, NULL, 0);
        ok = ok && session_roofs_measure(d.spec, a->compiler, a->bundle, NULL, &ceilings, note, sizeof note, &err) &&
             file_make_dirs(out_dir, &err) && store_open(database, false, &store, &err) &&
             store_ceilings_put(store, d.uuid, &ceilings, &err);
    } else { /* without a GPU, stored figures are still printed */
        ok = cli_store(database, "bench doctor --measure, on a machine with a GPU,", &store, &err);
        if (ok)
            session_device(&ask, NULL, &d, &ignored);
    }
    struct ceiling_print p = {.t = &t, .chip = d.uuid[0] ? &d.chip : NULL, .uuid = d.uuid};
    ok = ok && store_ceilings_each(store, print_ceilings, &p, &err);
    if (ok && !p.count) {
        error_set(&err, ERROR_USAGE, "%s has no measured ceilings", database);
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
