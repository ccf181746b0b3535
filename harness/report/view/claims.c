/* report/view/claims: see claims.h. */
#include "report/view/claims.h"
#include "report/view/number.h"

/* A claim compares with the library: a case whose baseline is a control, or that has none, neither confirms nor refutes it. The claims of
 * one machine code are one. */
static bool testable(const struct case_view *c, const struct view *v)
{
    bool again = v->same_as && v->same_as->row->claims == 1;
    return v->row->claims == 1 && !again && v->ranked && v != c->zero && c->zero && c->zero->ranked && c->zero->row->library;
}

double claim_excess(const struct case_view *c, const struct view *v)
{
    if (!testable(c, v))
        return 0;
    v = v->same_as ? v->same_as : v; /* whose time the tables have */
    double times = v->time->ratio > 0 ? 1 / v->time->ratio : v->time->median_ns / c->zero->time->median_ns;
    return times > 1 + PAR ? times : 0;
}

void claims_document(struct document *d, const struct run *run, struct row *const *rows, int count)
{
    int claimed = 0, kept = 0;
    struct text lines = {0}, broken = {0};
    for (struct case_walk w = {.run = run, .rows = rows, .count = count}; case_next(&w);) {
        for (int i = 0; i < w.view.count; i++) {
            const struct view *v = &w.view.views[i];
            double excess = claim_excess(&w.view, v);
            char n[NUMBER_TEXT];
            claimed += testable(&w.view, v);
            kept += testable(&w.view, v) && !excess;
            if (excess) {
                text_addf(&broken, "%s: %s claims this shape, but takes %sx the time of %s\n", v->row->case_name ? v->row->case_name : "",
                          v->name, number_3(excess, n), w.view.zero_name);
            }
        }
    }
    if (claimed)
        text_addf(&lines, "%d of %d rows that claim their shape are at most %.0f %% slower than the library\n%s", kept, claimed, 100 * PAR,
                  text_get(&broken));
    document_lines(d, "Claims", "claims", &lines);
    text_free(&broken);
}
