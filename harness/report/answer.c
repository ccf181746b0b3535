/* report/answer: what the scenario asks (`about`, `answers`), answered in a sentence with its figures from the rows. */
#include "base/node.h"
#include "report/break_even.h"
#include "report/first_screen.h"
#include "report/network.h"
#include "report/number.h"
#include "report/verdict.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SENTENCES_MOST 6 /* of one question; the rest stand in their section */

struct ask {
    const struct run *run;
    struct row *const *rows;
    int count;
    const struct judge *judge;
    const struct node *answer;
};

static const char *word_of(const struct node *answer, const char *key)
{
    const struct node *n = node_get(answer, key);
    return n && n->kind == NODE_SCALAR ? n->text : "";
}

/* ---- compare: {what: conv2d/tiled_nohalo, than: conv2d/naive} ---- */

/* The fastest verified configuration of a variant; without time the one that asks for the fewest bytes. */
static const struct view *best_of(const struct case_view *c, const char *variant)
{
    const struct view *best = NULL;
    for (int i = 0; i < c->count; i++) {
        const struct view *v = &c->views[i];
        const char *name = v->row->part_count ? v->row->parts[0].variant : v->row->variant;
        if (!name || strcmp(name, variant) || v->row->status != ROW_OK || !(c->counts ? v->moved_bytes > 0 : v->ranked))
            continue;
        if (!best || (c->counts ? v->moved_bytes < best->moved_bytes : v->time->median_ns < best->time->median_ns))
            best = v;
    }
    return best;
}

struct comparison {
    int cases, faster, slower;
    double least, most;
    char *reason, *where, *limit; /* of the case that is told apart most; what limits the row that is compared with */
    double told;
};

static void compare_case(struct comparison *y, const struct case_view *c, const char *what, const char *than)
{
    const struct view *a = best_of(c, what), *b = best_of(c, than);
    if (!a || !b)
        return;
    double ratio = c->counts ? b->moved_bytes / a->moved_bytes : b->time->median_ns / a->time->median_ns;
    bool apart = c->counts ? ratio != 1 : a->time->high_ns < b->time->low_ns || b->time->high_ns < a->time->low_ns;
    y->least = y->cases ? fmin(y->least, ratio) : ratio;
    y->most = y->cases ? fmax(y->most, ratio) : ratio;
    y->cases++;
    y->faster += apart && ratio > 1;
    y->slower += apart && ratio < 1;
    if (apart && fabs(log(ratio)) >= y->told) {
        struct text words = {0};
        const struct view *slow = ratio > 1 ? b : a, *fast = ratio > 1 ? a : b;
        winner_reason(c, slow, fast, &words);
        free(y->reason);
        free(y->where);
        free(y->limit);
        y->reason = words.len ? text_format("%s: %s", slow->name, text_get(&words)) : NULL;
        y->limit = b->verdicts.count ? text_format("%s is limited by %s: %s", b->name, verdict_word(b), b->verdicts.items[0].says) : NULL;
        y->where = xstrdup(c->rows[0]->case_id);
        y->told = fabs(log(ratio));
        text_free(&words);
    }
}

static void answer_compare(const struct ask *ask, struct block *list)
{
    const char *what = word_of(ask->answer, "what"), *than = word_of(ask->answer, "than");
    struct comparison y = {0};
    struct text t = {0};
    char a[NUMBER_TEXT], b[NUMBER_TEXT];
    bool counts = ask->count && device_counts(ask->rows[0]->device);
    for (struct case_walk w = {.run = ask->run, .rows = ask->rows, .count = ask->count, .judge = ask->judge}; case_next(&w);)
        compare_case(&y, &w.view, what, than);
    if (!y.cases)
        text_addf(&t, "%s and %s: nothing can be said, no case has verified%s rows of both", what, than, counts ? "" : " and timed");
    else
        text_addf(&t, "%s %s than %s in %d of %d cases", what, counts ? "asks for fewer bytes" : "is faster", than, y.faster, y.cases);
    if (y.slower)
        text_addf(&t, ", %s in %d", counts ? "for more" : "slower", y.slower);
    if (y.cases > 1)
        text_addf(&t, ": %s to %s x", number_3(y.least, a), number_3(y.most, b));
    else if (y.cases)
        text_addf(&t, ": %s x", number_3(y.least, a));
    text_add(&t, !y.cases ? "" : counts ? " at the best configuration of each (emu has no time)" : " at the best configuration of each");
    if (y.reason)
        text_addf(&t, ", because at %s %s", y.where, y.reason);
    if (y.limit)
        text_addf(&t, ". There %s", y.limit);
    block_item(list, "answer", NULL, text_get(&t));
    text_free(&t);
    free(y.reason);
    free(y.where);
    free(y.limit);
}

/* ---- best_per_layer, break_even, plan ---- */

/* The mean of the fastest row's speed-ups, where no network weighs the layers. */
static void answer_best(const struct ask *ask, struct block *list)
{
    struct text t = {0};
    int cases = 0, baseline = 0;
    double sum = 0, least = INFINITY, most = 0;
    char a[NUMBER_TEXT], b[NUMBER_TEXT], m[NUMBER_TEXT];
    for (struct case_walk w = {.run = ask->run, .rows = ask->rows, .count = ask->count}; case_next(&w);) {
        const struct view *best = case_best(&w.view), *zero = w.view.zero;
        if (!best || !zero || !zero->ranked || row_is_network(zero->row))
            continue;
        double x = fmax(1, zero->time->median_ns / best->time->median_ns);
        sum += log(x);
        least = fmin(least, x);
        most = fmax(most, x);
        baseline += x <= 1;
        cases++;
    }
    if (cases)
        text_addf(&t,
                  "taking the fastest verified row of each case gains %s x over the baseline on the geometric mean of %d cases (%s to %s)",
                  number_3(exp(sum / cases), m), cases, number_3(least, a), number_3(most, b));
    else
        text_add(&t, "not told: no case has a timed row beside its baseline");
    if (baseline)
        text_addf(&t, "; the baseline itself is the fastest on %d", baseline);
    block_item(list, "answer", "best per layer", text_get(&t));
    text_free(&t);
    network_sentences(list, ask->run, ask->rows, ask->count);
}

static void answer_break_even(const struct ask *ask, struct block *list)
{
    struct break_group *groups;
    int made = break_even_make(&groups, ask->run, ask->rows, ask->count);
    char *rest = text_format("%d further curves stand in the break-even's table", made - SENTENCES_MOST);
    for (int i = 0; i < made && i < SENTENCES_MOST; i++) {
        struct text t = {0};
        break_even_sentence(&groups[i], &t);
        block_item(list, "answer", NULL, text_get(&t));
        text_free(&t);
    }
    block_item(list, "answer", NULL, made > SENTENCES_MOST ? rest : NULL);
    if (!made)
        block_item(list, "answer", "break-even", "not told: no masked case has a time at two densities");
    free(rest);
    break_even_free(groups, made);
}

static void answer_plan(const struct ask *ask, struct block *list)
{
    int before = list->item_count;
    network_plans(list, ask->run, ask->rows, ask->count, word_of(ask->answer, "by"));
    if (list->item_count == before)
        block_item(list, "answer", "plan", "not told: no network was timed whole");
}

/* ---- */

void answer_document(struct document *d, const struct run *run, struct row *const *rows, int count, const struct judge *judge)
{
    static const struct {
        const char *name;
        void (*say)(const struct ask *ask, struct block *list);
    } kinds[] = {{"compare", answer_compare}, {"best_per_layer", answer_best}, {"break_even", answer_break_even}, {"plan", answer_plan}};
    struct error ignored = {0};
    const char *text = run->scenario_text ? run->scenario_text : "";
    struct node *root = *text ? node_parse_text("scenario", text, strlen(text), 1, 1, &ignored) : NULL;
    const struct node *about = root ? node_get(root, "about") : NULL, *answers = root ? node_get(root, "answers") : NULL;
    if (about && about->kind == NODE_SCALAR)
        block_item(document_prose(d, TONE_PLAIN, DETAIL_FULL), NULL, NULL, about->text);
    struct block *list = document_list(d, DETAIL_FULL);
    bool asked[sizeof kinds / sizeof *kinds] = {false}; /* a break-even asked twice is answered whole at once */
    for (int i = 0; answers && answers->kind == NODE_LIST && i < answers->count; i++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            const struct node *answer = node_get(answers->items[i], kinds[k].name);
            if (answer && (k == 0 || !asked[k])) {
                struct ask ask = {run, rows, count, judge, answer};
                kinds[k].say(&ask, list);
                asked[k] = true;
            }
        }
    node_free(root);
}
