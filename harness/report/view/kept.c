/* The views that a page has made already. */
#include "report/view/kept.h"
#include "base/text.h"
#include "report/view/verdict.h"
#include <stdint.h>
#include <stdlib.h>

struct kept {
    struct case_view plain, judged; /* no views: not asked for yet */
};
struct page_views {
    const struct judge *judge;
    struct row *const *rows;
    int count;
    struct kept cases[]; /* by first row */
};

struct page_views *page_views_keep(struct row *const *rows, int count, const struct judge *judge)
{
    struct page_views *all = xcalloc(1, sizeof *all + (size_t)count * sizeof *all->cases);
    all->judge = judge;
    all->rows = rows;
    all->count = count;
    return all;
}

static void view_drop(struct case_view *c)
{
    if (c->views)
        case_view_free(c);
}

void page_views_drop(struct page_views *all)
{
    for (int i = 0; all && i < all->count; i++) {
        view_drop(&all->cases[i].plain);
        view_drop(&all->cases[i].judged);
    }
    free(all);
}

/* NULL: the page has no such case. */
static struct kept *kept_find(struct page_views *all, struct row *const *rows, int count)
{
    uintptr_t from = all ? (uintptr_t)all->rows : 0, at = (uintptr_t)rows;
    if (!all || at < from || at >= from + sizeof *rows * (size_t)all->count)
        return NULL;
    int first = (int)((at - from) / sizeof *rows);
    bool whole = count > 0 && count <= all->count - first && case_end(all->rows, all->count, first) == first + count;
    return whole ? &all->cases[first] : NULL;
}

static void lend(struct case_view *c, const struct case_view *of)
{
    *c = *of;
    c->lent = true;
}

bool case_view_lend(struct case_view *c, const struct run *run, struct row *const *rows, int count)
{
    struct kept *k = kept_find(run ? run->views : NULL, rows, count);
    if (k && !k->plain.views)
        case_view_new(&k->plain, run, rows, count);
    if (k)
        lend(c, &k->plain);
    return k;
}

bool case_judged_lend(struct case_view *c, const struct judge *judge)
{
    struct kept *k = c->lent ? kept_find(c->run->views, c->rows, c->count) : NULL;
    if (!k)
        return false;
    if (judge != c->run->views->judge) {
        case_view_new(c, c->run, c->rows, c->count);
        return false;
    }
    if (!k->judged.views) {
        case_view_new(&k->judged, c->run, c->rows, c->count);
        case_judge(&k->judged, judge);
    }
    lend(c, &k->judged);
    return true;
}
