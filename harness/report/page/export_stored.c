/* report/page/export_stored: a run as a file of reports/stored, which report/view/stored.h reads. */
#include "report/report.h"
#include "report/view/stored.h"
#include <stdio.h>
#include <string.h>

/* Each launch hash once: several rows may run the same code. */
static void write_rows(struct text *t, const struct run *run, struct row *const *rows, int count)
{
    SCOPED_TEXT seen = {0};
    for (struct case_walk w = {.run = run, .rows = rows, .count = count}; case_next(&w);)
        for (int i = 0; i < w.view.count; i++) {
            const struct view *v = &w.view.views[i];
            char key[STORED_DIGITS + 3];
            snprintf(key, sizeof key, " %.*s", STORED_DIGITS, v->row->launch_hash);
            if (!v->ranked || w.view.mode != MODE_COLD || !v->row->launch_hash[0] || (seen.len && strstr(seen.data, key)))
                continue;
            text_add(&seen, key);
            text_addf(t, "  %.*s: %.5g\n", STORED_DIGITS, v->row->launch_hash, v->time->median_ns / 1e3);
        }
}

static void write_libraries(struct text *t, const struct run *run, struct row *const *rows, int count)
{
    SCOPED_TEXT seen = {0};
    for (struct case_walk w = {.run = run, .rows = rows, .count = count}; case_next(&w);) {
        const struct view *zero = NULL; /* the library's fastest row */
        char key[HASH_TEXT];
        for (int i = 0; i < w.view.count; i++) {
            const struct view *v = &w.view.views[i];
            if (v->ranked && v->row->library && (!zero || v->time->median_ns < zero->time->median_ns))
                zero = v;
        }
        if (!zero || w.view.mode != MODE_COLD || row_is_network(zero->row))
            continue;
        stored_work_key(zero->row, key);
        if (seen.len && strstr(seen.data, key))
            continue;
        text_add(&seen, key);
        text_addf(t, "  %s: {us: %.5g, name: \"%s\"}\n", key, zero->time->median_ns / 1e3, variant_short(zero->row));
    }
}

void report_stored(struct text *t, const struct run *run, struct row *const *rows, int count)
{
    struct machine m = machine_of(run, count ? rows[0] : NULL);
    text_addf(
        t,
        "# Times of a stored run by the first %d digits of launch_hash, in us, cold and isolated; and of the library by the hash of the\n"
        "# work. Written by bench export -f stored; do not edit.\ngpu: \"%s\"\ndate: %.10s\nof: %s\nlibrary: \"%s\"\n",
        STORED_DIGITS, run->product ? run->product : "", run->started, run->scenario, m.library);
    text_add(t, "rows:\n");
    write_rows(t, run, rows, count);
    text_add(t, "libraries:\n");
    write_libraries(t, run, rows, count);
}
