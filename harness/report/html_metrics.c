/* report/html_metrics: every counter and metric of a case, one column a variant, folded away below its table. */
#include "report/html.h"
#include "report/number.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct names {
    const struct row_metric **items; /* the first metric of each name: it knows the unit */
    int count;
};

static int by_name(const void *a, const void *b)
{
    const struct row_metric *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

static struct names metric_names(const struct case_view *c)
{
    struct names n = {0};
    for (int i = 0; i < c->count; i++) {
        for (int k = 0; k < c->rows[i]->metric_count; k++) {
            const struct row_metric *m = &c->rows[i]->metrics[k];
            bool known = m->line != 0 || strncmp(m->name, "model.", 6) == 0;
            for (int j = 0; j < n.count && !known; j++) {
                known = strcmp(n.items[j]->name, m->name) == 0;
            }
            if (!known) {
                n.items = xrealloc(n.items, (size_t)(n.count + 1) * sizeof *n.items);
                n.items[n.count++] = m;
            }
        }
    }
    if (n.count) {
        qsort(n.items, (size_t)n.count, sizeof *n.items, by_name);
    }
    return n;
}

static bool has_metrics(const struct view *v)
{
    return v->row->metric_count > 0 && (v->row->status == ROW_OK || v->row->status == ROW_FOIL);
}

void html_metrics(struct text *t, const struct case_view *c)
{
    struct names names = metric_names(c);
    char a[NUMBER_TEXT];
    if (names.count) {
        text_add(t, "<details><summary>Every counter</summary><div class=\"scroll\"><table><thead><tr><th>metric</th>");
        for (int i = 0; i < c->count; i++) {
            const struct view *v = &c->views[c->order[i]];
            if (has_metrics(v)) {
                text_add(t, "<th class=\"n\">");
                html_text(t, v->name);
                text_add(t, "</th>");
            }
        }
        text_add(t, "</tr></thead><tbody>\n");
    }
    for (int k = 0; k < names.count; k++) {
        text_add(t, "<tr><td class=\"mono\">");
        html_text(t, names.items[k]->name);
        text_add(t, " <small>");
        html_text(t, names.items[k]->unit);
        text_add(t, "</small></td>");
        for (int i = 0; i < c->count; i++) {
            const struct view *v = &c->views[c->order[i]];
            double value = has_metrics(v) ? counter_total(v->row, names.items[k]->name) : NAN;
            if (has_metrics(v)) {
                text_addf(t, "<td class=\"n\">%s</td>",
                          isnan(value)            ? ""
                          : value == floor(value) ? number_count(value, a)
                                                  : number_3(value, a));
            }
        }
        text_add(t, "</tr>\n");
    }
    text_add(t, names.count ? "</tbody></table></div></details>\n" : "");
    free(names.items);
}
