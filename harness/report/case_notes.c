/* What is said of rows beside their numbers. */
#include "report/case_table.h"
#include <math.h>
#include <string.h>

/* Step by step the same machine code, launched in the same way. */
static bool same_launches(const struct row *a, const struct row *b)
{
    bool same = a->step_count == b->step_count && a->step_count > 0;
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

/* Of rows that are the same machine code the fastest and the slowest, where they lie further apart than the A/A test: METHOD.md, `noise`.
 */
static void placement_note(const struct case_view *c, struct text *t)
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
            text_addf(t, "%s: the machine code of %s, and %.1f %% slower: where a row's buffers lie is a part of its time\n", slow->name,
                      fast->name, 100 * (slow->time->median_ns / fast->time->median_ns - 1));
    }
}

void case_notes(const struct case_view *c, bool counters, struct text *t)
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
        if (said) {
            continue;
        }
        text_add(t, c->views[i].name);
        if (same > 1) {
            text_addf(t, " (and %d more)", same - 1);
        }
        text_add(t, counters ? ": no hardware counters: " : ": ");
        for (const char *p = note; *p; p++) {
            text_add_bytes(t, *p == '\n' ? " " : p, 1);
        }
        text_add(t, "\n");
    }
    if (!counters) {
        placement_note(c, t);
    }
}

bool case_next_line(char **lines, const char **name, const char **text)
{
    char *line = strsep(lines, "\n"), *colon = line ? strstr(line, ": ") : NULL;
    if (!colon) {
        return false;
    }
    *colon = 0;
    *name = line;
    *text = colon + 2;
    return true;
}
