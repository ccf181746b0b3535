/* report/page/answer: the scenario's questions (`about`, `answers`), each answered in a sentence with figures from the rows. */
#include "base/order.h"
#include "base/node.h"
#include "report/break_even/break_even.h"
#include "report/page/answer.h"
#include "report/page/network.h"
#include "report/view/number.h"
#include "report/view/predict.h"
#include "report/view/stored.h"
#include "report/view/verdict.h"
#include "report/limits.h"
#include "report/source/fusion.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- best_per_layer, break_even, plan ---- */

/* For a sparse row: scheduled work over dense work; NaN. */
static double scheduled_share(const struct row *row)
{
    bool sparse = row->status == ROW_OK && row->density_in >= 0 && row->density_in < 1 && !row_is_network(row);
    return sparse && row->flop_scheduled > 0 && row->flop > 0 ? row->flop_scheduled / row->flop : NAN;
}

/* What emu can answer instead: the row that requests the fewest bytes, and by how much it exceeds the compulsory ones. */
static void say_least(const struct ask *ask, struct text *t)
{
    char least_variant[VARIANT_BASE] = "", base[VARIANT_BASE], a[NUMBER_TEXT], b[NUMBER_TEXT], m[NUMBER_TEXT];
    int cases = 0, same = 0;
    double sum = 0, low = INFINITY, high = 0;
    for (struct case_walk w = ask_walk(ask, false); case_next(&w);) {
        const struct view *least = NULL;
        for (int i = 0; i < w.view.count; i++) {
            const struct view *v = &w.view.views[i];
            if (v->row->status == ROW_OK && v->moved_over_compulsory > 0 && (!least || v->moved_bytes < least->moved_bytes))
                least = v;
        }
        if (!least)
            continue;
        if (!cases)
            snprintf(least_variant, VARIANT_BASE, "%s", variant_base(least->row, base));
        same += !strcmp(variant_base(least->row, base), least_variant);
        cases++;
        sum += log(least->moved_over_compulsory);
        low = fmin(low, least->moved_over_compulsory);
        high = fmax(high, least->moved_over_compulsory);
    }
    text_add(t, "no answer: emu measures no time; run on a GPU");
    if (cases)
        text_addf(t, ". The row with the fewest bytes moves %sx the compulsory bytes, geometric mean of %d case%s (%s to %s)",
                  number_3(exp(sum / cases), m), cases, text_s(cases), number_3(low, a), number_3(high, b));
    if (cases && same == cases)
        text_addf(t, "; it is %s", least_variant);
}

/* By stored times of the same machine code: the fastest row of each case against the library. False: no case has both. */
static bool say_stored(const struct ask *ask, struct text *t)
{
    const struct stored_time *any = NULL;
    char a[NUMBER_TEXT], b[NUMBER_TEXT], m[NUMBER_TEXT];
    int cases = 0;
    double sum = 0, low = INFINITY, high = 0;
    for (struct case_walk w = ask_walk(ask, true); case_next(&w);) {
        const struct view *best = predicted_winner(&w.view);
        if (!best || !best->stored || !w.view.stored_library || best->row->like_case)
            continue;
        double x = w.view.stored_library->us / best->stored->us;
        any = best->stored;
        sum += log(x);
        low = fmin(low, x);
        high = fmax(high, x);
        cases++;
    }
    if (!cases)
        return false;
    const struct stored_origin *o = &ask->judge->stored->runs[any->run];
    text_addf(t, "%sx as fast as %s, geometric mean of %d case%s (%s to %s), by stored times of the same machine code on %s, %s",
              number_3(exp(sum / cases), m), o->library[0] ? o->library : "the library", cases, text_s(cases), number_3(low, a),
              number_3(high, b), o->gpu, o->date);
    return true;
}

/* The fastest row that is not the library's, alone or chosen by a rule, at each value of the axis `by`: how many times as fast as the
 * baseline. */
struct own_speed {
    const char *at; /* the value; NULL: there is no axis */
    double sum, least, most;
    int cases;
};

static void add_own(struct own_speed **list, int *count, const struct case_view *c, const char *by)
{
    /* a rule may choose the library */
    const struct view *best =
        CASE_LEAST(c, v, v->ranked && !v->same_as && v->row->status == ROW_OK && !v->row->library && !v->row->engine, v->time->median_ns);
    if (!best || best == c->zero || !c->zero->row->library)
        return;
    const char *at = *by ? row_axis(best->row, by) : NULL;
    double x = best->time->ratio > 0 ? best->time->ratio : c->zero->time->median_ns / best->time->median_ns;
    int k = 0;
    while (k < *count && strcmp((*list)[k].at ? (*list)[k].at : "", at ? at : ""))
        k++;
    if (k == *count)
        *APPEND(*list, *count) = (struct own_speed){.at = at, .least = x, .most = x};
    struct own_speed *o = &(*list)[k];
    o->sum += log(x);
    o->least = fmin(o->least, x);
    o->most = fmax(o->most, x);
    o->cases++;
}

static void say_own(struct text *t, const struct own_speed *list, int count, const char *by)
{
    char a[NUMBER_TEXT], b[NUMBER_TEXT], m[NUMBER_TEXT];
    for (int k = 0; k < count; k++) {
        text_add(t, k ? ", " : ". Without the library's rows: ");
        if (list[k].at)
            text_addf(t, "%s %s ", by, list[k].at);
        text_addf(t, "%sx (%s to %s, %d case%s)", number_3(exp(list[k].sum / list[k].cases), m), number_3(list[k].least, a),
                  number_3(list[k].most, b), list[k].cases, text_s(list[k].cases));
    }
}

/* The mean of the fastest rows' speed-ups, as in the tables, if no network weights the layers. Cases whose baseline is `copy` are left
 * out: a control is not a competitor. */
static void answer_best(const struct ask *ask, struct block *list)
{
    struct text t = {0};
    SCOPED struct own_speed *own = NULL;
    int cases = 0, baseline = 0, values = 0;
    double sum = 0, least = INFINITY, most = 0;
    char a[NUMBER_TEXT], b[NUMBER_TEXT], m[NUMBER_TEXT];
    for (struct case_walk w = ask_walk(ask, false); case_next(&w);) {
        const struct view *best = case_best(&w.view), *zero = w.view.zero;
        if (!best || !zero || !zero->ranked || zero->row->status != ROW_OK || row_is_network(zero->row) || zero->row->like_case)
            continue;
        double x = fmax(1, best->time->ratio > 0 ? best->time->ratio : zero->time->median_ns / best->time->median_ns);
        sum += log(x);
        least = fmin(least, x);
        most = fmax(most, x);
        baseline += zero->time->median_ns <= best->time->median_ns;
        cases++;
        add_own(&own, &values, &w.view, ask_word(ask, "by"));
    }
    if (cases)
        text_addf(&t, "with the fastest verified row of each case: %sx as fast as the baseline, geometric mean of %d cases (%s to %s)",
                  number_3(exp(sum / cases), m), cases, number_3(least, a), number_3(most, b));
    else if (ask_has_no_time(ask) && (!ask->judge || !ask->judge->ready || !say_stored(ask, &t)))
        say_least(ask, &t);
    else if (!t.len)
        text_add(&t, "no answer: no case has a timed row beside its baseline");
    if (baseline)
        text_addf(&t, "; the baseline is the fastest in %d", baseline);
    say_own(&t, own, values, ask_word(ask, "by"));
    block_text(list, "answer", "How much faster than the baseline is the fastest row of each layer?", &t);
    network_sentences(list, ask->run, ask->rows, ask->count);
}

/* What emu can answer instead: the share of the dense work in the tiles of the sparse rows. */
static void say_scheduled(const struct ask *ask, struct text *t)
{
    SCOPED double *densities = xcalloc((size_t)ask->count + 1, sizeof *densities);
    int count = 0, kinds = 0;
    bool cropped = false;
    char a[NUMBER_TEXT], b[NUMBER_TEXT], d[NUMBER_TEXT];
    for (int i = 0; i < ask->count; i++)
        if (scheduled_share(ask->rows[i]) > 0) {
            densities[count++] = ask->rows[i]->density_in;
            cropped = cropped || ask->rows[i]->cropped;
        }
    qsort(densities, (size_t)count, sizeof *densities, order_doubles);
    for (int i = 0; i < count; i++)
        if (!kinds || densities[i] > densities[kinds - 1])
            densities[kinds++] = densities[i];
    text_add(t, "no answer: emu measures no time; run on a GPU");
    for (int i = 0; i < kinds; i++) {
        double low = INFINITY, high = 0;
        if (kinds > SHOWN_SENTENCES && i % ((kinds + SHOWN_SENTENCES - 1) / SHOWN_SENTENCES))
            continue;
        for (int k = 0; k < ask->count; k++)
            if (ask->rows[k]->density_in == densities[i] && scheduled_share(ask->rows[k]) > 0) {
                low = fmin(low, scheduled_share(ask->rows[k]));
                high = fmax(high, scheduled_share(ask->rows[k]));
            }
        number_short(100 * low, a);
        text_addf(t, "%s%s", i ? ", " : ". Sparse rows compute in their tiles ", a);
        if (strcmp(number_short(100 * high, b), a) != 0)
            text_addf(t, " to %s", b);
        text_addf(t, " %% at %s %%", number_short(100 * densities[i], d));
    }
    text_add(t, kinds ? " of changed inputs, as shares of the dense work" : "");
    text_add(t, cropped ? ", on the cropped images of emu" : "");
}

/* The fastest stored time of the dense or of the sparse rows of ours; NULL: none has one. */
static const struct view *stored_least(const struct case_view *c, bool dense)
{
    for (int i = 0; i < c->count; i++) { /* in order of stored time */
        const struct view *v = &c->views[c->order[i]];
        if (v->stored && row_runs_dense(v->row) == dense)
            return v;
    }
    return NULL;
}

/* "body_delta at 5 %: sparse_tile 23.2 us, dense wgmma_rs (auto) 89.4 us". */
static void add_densities(struct text *t, const char *layer, const struct view *sparse, const struct view *dense)
{
    const struct view *const both[] = {sparse, dense};
    char n[NUMBER_TEXT];
    text_addf(t, "%s%s%sat %s %%: ", t->len ? "; " : "", layer ? layer : "", layer ? " " : "",
              number_short(100 * sparse->row->density_in, n));
    for (int i = 0; i < 2; i++) {
        text_add(t, i ? ", dense " : "");
        winner_name(both[i], t);
        text_addf(t, " %s us", number_3(both[i]->stored->us, n));
    }
}

/* By stored times of the same machine code. False: no case has one of a sparse and of a dense row. */
static bool say_stored_densities(const struct ask *ask, struct text *t)
{
    SCOPED_TEXT cases = {0};
    SCOPED char *layer = NULL;
    char a[NUMBER_TEXT], b[NUMBER_TEXT];
    double wins = 0, loses = INFINITY;
    int count = 0;
    bool one = true; /* layer */
    for (struct case_walk w = ask_walk(ask, true); case_next(&w);) {
        const struct row *row = w.view.rows[0];
        const struct view *sparse = row->density_in >= 0 ? stored_least(&w.view, false) : NULL,
                          *dense = sparse ? stored_least(&w.view, true) : NULL;
        if (!dense)
            continue;
        one = one && (!layer || text_same(layer, row->layer));
        if (sparse->stored->us < dense->stored->us)
            wins = fmax(wins, row->density_in);
        else
            loses = fmin(loses, row->density_in);
        if (count++ < SHOWN_SENTENCES)
            add_densities(&cases, text_same(layer, row->layer) ? NULL : row->layer, sparse, dense);
        free(layer);
        layer = xstrdup(row->layer ? row->layer : "");
    }
    if (count && one && wins > 0 && wins < loses && isfinite(loses))
        text_addf(t, "between %s and %s %% of changed inputs, ", number_short(100 * wins, a), number_short(100 * loses, b));
    if (count)
        text_addf(t, "by stored times of the same machine code: %s", text_get(&cases));
    if (count > SHOWN_SENTENCES)
        text_addf(t, "; and %d more", count - SHOWN_SENTENCES);
    return count > 0;
}

static void answer_break_even(const struct ask *ask, struct block *list)
{
    static const char question[] = "Below which density is sparse faster than dense?";
    struct break_group *groups;
    int made = break_even_make(&groups, ask->run, ask->rows, ask->count);
    for (int i = 0; i < made && made <= SHOWN_SENTENCES; i++) {
        struct text t = {0};
        break_even_sentence(&groups[i], &t);
        block_text(list, "answer", i ? NULL : question, &t);
    }
    if (made > SHOWN_SENTENCES)
        break_even_sums(list, "answer", question, groups, made);
    if (!made) {
        struct text t = {0};
        if (ask_has_no_time(ask) && (!ask->judge || !ask->judge->ready || !say_stored_densities(ask, &t)))
            say_scheduled(ask, &t);
        else if (!t.len)
            text_add(&t, "no answer: no masked case was timed at two densities");
        block_text(list, "answer", question, &t);
    }
    break_even_free(groups, made);
}

static void answer_plan(const struct ask *ask, struct block *list)
{
    SCOPED char *question = text_format("Which plan, by %s?", ask_word(ask, "by"));
    int before = list->item_count;
    network_plans(list, ask->run, ask->rows, ask->count, ask_word(ask, "by"), question);
    if (list->item_count == before)
        block_item(
            list, "answer", question,
            ask_has_no_time(ask)
                ? "no answer: emu measures no time and runs a whole network only if the library runs none of its layers; run on a GPU"
                : "no answer: no network was timed as a whole");
}

static void answer_knee(const struct ask *ask, struct block *list)
{
    const char *over = ask_word(ask, "over");
    SCOPED char *question = text_format("Until which %s is one more free in a single launch?", over);
    SCOPED_BY(document_free) struct document found = {0};
    struct block *knees = document_list(&found, DETAIL_ALWAYS);
    fusion_knees(knees, ask->run, ask->rows, ask->count, ask->judge, over);
    for (int i = 0; i < knees->item_count; i++)
        block_itemf(list, "answer", i ? NULL : question, "%s: %s", knees->items[i].name, knees->items[i].text);
    if (!knees->item_count)
        block_item(list, "answer", question,
                   ask_no_answer(ask, "no answer: no layer has three values with a row of one launch beside rows of several"));
}

/* ---- */

/* The author's own words stand before the question. */
static void ask_first(struct item *item, const struct node *question)
{
    if (!question)
        return;
    SCOPED char *own = item->name;
    item->name = text_format("%s%s%s", question->text, own ? " " : "", own ? own : "");
}

static const struct kind {
    const char *name;
    void (*say)(const struct ask *ask, struct block *list);
    void (*table)(const struct ask *ask, struct document *d); /* behind all sentences; NULL */
} kinds[] = {{"compare", answer_compare, NULL},
             {"best_per_layer", answer_best, NULL},
             {"break_even", answer_break_even, NULL},
             {"plan", answer_plan, NULL},
             {"best", answer_value, NULL},
             {"calls", answer_calls, answer_calls_table},
             {"rank", answer_rank, NULL},
             {"accuracy", answer_accuracy, NULL},
             {"knee", answer_knee, NULL},
             {"rate", answer_rate, answer_rate_table},
             {"share", answer_share, NULL},
             {"limits", answer_limits, NULL}};

void answer_document(struct document *d, const struct run *run, struct row *const *rows, int count, const struct judge *judge)
{
    struct error ignored = {0};
    const char *text = run->asked ? run->asked : run->scenario_text ? run->scenario_text : "";
    SCOPED_BY(node_leave) struct node *root = *text ? node_parse_text("scenario", text, strlen(text), 1, 1, &ignored) : NULL;
    const struct node *about = root ? node_get(root, "about") : NULL, *answers = root ? node_get(root, "answers") : NULL;
    if (about && about->kind == NODE_SCALAR)
        block_item(document_prose(d, TONE_PLAIN, DETAIL_ALWAYS), NULL, NULL, about->text);
    struct block *list = document_list(d, DETAIL_ALWAYS);
    bool asked[sizeof kinds / sizeof *kinds] = {false};
    SCOPED struct table_wanted {
        struct ask ask;
        const struct kind *kind;
    } *tables = NULL;
    int table_count = 0;
    for (int i = 0; answers && answers->kind == NODE_LIST && i < answers->count; i++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            const struct node *answer = node_get(answers->items[i], kinds[k].name);
            if (answer && !(asked[k] && kinds[k].say == answer_break_even)) { /* one answer covers all break-even questions */
                struct ask ask = {run, rows, count, judge, answer, NULL};
                int first = list->item_count;
                kinds[k].say(&ask, list);
                if (list->item_count > first)
                    ask_first(&list->items[first], node_get(answer, "question"));
                if (kinds[k].table)
                    *APPEND(tables, table_count) = (struct table_wanted){ask, &kinds[k]};
                asked[k] = true;
            }
        }
    if (run->asked)
        block_item(list, "answer", NULL, "these questions are not those of the run's own scenario: bench report --ask FILE");
    for (int i = 0; i < table_count; i++) /* further blocks: `list` ends here */
        tables[i].kind->table(&tables[i].ask, d);
}
