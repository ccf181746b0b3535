/* report/case_why: of the rows of a case, what to look at first. */
#include "report/case_document.h"
#include "report/lines.h"
#include "report/verdict.h"
#include "report/shown.h"
#include <math.h>
#include <string.h>

/* The same sentence of the same line once: of another row made of that file, of another step. */
static void put_findings(struct line_findings *all, int most, struct block *list, const char *label)
{
    for (int i = 0; i < all->count && most; i++) {
        const struct line_finding *f = &all->items[i];
        bool known = false;
        for (int k = 0; k < i && !known; k++)
            known = !strcmp(all->items[k].where, f->where) && !strcmp(all->items[k].says, f->says);
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

/* A library's row without counters: nothing of it can be changed, and nobody knows what it waits for. */
static bool is_told(const struct case_view *c, const struct view *v)
{
    bool library = !v->verdicts.counted && v->row->library;
    return v->verdicts.count && !library && !row_is_network(v->row) && /* what is true of its steps is said of its layers' own rows */
           (v->ranked || c->counts);
}

static void case_why_add_row(const struct view *v, struct block *list)
{
    const struct verdict *first = v->verdicts.items;
    struct text name = {0}, says = {0};
    if (v->rank >= 0)
        text_addf(&name, "%d ", v->rank);
    text_add(&name, v->name);
    text_addf(&says, "%s (", verdict_word(v));
    verdict_gain(first, &says);
    text_addf(&says, "): %s; %s", first->says, first->remedy);
    block_text(list, "why", text_get(&name), &says);
    text_free(&name);
}

void case_why(const struct case_view *c, struct block *list)
{
    struct line_findings all = {0};
    int before = list->item_count, more = 0;
    for (int i = 0; i < c->count; i++)
        line_findings_add(&all, c, &c->views[i]);
    put_findings(&all, SHOWN_WHY / 2, list, "why");
    for (int known = 1; known >= 0; known--) { /* what would be gained is known, then where nobody can say; each the fastest first */
        for (int i = 0; i < c->count; i++) {
            const struct view *v = &c->views[c->order[i]];
            if (is_told(c, v) && known == !isnan(v->verdicts.items[0].gain)) {
                bool room = list->item_count - before < SHOWN_WHY;
                more += !room;
                if (room)
                    case_why_add_row(v, list);
            }
        }
    }
    if (more)
        block_itemf(list, "why", NULL, "%d further rows: `bench why ROW` explains each", more);
}
