/* Notes about rows, next to their numbers. */
#include "report/page/case_document.h"
#include "report/view/claims.h"
#include "report/view/number.h"
#include "report/view/verdict.h"
#include <math.h>
#include <string.h>

/* Equal machine code and launches, step by step; both as a graph or neither, which the hashes include. */
static bool same_launches(const struct row *a, const struct row *b)
{
    bool same = a->step_count == b->step_count && a->step_count > 0 &&
                (!a->launch_hash[0] || !b->launch_hash[0] || !strcmp(a->launch_hash, b->launch_hash));
    for (int i = 0; same && i < a->step_count; i++) {
        const struct row_step *s = &a->steps[i], *o = &b->steps[i];
        bool known = s->sass_hash[0] || strcmp(s->kind, "fill") == 0;
        same = known && strcmp(s->kind, o->kind) == 0 && strcmp(s->sass_hash, o->sass_hash) == 0 &&
               memcmp(s->grid, o->grid, sizeof s->grid) == 0 && memcmp(s->block, o->block, sizeof s->block) == 0 &&
               s->dynamic_smem == o->dynamic_smem;
    }
    return same;
}

static bool apart(const struct case_view *c, const struct view *fast, const struct view *slow)
{
    double share = slow->time->median_ns / fast->time->median_ns - 1;
    return slow->time->low_ns > fast->time->high_ns && share > (isnan(c->noise) ? 0 : c->noise);
}

/* Notes rows of equal machine code whose fastest and slowest differ by more than the A/A control (docs/reference/columns.md, `noise`). */
static void placement_note(const struct case_view *c, struct block *list)
{
    for (int i = 0; i < c->count; i++) {
        const struct view *fast = &c->views[c->order[i]], *slow = NULL;
        bool first = fast->ranked && fast->time;
        for (int j = 0; first && j < c->count; j++) {
            const struct view *other = &c->views[c->order[j]];
            if (j == i || !other->ranked || !other->time || !same_launches(fast->row, other->row))
                continue;
            first = other->time->median_ns >= fast->time->median_ns && (j > i || other->time->median_ns > fast->time->median_ns);
            slow = !slow || other->time->median_ns > slow->time->median_ns ? other : slow;
        }
        if (first && slow && apart(c, fast, slow))
            block_itemf(list, "note", slow->name,
                        "has the same machine code as %s but is %.1f %% slower: the placement of the buffers affects the time", fast->name,
                        100 * (slow->time->median_ns / fast->time->median_ns - 1));
    }
}

/* Whose note it is, of `count` rows. */
static char *and_more(const char *first, int count)
{
    return count > 1 ? text_format("%s (and %d more)", first, count - 1) : xstrdup(first);
}

/* A warning, or the reason for missing hardware counters, once for all rows that have it. */
static void row_notes(const struct case_view *c, bool counters, struct block *list)
{
    for (int i = 0; i < c->count; i++) {
        const char *note = row_note(c->rows[i], counters);
        bool said = !note[0];
        int same = 0;
        for (int j = 0; j < c->count && !said; j++) {
            bool equal = strcmp(row_note(c->rows[j], counters), note) == 0;
            said = equal && j < i;
            same += equal;
        }
        if (said)
            continue;
        SCOPED char *name = and_more(c->views[i].name, same);
        SCOPED char *text = text_format("%s%s", counters ? "no hardware counters: " : "", note);
        text_one_line(text);
        block_item(list, "note", name, text);
    }
}

static void unverified_note(const struct case_view *c, struct block *list)
{
    const struct view *first = NULL, *best = case_best(c);
    int count = 0;
    char a[NUMBER_TEXT], b[NUMBER_TEXT];
    for (int i = 0; i < c->count; i++) {
        const struct view *v = &c->views[c->order[i]];
        if (!v->ranked || v->row->status != ROW_FOIL || v == c->zero)
            continue;
        first = first ? first : v;
        count++;
    }
    if (!count)
        return;
    SCOPED char *name = and_more(first->name, count);
    if (count > 1)
        block_item(list, "note", name, "are not verified, so they are not ranked");
    else if (best && c->zero && c->zero->time)
        block_itemf(list, "note", name, "is not verified, so it is not ranked; it takes %sx the time of %s, and %sx that of %s",
                    number_3(first->time->median_ns / best->time->median_ns, a), best->name,
                    number_3(first->time->median_ns / c->zero->time->median_ns, b), c->zero->name);
    else
        block_item(list, "note", name, "is not verified, so it is not ranked");
}

/* Impossible results, and results that contradict the variant's head. */
static void doubt_notes(const struct case_view *c, struct block *list)
{
    char a[NUMBER_TEXT], b[NUMBER_TEXT];
    double beaten = fmax(case_limit(c, "floor_beaten"), 100); /* fmax: NaN gives way */
    for (int i = 0; i < c->count; i++) {
        const struct view *v = &c->views[c->order[i]];
        double excess = v->ranked && v->row->status == ROW_OK ? claim_excess(c, v) : 0;
        if (excess > 0)
            block_itemf(list, "note", v->name, "claims this shape, but takes %sx the time of %s", number_3(excess, a), c->zero_name);
        if (v->ranked && v->row->status == ROW_OK && v->row->prepare_ns > v->time->median_ns)
            block_itemf(list, "note", v->name, "prepares for %s outside the timed part, longer than the timed part (%s)",
                        number_time(v->row->prepare_ns, a), number_time(v->time->median_ns, b));
        if (v->ranked && v->row->status == ROW_OK && 100 * v->floor_share > beaten)
            block_itemf(list, "note", v->name,
                        "%s us is faster than the speed of light of its algorithm on this chip (%s, %s): the head, the data sheet or the "
                        "timing is wrong",
                        number_3(v->time->median_ns / 1e3, a), number_time(v->row->floor_ns, b), v->row->floor_by);
    }
}

void case_notes(const struct case_view *c, struct block *list)
{
    if (c->rows[0]->like_case)
        block_item(list, "note", "added", "to bracket a break-even: variants that cannot break even at this density may be missing");
    unverified_note(c, list);
    doubt_notes(c, list);
    row_notes(c, false, list);
    placement_note(c, list);
    row_notes(c, true, list);
}
