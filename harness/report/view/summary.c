/* report/view/summary: see summary.h. */
#include "report/view/summary.h"
#include "report/view/number.h"
#include "report/form/terminal.h"
#include <string.h>

/* Distinct variant[params] among the rows of one status. */
static int configurations_of(struct row *const *rows, int count, enum row_status status)
{
    int n = 0;
    for (int i = 0; i < count; i++) {
        bool known = rows[i]->status != status;
        for (int j = 0; j < i && !known; j++) {
            known = rows[j]->status == status && rows[j]->variant && rows[i]->variant && strcmp(rows[j]->variant, rows[i]->variant) == 0 &&
                    strcmp(rows[j]->params ? rows[j]->params : "", rows[i]->params ? rows[i]->params : "") == 0;
        }
        n += !known;
    }
    return n;
}

void summary_counts(struct text *t, const struct run *run, struct row *const *rows, int count)
{
    static const enum row_status order[] = {ROW_OK,      ROW_FOIL, ROW_WRONG,  ROW_UNSAFE,     ROW_STATEFUL, ROW_IMPOSSIBLE,
                                            ROW_CRASHED, ROW_HUNG, ROW_BROKEN, ROW_INFEASIBLE, ROW_SKIPPED,  ROW_PLANNED};
    const char *separator = "";
    int by[ROW_STATUS_COUNT] = {0}, unexplained = 0;
    for (int i = 0; i < count; i++) {
        enum row_status s = rows[i]->status;
        by[s]++;
        unexplained += s != ROW_OK && s != ROW_FOIL && s != ROW_PLANNED && !(rows[i]->reason && rows[i]->reason[0]);
    }
    if (!run->ended[0] && run->planned > count)
        text_addf(t, "%d of %d row%s: ", count, run->planned, text_s(run->planned));
    else
        text_addf(t, "%d row%s: ", count, text_s(count));
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        enum row_status s = order[i];
        if (!by[s] && s != ROW_OK)
            continue;
        const char *word = s == ROW_OK ? "verified" : s == ROW_FOIL ? "not verified" : s == ROW_PLANNED ? "not run" : row_status_name(s);
        text_addf(t, "%s%d %s", separator, by[s], word);
        separator = ", ";
        if (row_status_failed(s)) {
            int n = configurations_of(rows, count, s);
            text_addf(t, " (%d configuration%s)", n, text_s(n));
        }
    }
    if (unexplained)
        text_addf(t, ", %d without a reason", unexplained);
    if (!run->ended[0])
        text_add(t, ", the run has not ended");
}

static bool any_verified(struct row *const *rows, int count)
{
    return ANY_OF(i, count, rows[i]->status == ROW_OK);
}

void report_summary(struct text *t, const struct run *run, struct row *const *rows, int count, double seconds, int exit_code,
                    const struct report_style *style)
{
    char wall[NUMBER_TEXT];
    SCOPED_TEXT line = {0};
    summary_counts(&line, run, rows, count);
    if (seconds > 0) /* a stored run is shown without a wall time */
        text_addf(&line, "   %s", number_duration(seconds, wall));
    text_addf(&line, "   exit %d", exit_code);
    if (!exit_code && count && !any_verified(rows, count))
        text_add(&line, ": nothing was verified, which fails a gate");
    text_paint(t, exit_code ? PAINT_BAD : PAINT_GOOD, style);
    text_add_wrapped(t, text_get(&line), 0, TEXT_LABEL_COLUMNS, style);
    text_paint(t, PAINT_NONE, style);
    text_add(t, "\n");
    int right = 0;
    for (int i = 0; i < count; i++)
        right += rows[i]->status == ROW_OK;
    if (!right && exit_code == 0 && count) { /* a reader of the exit code alone must not take this for a pass */
        text_paint(t, PAINT_WARN, style);
        text_add_wrapped(t, "nothing was verified: exit 0 means that nothing failed, not that anything is right", 0, TEXT_LABEL_COLUMNS,
                         style);
        text_paint(t, PAINT_NONE, style);
        text_add(t, "\n");
    }
}
