/* What a row did wrong, as the device's reports or an error tell it. */
#include "base/file.h"
#include "base/text.h"
#include "run/child/private.h"
#include <string.h>

void worker_take_reports(const struct worker *w, struct row *row)
{
    const struct device_report *reports;
    int count = w->dev->ops->reports ? w->dev->ops->reports(w->dev, &reports) : 0;
    if (!count)
        return;
    static const struct {
        const char *kind;
        enum row_status status;
    } meanings[] = {
        {"time_limit", ROW_HUNG}, {"deadlock", ROW_HUNG}, {"trap", ROW_CRASHED}, {"assert", ROW_CRASHED}, {"unsupported", ROW_SKIPPED}};
    enum row_status status = ROW_UNSAFE;
    const struct device_report *first = &reports[0];
    for (int i = 0; i < count; i++)
        for (size_t k = 0; k < sizeof meanings / sizeof *meanings; k++)
            if (!strcmp(reports[i].kind, meanings[k].kind)) {
                status = meanings[k].status;
                first = &reports[i];
            }
    row->status = status;
    struct text reason = {0};
    text_addf(&reason, "%s: ", first->kind);
    if (first->line > 0)
        text_addf(&reason, "%s%s%d: ", file_base(first->file), first->file[0] ? ":" : "line ", first->line);
    text_add(&reason, first->text);
    if (count > 1)
        text_addf(&reason, " (and %d more report%s)", count - 1, count > 2 ? "s" : "");
    row_set(&row->reason, text_get(&reason));
    bool placed = first->line > 0 && first->file[0];
    row_set(&row->reason_file, placed ? first->file : NULL);
    row->reason_line = placed ? first->line : -1;
    text_free(&reason);
}

bool worker_blame(const struct worker *w, struct row *row, const struct error *why, enum row_status otherwise)
{
    row->status = otherwise;
    row_set_reason(row, why);
    worker_take_reports(w, row);
    if (why->kind == ERROR_ENVIRONMENT && row->status == otherwise)
        row->status = ROW_SKIPPED;
    else if (why->kind == ERROR_MACHINE && row->status == otherwise)
        row->status = ROW_PLANNED; /* --resume tries it again */
    else if (why->kind == ERROR_USAGE && row->status == otherwise)
        row->status = ROW_BROKEN;
    return true;
}
