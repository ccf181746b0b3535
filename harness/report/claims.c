/* report/claims: see claims.h. */
#include "report/claims.h"
#include "report/number.h"
#include "report/table.h"
#include <string.h>

/* A claim is about the library: a case whose row 0 is a copy, or nothing, neither proves nor breaks it. */
static bool testable(const struct case_view *c, const struct view *v)
{
    return v->row->claims == 1 && v->ranked && v != c->zero && c->zero && c->zero->ranked && strncmp(c->zero_name, "cudnn", 5) == 0;
}

double claim_excess(const struct case_view *c, const struct view *v)
{
    if (!testable(c, v)) {
        return 0;
    }
    double times = v->time->ratio > 0 ? 1 / v->time->ratio : v->time->median_ns / c->zero->time->median_ns;
    return times > 1 + PAR ? times : 0;
}

void claims_lines(struct text *t, const struct run *run, struct row *const *rows, int count)
{
    int claimed = 0, kept = 0;
    struct text broken = {0};
    for (int from = 0, end; from < count; from = end) {
        struct case_view c;
        end = case_end(rows, count, from);
        case_view_make(&c, run, rows + from, end - from);
        for (int i = 0; i < c.count; i++) {
            const struct view *v = &c.views[i];
            double excess = claim_excess(&c, v);
            char n[NUMBER_TEXT];
            claimed += testable(&c, v);
            kept += testable(&c, v) && !excess;
            if (excess) {
                text_addf(&broken, "%s: %s claims this shape, but takes %s times as long as %s\n", v->row->layer ? v->row->layer : "",
                          v->name, number_3(excess, n), c.zero_name);
            }
        }
        case_view_free(&c);
    }
    if (claimed) {
        text_addf(t, "%d of %d rows that claim their shape are at most %.0f %% behind the library\n", kept, claimed, 100 * PAR);
        text_add(t, text_get(&broken));
    }
    text_free(&broken);
}

void report_claims(struct text *t, const struct run *run, struct row *const *rows, int count, const struct report_style *style)
{
    struct text lines = {0};
    claims_lines(&lines, run, rows, count);
    text_add_labelled_lines(t, "claims", text_get(&lines), style);
    text_free(&lines);
}
