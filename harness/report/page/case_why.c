/* report/page/case_why: which rows of a case to look at first, and why. */
#include "report/page/case_document.h"
#include "report/view/source_lines.h"
#include "report/view/verdict.h"
#include "report/limits.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Do both name the same sentence and line? It is then said once for all rows and steps of that file. */
static void put_findings(struct line_findings *all, int most, struct block *list, const char *label)
{
    for (int i = 0; i < all->count && most; i++) {
        const struct line_finding *f = &all->items[i];
        bool known = ANY_OF(k, i, !strcmp(all->items[k].where, f->where) && !strcmp(all->items[k].says, f->says));
        if (!known)
            block_itemf(list, label, NULL, "%s  %s", f->where, f->says);
        most -= !known;
    }
    line_findings_free(all);
}

void case_lines(const struct case_view *c, const struct view *v, struct block *list)
{
    struct line_findings all = {0};
    line_findings_add(&all, c, v);
    put_findings(&all, SHOWN_WHY, list, "lines");
}

/* False for a library's row without counters: it cannot be changed, and its stalls are not known. */
static bool is_shown(const struct case_view *c, const struct view *v)
{
    bool library = !v->verdicts.counted && v->row->library;
    return v->verdicts.count && !library && !row_is_network(v->row) && /* its layers' own rows have the verdicts of its steps */
           (c->counts ? !v->same_as : v->ranked);
}

/* The rows of a case that are listed so far. */
struct shown_rows {
    const struct view *rows[SHOWN_WHY];
    int count;
    bool brief;
};

static bool same_verdict(const struct verdict *a, const struct verdict *b)
{
    return a->rule == b->rule && !strcmp(a->says, b->says) && !(a->gain > b->gain) && !(a->gain < b->gain);
}

static bool said_remedy(const struct shown_rows *shown, const char *remedy)
{
    return ANY_OF(i, shown->count, !strcmp(shown->rows[i]->verdicts.items[0].remedy, remedy));
}

/* Brief: neighbouring rows with one verdict share a sentence, and a remedy is printed once. */
static void case_why_add_row(struct shown_rows *shown, const struct view *v, struct block *list)
{
    const struct verdict *first = v->verdicts.items;
    struct text name = {0}, says = {0};
    struct item *last = shown->count && shown->brief ? &list->items[list->item_count - 1] : NULL;
    bool joins = last && same_verdict(first, shown->rows[shown->count - 1]->verdicts.items);
    if (joins)
        text_addf(&name, "%s, ", last->name);
    if (v->rank >= 0)
        text_addf(&name, "%d ", v->rank);
    text_add(&name, v->name);
    if (joins) {
        free(last->name);
        last->name = text_take(&name);
    } else {
        SCOPED_TEXT gain = {0};
        bool estimated = verdict_speedup(first, &gain);
        verdict_words(v, &says);
        text_addf(&says, "%s%s%s: %s", estimated ? " (" : "", text_get(&gain), estimated ? ")" : "", first->says);
        for (int i = 1; i < v->verdicts.count && i <= SHOWN_ALSO; i++)
            if (v->verdicts.items[i].close && v->verdicts.items[i].rule->bottleneck != first->rule->bottleneck)
                text_addf(&says, "; as likely %s: %s", counter_bottleneck_names[v->verdicts.items[i].rule->bottleneck],
                          v->verdicts.items[i].says);
        if (!shown->brief || !said_remedy(shown, first->remedy))
            text_addf(&says, "; %s", first->remedy);
        block_text(list, "why", text_get(&name), &says);
    }
    shown->rows[shown->count++] = v;
    text_free(&name);
}

void case_why(const struct case_view *c, struct block *list, bool brief)
{
    struct line_findings all = {0};
    struct shown_rows shown = {.brief = brief};
    int more = 0, before = list->item_count;
    for (int i = 0; i < c->count; i++)
        line_findings_add(&all, c, &c->views[i]);
    put_findings(&all, SHOWN_WHY / 2, list, "why");
    const int most = SHOWN_WHY - (list->item_count - before);
    for (int known = 1; known >= 0; known--) { /* estimated gains first, then unknown ones; each from the fastest row on */
        for (int i = 0; i < c->count; i++) {
            const struct view *v = &c->views[c->order[i]];
            if (is_shown(c, v) && known == !isnan(v->verdicts.items[0].gain)) {
                more += shown.count >= most;
                if (shown.count < most)
                    case_why_add_row(&shown, v, list);
            }
        }
    }
    if (more && !brief)
        block_itemf(list, "why", NULL, "%d more row%s: see `bench why ROW`", more, text_s(more));
}
