/* What a row costs without its parts. */
#include "report/page/case_document.h"
#include "report/view/number.h"
#include <math.h>
#include <stdio.h>

static double part(const struct row *row, const char *name, const char *what)
{
    char metric[80];
    snprintf(metric, sizeof metric, "ablate.%s_%s", name, what);
    return row_value(row, -1, metric);
}

void case_ablations(const struct case_view *c, struct block *list)
{
    static const char *const parts[] = {"store", "bias", "maths"};
    for (int i = 0; i < c->count; i++) {
        const struct row *row = c->rows[i];
        const char *what = isfinite(part(row, "whole", "ns")) ? "ns" : "instructions", *separator = "; without ";
        double whole = part(row, "whole", what);
        struct text line = {0}, *t = &line;
        char a[NUMBER_TEXT], name[16];
        bool ns = what[0] == 'n';
        if (!(whole > 0) || row->status != ROW_OK)
            continue;
        text_addf(t, "%s %s whole", ns ? number_3(whole / 1e3, a) : number_count(whole, a), ns ? "us" : "warp instructions");
        for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
            snprintf(name, sizeof name, "no_%s", parts[k]);
            double left = part(row, name, what), change = left / whole - 1;
            if (isfinite(left)) {
                text_addf(t, "%s%s %s (%+.*f %%)", separator, parts[k], ns ? number_3(left / 1e3, a) : number_count(left, a),
                          fabs(change) < 0.1 ? 1 : 0, change * 100);
                separator = ", ";
            }
        }
        block_text(list, "ablate", c->views[i].name, t);
    }
}
