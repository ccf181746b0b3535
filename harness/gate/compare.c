#include "gate/compare.h"
#include "base/text.h"
#include "base/stats/between.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS 16          /* of a launch hash, as a baseline keeps it */
#define PLACEMENTS_LEAST 3 /* needed to call a row slower or faster: a single placement may be unlucky */

const char *const gate_verdict_names[GATE_VERDICTS + 1] = {"SAME", "SLOWER", "FASTER", "UNDECIDED", "WRONG", "MISSING", "NEW", NULL};
const char *const gate_by_names[] = {"status", "image", "time", "counts"};

static bool is_failed(const struct gate_entry *e)
{
    switch (e->status) {
    case ROW_WRONG:
    case ROW_UNSAFE:
    case ROW_CRASHED:
    case ROW_HUNG:
    case ROW_BROKEN: return true;
    default: return false;
    }
}

static bool same_launches(const struct gate_entry *a, const struct gate_entry *b)
{
    return a->launch[0] && b->launch[0] && !strncmp(a->launch, b->launch, DIGITS);
}

/* ---- facts ---- */

static void add_change(const struct gate_comparison *c, struct gate_pair *p, const char *step, const struct gate_kind *kind, double base,
                       double head)
{
    struct gate_change *x;
    int judged = gate_rules_judge(c->rules, p->head->id, kind, base, head); /* of a fact that a side lacks: 0 */
    if (base == head || (isnan(base) && isnan(head)))
        return;
    x = APPEND(p->changes, p->change_count);
    *x = (struct gate_change){.step = step, .kind = kind, .base = base, .head = head, .judged = judged};
    gate_place(p->base, p->head, step, kind, &x->file, &x->line);
    if (judged > 0) {
        x->waiver = gate_rules_waiver(c->rules, p->head->id, kind->what, kind, head);
        x->waived = x->waiver && !x->waiver->expired;
    }
}

static int compare_changes(const void *a, const void *b)
{
    const struct gate_change *x = a, *y = b;
    int bad_x = x->judged > 0 && !x->waived, bad_y = y->judged > 0 && !y->waived;
    if (bad_x != bad_y)
        return bad_y - bad_x;
    return (x->kind > y->kind) - (x->kind < y->kind);
}

static void compare_facts(const struct gate_comparison *c, struct gate_pair *p)
{
    for (int i = 0; i < p->head->fact_count; i++) {
        const struct gate_fact *f = &p->head->facts[i];
        double base = gate_entry_fact(p->base, f->step, f->kind->what);
        bool known = p->base->row || f->kind->kept; /* a baseline stores only some facts */
        if (known)
            add_change(c, p, f->step, f->kind, base, f->value);
    }
    for (int i = 0; i < p->base->fact_count; i++) {
        const struct gate_fact *f = &p->base->facts[i];
        if (isnan(gate_entry_fact(p->head, f->step, f->kind->what)))
            add_change(c, p, f->step, f->kind, f->value, NAN);
    }
    if (p->change_count)
        qsort(p->changes, (size_t)p->change_count, sizeof *p->changes, compare_changes);
}

static void decide_by_counts(struct gate_pair *p)
{
    int worse = 0, better = 0, waived = 0;
    for (int i = 0; i < p->change_count; i++) {
        worse += p->changes[i].judged > 0;
        better += p->changes[i].judged < 0;
        waived += p->changes[i].waived; /* only a worse one can be */
    }
    p->by = GATE_BY_COUNTS;
    p->verdict = worse && !better ? GATE_SLOWER : better && !worse ? GATE_FASTER : GATE_UNDECIDED;
    p->waived = worse && worse == waived;
    if (worse && better)
        p->note = xstrdup("some counts are worse, some better: only a timed run on a GPU can decide");
    else if (p->verdict == GATE_UNDECIDED)
        p->note = xstrdup(
            !p->base->fact_count && !p->head->fact_count ? "it was not counted, and its time is not judged"
            : !p->change_count && (!p->base->launch[0] || !p->head->launch[0])
                ? "all counts are equal, but bench does not know all code that it launches (a sequence, a library): only a timed run on a "
                  "GPU "
                  "can decide"
            : p->change_count
                ? "the code or the launch changed, but no judged count changed beyond its allowance: only a timed run on a GPU can decide"
                : "the code or the launch changed, but all counts are equal: only a timed run on a GPU can decide");
}

/* ---- times ---- */

static const struct row_time *headline(const struct gate_entry *e)
{
    return e->row ? row_time(e->row, MODE_COLD) : NULL;
}

/* Two rows of one run were timed interleaved, round by round. */
static bool is_paired(const struct gate_pair *p, const struct row_time *a, const struct row_time *b)
{
    return p->base->run && p->head->run && p->base->run->id == p->head->run->id && p->base->run->id > 0 &&
           !strcmp(p->base->run->started, p->head->run->started) && a->samples_ns && b->samples_ns && a->rounds == b->rounds;
}

static enum decision_verdict decide_interval(double low, double high, double margin)
{
    double longest = 1 / low - 1, shortest = 1 / high - 1; /* head's time divided by base's, minus 1 */
    if (shortest > margin)
        return VERDICT_SLOWER;
    if (longest < -margin)
        return VERDICT_FASTER;
    return longest < margin && shortest > -margin ? VERDICT_SAME : VERDICT_UNDECIDED;
}

static int count_placements(const int *placement, int rounds)
{
    int count = 0;
    for (int i = 0; i < rounds; i++) {
        int k = 0;
        while (k < i && placement[k] != placement[i])
            k++;
        count += k == i;
    }
    return count;
}

/* The verdict is the family's (decide_family). */
static void decide_paired(struct gate_pair *p, const struct row_time *a, const struct row_time *b, double margin, double alpha)
{
    SCOPED int *placement = xcalloc((size_t)a->rounds + 1, sizeof *placement);
    bool known = a->places && b->places;
    for (int i = 0; i < a->rounds && known; i++)
        placement[i] = (int)a->places[i];
    p->decision = decision_make(a->samples_ns, b->samples_ns, known ? placement : NULL, a->rounds, margin, alpha);
    p->placements = count_placements(placement, a->rounds);
    p->rounds = p->decision.rounds;
    p->ratio = 1 / (1 + p->decision.change);
    p->low = 1 / (1 + p->decision.high);
    p->high = 1 / (1 + p->decision.low);
}

/* For rows of two runs: the worst case of both intervals, widened by the usual difference between processes. */
static void decide_apart(struct gate_pair *p, const struct row_time *a, const struct row_time *b, double margin)
{
    double between = between_processes(a->median_ns, b->median_ns);
    p->rounds = a->rounds < b->rounds ? a->rounds : b->rounds;
    p->ratio = a->median_ns / b->median_ns;
    p->low = a->low_ns / b->high_ns / (1 + between);
    p->high = a->high_ns / b->low_ns * (1 + between);
    p->decision = (struct decision){.verdict = decide_interval(p->low, p->high, margin), .p_same = 1, .p_slower = 1, .p_faster = 1};
}

/* A time is not comparable if other processes used the GPU meanwhile. */
static void note_others(struct gate_pair *p)
{
    const char *a = p->base->row->others, *b = p->head->row->others;
    p->disturbed = (a && *a) || (b && *b);
    if (p->disturbed)
        p->note = text_format("another process used the GPU during the timing: %s", b && *b ? b : a);
}

/* False: there are no times to judge. */
static bool decide_by_time(const struct gate_comparison *c, struct gate_pair *p, double alpha)
{
    const struct row_time *a = headline(p->base), *b = headline(p->head);
    double margin;
    if (!a || !b || !(a->median_ns > 0) || !(b->median_ns > 0) || !(a->low_ns > 0) || !(b->low_ns > 0))
        return false;
    bool judged = gate_rules_margin(c->rules, p->head->id, a->median_ns, &margin);
    p->paired = is_paired(p, a, b);
    if (p->paired)
        decide_paired(p, a, b, margin, alpha);
    else
        decide_apart(p, a, b, margin);
    if (!judged)
        return false;
    p->by = GATE_BY_TIME;
    note_others(p);
    return true;
}

static void take_verdict(const struct gate_comparison *c, struct gate_pair *p)
{
    static const enum gate_verdict verdicts[] = {
        [VERDICT_UNDECIDED] = GATE_UNDECIDED, [VERDICT_SAME] = GATE_SAME, [VERDICT_SLOWER] = GATE_SLOWER, [VERDICT_FASTER] = GATE_FASTER};
    p->verdict = p->disturbed ? GATE_UNDECIDED : verdicts[p->decision.verdict];
    if (p->paired && p->placements < PLACEMENTS_LEAST && (p->verdict == GATE_SLOWER || p->verdict == GATE_FASTER)) {
        p->note = text_format("%s in %d repetition%s; a verdict needs %d, as bench gate makes them", gate_verdict_names[p->verdict],
                              p->placements, p->placements > 1 ? "s" : "", PLACEMENTS_LEAST);
        p->verdict = GATE_UNDECIDED;
    }
    if (p->verdict == GATE_SLOWER) {
        struct gate_waiver *w = gate_rules_waiver(c->rules, p->head->id, "time", NULL, NAN);
        p->waived = w && !w->expired;
    }
}

/* Decides all rows that were timed in pairs, with the error rate of the whole family. */
static void decide_family(struct gate_comparison *c)
{
    SCOPED struct decision *all = xcalloc((size_t)c->count + 1, sizeof *all);
    int count = 0;
    for (int i = 0; i < c->count; i++)
        if (c->pairs[i].by == GATE_BY_TIME && c->pairs[i].paired)
            all[count++] = c->pairs[i].decision;
    decision_family(all, count, c->rules->alpha);
    count = 0;
    for (int i = 0; i < c->count; i++) {
        struct gate_pair *p = &c->pairs[i];
        if (p->by != GATE_BY_TIME)
            continue;
        if (p->paired)
            p->decision = all[count++];
        take_verdict(c, p);
    }
}

/* ---- pairs ---- */

static void decide_missing(const struct gate_comparison *c, struct gate_pair *p)
{
    struct gate_waiver *w = gate_rules_waiver(c->rules, p->base->id, "MISSING", NULL, NAN);
    p->verdict = GATE_MISSING;
    p->waived = w && !w->expired;
    if (p->head)
        p->note = text_format("%s now%s%s", row_status_name(p->head->status), p->head->reason ? ": " : "",
                              p->head->reason ? p->head->reason : "");
}

static void decide(const struct gate_comparison *c, struct gate_pair *p, double alpha)
{
    bool base = gate_entry_stands(p->base), head = gate_entry_stands(p->head);
    p->by = GATE_BY_STATUS;
    if (p->head && is_failed(p->head)) {
        p->verdict = GATE_WRONG;
        p->note = text_format("%s: %s", row_status_name(p->head->status), p->head->reason ? p->head->reason : "no reason given");
        gate_place_said(p->head->row, &p->file, &p->line);
        text_one_line(p->note);
    } else if (base && !head) {
        decide_missing(c, p);
    } else if (head && !base) {
        p->verdict = GATE_NEW;
        if (p->base)
            p->note = text_format("was %s%s%s", row_status_name(p->base->status), p->base->reason ? ": " : "",
                                  p->base->reason ? p->base->reason : "");
    } else if (same_launches(p->base, p->head)) { /* also if neither was run for that reason */
        p->verdict = GATE_SAME;
        p->by = GATE_BY_IMAGE;
    } else {
        compare_facts(c, p);
        if (!decide_by_time(c, p, alpha))
            decide_by_counts(p);
    }
}

/* Neither side ran, as both launch the same. */
static bool is_unrun(const struct gate_comparison *c, const struct gate_entry *base, const struct gate_entry *head)
{
    return c->head->timed && base && head && base->status == ROW_SKIPPED && head->status == ROW_SKIPPED && same_launches(base, head);
}

static struct gate_pair *add_pair(struct gate_comparison *c, const struct gate_entry *base, const struct gate_entry *head)
{
    bool unrun = is_unrun(c, base, head), asked = gate_rules_take(c->rules, head ? head->id : base->id);
    if (!unrun && (!base || (!gate_entry_stands(base) && !is_failed(base))) && (!head || (!gate_entry_stands(head) && !is_failed(head)))) {
        c->left_out++;
        return NULL;
    }
    if (!asked)
        return NULL;
    if (!unrun && !gate_entry_stands(base) && (!head || (!gate_entry_stands(head) && !is_failed(head))))
        return NULL; /* failed in base, and gone */
    struct gate_pair *p = APPEND(c->pairs, c->count);
    *p = (struct gate_pair){.base = base, .head = head, .ratio = NAN, .low = NAN, .high = NAN};
    return p;
}

static int count_timed(const struct gate_comparison *c)
{
    int timed = 0;
    for (int i = 0; i < c->count; i++) {
        const struct gate_pair *p = &c->pairs[i];
        bool both = gate_entry_stands(p->base) && gate_entry_stands(p->head);
        timed += both && headline(p->base) && headline(p->head) && !same_launches(p->base, p->head);
    }
    return timed;
}

/* A missing row and a new row that launch the same are one renamed row. */
static void find_renamed(struct gate_comparison *c)
{
    for (int i = 0; i < c->count; i++)
        for (int k = 0; k < c->count && c->pairs[i].verdict == GATE_MISSING && !c->pairs[i].head; k++) {
            struct gate_pair *gone = &c->pairs[i], *came = &c->pairs[k];
            if (came->verdict != GATE_NEW || came->base || came->note || !same_launches(gone->base, came->head))
                continue;
            gone->note = text_format("renamed: %s has the same launches", came->head->id);
            came->note = text_format("renamed: was %s", gone->base->id);
            break;
        }
}

static int compare_pairs(const void *a, const void *b)
{
    static const int place[GATE_VERDICTS] = {
        [GATE_WRONG] = 0, [GATE_SLOWER] = 1, [GATE_MISSING] = 2, [GATE_UNDECIDED] = 3, [GATE_FASTER] = 4, [GATE_NEW] = 5, [GATE_SAME] = 6};
    const struct gate_pair *x = a, *y = b;
    if (place[x->verdict] != place[y->verdict])
        return place[x->verdict] - place[y->verdict];
    return strcmp(x->head ? x->head->id : x->base->id, y->head ? y->head->id : y->base->id);
}

static void count_pairs(struct gate_comparison *c)
{
    for (int i = 0; i < c->count; i++) {
        c->counts[c->pairs[i].verdict]++;
        c->verified += c->pairs[i].head && c->pairs[i].head->status == ROW_OK;
        c->unrun += c->pairs[i].by == GATE_BY_IMAGE && c->pairs[i].head->status == ROW_SKIPPED;
        c->promotable += c->pairs[i].verdict == GATE_FASTER || c->pairs[i].verdict == GATE_NEW || c->pairs[i].verdict == GATE_MISSING;
    }
    for (int i = 0; i < c->rules->waiver_count; i++)
        c->expired += c->rules->waivers[i].expired;
}

/* Every id of both sides once; both are sorted. */
static void join(struct gate_comparison *c)
{
    for (int i = 0, k = 0; i < c->base->count || k < c->head->count;) {
        const struct gate_entry *base = i < c->base->count ? &c->base->entries[i] : NULL,
                                *head = k < c->head->count ? &c->head->entries[k] : NULL;
        int order = !base ? 1 : !head ? -1 : strcmp(base->id, head->id);
        add_pair(c, order <= 0 ? base : NULL, order >= 0 ? head : NULL);
        i += order <= 0;
        k += order >= 0;
    }
}

/* Checks that each word of the gate's `rows` and of each rule's selects a row, verified or not. */
static bool rows_hit(const struct gate_comparison *c, struct error *err)
{
    const struct gate_side *const sides[] = {c->base, c->head};
    SCOPED const char **ids = xcalloc((size_t)(c->base->count + c->head->count) + 1, sizeof *ids);
    size_t count = 0;
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < sides[s]->count; i++)
            if (!s || !gate_side_find(c->base, sides[s]->entries[i].id))
                ids[count++] = sides[s]->entries[i].id;
    bool ok = true;
    for (int r = -1; r < c->rules->count && ok; r++) {
        const struct glob_list *rows = r < 0 ? &c->rules->rows : &c->rules->items[r].rows;
        SCOPED char *option = r < 0 ? text_format("%s: rows:", c->rules->file ? c->rules->file : "gate")
                                    : text_format("%s:%d: rows:", c->rules->file, c->rules->items[r].line);
        for (size_t i = 0; i < count; i++)
            glob_list_match(rows, ids[i]);
        ok = glob_list_check(rows, option, "row of either side", ids, count, err);
    }
    return ok;
}

bool gate_compare(const struct gate_side *base, const struct gate_side *head, struct gate_rules *rules, bool across,
                  struct gate_comparison *c, struct error *err)
{
    struct text differences = {0};
    *c = (struct gate_comparison){.base = base, .head = head, .rules = rules};
    gate_side_differences(base, head, &differences);
    if (differences.len && !across) {
        error_set(err, ERROR_ENVIRONMENT, "%s and %s cannot be compared: %s", base->name, head->name, text_get(&differences));
        text_free(&differences);
        return error_hint(err, "--across compares them anyway, and marks the result");
    }
    c->ratchet = rules->ratchet && base->kept;
    c->across = differences.len ? text_take(&differences) : NULL;
    join(c);
    c->timed = count_timed(c);
    for (int i = 0; i < c->count; i++)
        decide(c, &c->pairs[i], rules->alpha / (c->timed ? c->timed : 1));
    decide_family(c);
    find_renamed(c);
    count_pairs(c);
    if (c->count)
        qsort(c->pairs, (size_t)c->count, sizeof *c->pairs, compare_pairs);
    if (rows_hit(c, err) && c->count)
        return true;
    if (err && err->kind == ERROR_NONE) {
        error_set(err, ERROR_ENVIRONMENT, "%s and %s: no row of either side was verified, so nothing can be judged", base->name,
                  head->name);
        error_hint(err, "bench run SCENARIO -d emu shows the reasons");
    }
    gate_comparison_free(c);
    return false;
}

void gate_comparison_free(struct gate_comparison *c)
{
    for (int i = 0; i < c->count; i++) {
        for (int k = 0; k < c->pairs[i].change_count; k++)
            free(c->pairs[i].changes[k].file);
        FREE_ALL(c->pairs[i].changes, c->pairs[i].note, c->pairs[i].file);
    }
    FREE_ALL(c->pairs, c->across, c->ops);
    *c = (struct gate_comparison){0};
}

/* A count beyond its allowance fails even if other facts improved. */
static bool is_broken(const struct gate_pair *p)
{
    return p->by == GATE_BY_COUNTS && p->change_count && p->changes[0].judged > 0 && !p->changes[0].waived;
}

bool gate_pair_passes(const struct gate_comparison *c, const struct gate_pair *p)
{
    switch (p->verdict) {
    case GATE_WRONG: return false;
    case GATE_SLOWER:
    case GATE_MISSING: return p->waived;
    case GATE_UNDECIDED: return !p->disturbed && !is_broken(p) && !c->rules->decide;
    case GATE_FASTER:
    case GATE_NEW: return !c->ratchet;
    default: return true;
    }
}

int gate_exit_code(const struct gate_comparison *c)
{
    bool wrong = false, open = false, disturbed = false, worse = c->expired > 0;
    for (int i = 0; i < c->count; i++) {
        const struct gate_pair *p = &c->pairs[i];
        bool fails = !gate_pair_passes(c, p), undecided = p->verdict == GATE_UNDECIDED && !p->disturbed && !is_broken(p);
        disturbed |= p->disturbed;
        wrong |= fails && p->verdict == GATE_WRONG;
        open |= fails && undecided;
        worse |= fails && !undecided && !p->disturbed && p->verdict != GATE_WRONG;
    }
    return wrong ? 4 : worse ? 3 : disturbed || (!c->verified && !c->unrun) ? 5 : open ? 6 : 0;
}

const struct gate_change *gate_pair_worst(const struct gate_pair *p)
{
    return p->change_count ? &p->changes[0] : NULL;
}
