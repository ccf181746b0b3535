/* report/page/answer_rate: `rate: {of: [...]}`: operations a second over the operations of a case, by powers of ten. The plot of a run,
 * "time over useful operations", draws the same cases. `share: {value, of: [...]}`: a column of the tables in percent, over the cases.
 * `limits: {of: [...]}`: the columns bottleneck and spill, counted over the cases. */
#include "base/stats/quantile.h"
#include "base/order.h"
#include "report/page/answer.h"
#include "report/view/number.h"
#include "report/view/predict.h"
#include "report/view/verdict.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* GFLOP/s, which is FLOP over ns, of one variant in the cases of one size. */
struct speed {
    double log_sum, least, most;
    int cases;
};

/* The cases of 10^power to 10^(power + 1) GFLOP. */
struct size {
    int power, cases;
    struct speed *of; /* of the fastest row of each case, then of each variant that is asked for */
};

struct rates {
    struct size *sizes;
    int size_count;
    struct side *sides;
    int side_count;
    double most, peak; /* peak: FLOP/s of the pipe; 0: not known, or not one for all cases */
    char *most_of;     /* the row with the highest rate and its case */
    int cases;
};

static struct size *size_of(struct rates *r, int power)
{
    int at = 0;
    while (at < r->size_count && r->sizes[at].power < power)
        at++;
    if (at < r->size_count && r->sizes[at].power == power)
        return &r->sizes[at];
    (void)APPEND(r->sizes, r->size_count);
    for (int i = r->size_count - 1; i > at; i--)
        r->sizes[i] = r->sizes[i - 1];
    r->sizes[at] = (struct size){.power = power, .of = xcalloc((size_t)r->side_count + 1, sizeof(struct speed))};
    return &r->sizes[at];
}

/* The fastest verified row, of a side or of all. NULL: none is timed. */
static const struct view *fastest_of(const struct case_view *c, const struct side *side)
{
    return CASE_LEAST(c, v, v->ranked && v->row->status == ROW_OK && !row_is_network(v->row) && (!side || side_has(side, v->row)),
                      v->time->median_ns);
}

static void add_speed(struct speed *s, double rate)
{
    s->least = s->cases ? fmin(s->least, rate) : rate;
    s->most = fmax(s->most, rate);
    s->log_sum += log(rate);
    s->cases++;
}

static void rate_case(struct rates *r, const struct case_view *c)
{
    const struct row *row = c->rows[0];
    double flop = useful_flop(row);
    const struct view *best = row->like_case ? NULL : fastest_of(c, NULL);
    if (!best || !(flop > 0))
        return;
    double rate = flop / best->time->median_ns, peak = machine_row_flop_s(&c->machine, row);
    r->peak = r->cases++ && r->peak != peak ? 0 : peak;
    struct size *s = size_of(r, (int)floor(log10(flop / 1e9)));
    s->cases++;
    add_speed(s->of, rate);
    for (int i = 0; i < r->side_count; i++) {
        const struct view *v = fastest_of(c, &r->sides[i]);
        if (v)
            add_speed(&s->of[i + 1], flop / v->time->median_ns);
    }
    if (rate > r->most) {
        r->most = rate;
        free(r->most_of);
        r->most_of = text_format("%s at %s", best->name, row->case_id);
    }
}

static void find_rates(const struct ask *ask, struct rates *r)
{
    const struct node *of = node_get(ask->answer, "of");
    *r = (struct rates){0};
    for (int i = 0; of && i < of->count; i++)
        side_read(APPEND(r->sides, r->side_count), of->items[i]->text);
    for (struct case_walk w = ask_walk(ask, false); case_next(&w);)
        rate_case(r, &w.view);
}

static void rates_free(struct rates *r)
{
    for (int i = 0; i < r->side_count; i++)
        side_free(&r->sides[i]);
    for (int i = 0; i < r->size_count; i++)
        free(r->sizes[i].of);
    FREE_ALL(r->sides, r->sizes, r->most_of);
}

/* "0.01 to 0.1". */
static char *size_words(const struct size *s)
{
    char a[NUMBER_TEXT], b[NUMBER_TEXT];
    return text_format("%s to %s", number_short(pow(10, s->power), a), number_short(pow(10, s->power + 1), b));
}

void answer_rate(const struct ask *ask, struct block *list)
{
    SCOPED_BY(rates_free) struct rates r = {0};
    SCOPED_TEXT t = {0};
    char a[NUMBER_TEXT], b[NUMBER_TEXT];
    find_rates(ask, &r);
    for (int i = 0; i < r.size_count; i++) {
        const struct size *s = &r.sizes[i];
        SCOPED char *size = size_words(s);
        text_addf(&t, i ? ", %s" : "the fastest row of each case reaches %s", number_3(exp(s->of[0].log_sum / s->cases), a));
        text_addf(&t, i ? " at %s (%d)" : " GFLOP/s at %s GFLOP (geometric mean of %d)", size, s->cases);
    }
    if (r.size_count)
        text_addf(&t, ". The highest rate is %s GFLOP/s, of %s", number_3(r.most, a), r.most_of);
    if (r.size_count && r.peak > 0)
        text_addf(&t, ": %s %% of the %s GFLOP/s of its pipe", number_percent(r.most * 1e9 / r.peak, a), number_3(r.peak / 1e9, b));
    if (r.peak > 0 && r.most * 1e9 > r.peak)
        text_add(&t, "; above 100 % a method needs fewer operations than the direct one, whose number the rate counts");
    if (!r.size_count)
        text_add(&t, ask_no_answer(ask, "no answer: no timed case has operations"));
    block_text(list, "answer", "Which rate do small and large operations reach?", &t);
}

static void speed_cell(struct table *t, const struct speed *s, int cases)
{
    char m[NUMBER_TEXT], a[NUMBER_TEXT], b[NUMBER_TEXT], of[24] = "";
    if (!s->cases) {
        table_absent(t, 1);
        return;
    }
    if (s->cases < cases)
        snprintf(of, sizeof of, ", %d", s->cases);
    table_cell(t, PAINT_NONE, s->cases > 1 ? "%s (%s to %s%s)" : "%s", number_3(exp(s->log_sum / s->cases), m), number_3(s->least, a),
               number_3(s->most, b), of);
}

void answer_rate_table(const struct ask *ask, struct document *d)
{
    SCOPED_BY(rates_free) struct rates r = {0};
    find_rates(ask, &r);
    struct table *t = table_new();
    table_columns(t, {"size", "GFLOP", ALIGN_LEFT}, {"cases", "cases", ALIGN_RIGHT});
    table_column(t, "fastest", "fastest GFLOP/s (from to, cases)", ALIGN_RIGHT,
                 .about =
                     "useful operations over the time of the fastest verified row of each case: geometric mean, minimum and maximum, and "
                     "the number of cases if not every case has one");
    for (int i = 0; i < r.side_count; i++)
        table_column(t, "variant", without_folder(r.sides[i].variant), ALIGN_RIGHT, .about = "the same of its fastest row");
    t->wide = true;
    for (int i = 0; i < r.size_count; i++) {
        const struct size *s = &r.sizes[i];
        SCOPED char *size = size_words(s);
        table_row(t, LINE_PLAIN);
        table_cell(t, PAINT_NONE, "%s", size);
        table_cell(t, PAINT_NONE, "%d", s->cases);
        for (int k = 0; k <= r.side_count; k++)
            speed_cell(t, &s->of[k], s->cases);
    }
    if (r.size_count)
        document_table(d, t, DETAIL_ALWAYS);
    else
        table_free(t);
}

/* ---- share ---- */

/* Over the cases, of the fastest row of all, or of a side. */
struct shares {
    double *values;
    int count, none, unknown; /* none: of 0 % */
    double least, most;
    char *least_of, *most_of; /* "wgmma_rs at edsr/body_1" */
};

static void shares_free(struct shares *s)
{
    FREE_ALL(s->values, s->least_of, s->most_of);
}

/* As the column of a case's table has it; NaN. */
static double share_in(const struct case_view *c, const struct view *v, const char *value)
{
    if (strcmp(value, "speed_of_light") != 0)
        return view_hardware(v, -1, value);
    return 100 * (isnan(c->roof_ns) ? v->floor_share : v->roof_share);
}

static void take_end(double *end, char **of, double share, const struct view *v)
{
    *end = share;
    free(*of);
    *of = text_format("%s at %s", v->name, v->row->case_id);
}

static void add_share(struct shares *s, const struct view *v, double share)
{
    s->unknown += isnan(share);
    s->none += share == 0;
    if (!(share > 0))
        return;
    if (!s->count || share < s->least)
        take_end(&s->least, &s->least_of, share, v);
    if (!s->count || share > s->most)
        take_end(&s->most, &s->most_of, share, v);
    *APPEND(s->values, s->count) = share;
}

/* predicted: of the row that is the fastest by stored and predicted times, as emu's model of the chip has it. */
static struct shares find_shares(const struct ask *ask, const char *value, const struct side *side, bool predicted)
{
    struct shares s = {0};
    for (struct case_walk w = ask_walk(ask, predicted); case_next(&w);) {
        const struct view *v = w.view.rows[0]->like_case ? NULL : predicted ? predicted_winner(&w.view) : fastest_of(&w.view, side);
        if (v)
            add_share(&s, v, predicted ? predicted_value(&w.view, v, value) : share_in(&w.view, v, value));
    }
    return s;
}

static void say_shares(struct text *t, struct shares *s)
{
    char a[NUMBER_TEXT], b[NUMBER_TEXT], m[NUMBER_TEXT];
    if (s->count > 1)
        text_addf(t, "%s to %s %% (median of %d cases: %s)", number_3(s->least, a), number_3(s->most, b), s->count,
                  number_3(quantile_median(s->values, s->count), m));
    else
        text_addf(t, "%s %%", number_3(s->least, a));
    if (s->none)
        text_addf(t, ", 0 %% in %d more", s->none);
    if (s->unknown)
        text_addf(t, ", not known in %d more", s->unknown);
}

/* What the column is called and means; NULL: the rule files were not found, or it is no counter's. */
static const struct counter_value *counter_named(const struct ask *ask, const char *value)
{
    const struct counter_groups *groups = ask->judge ? &ask->judge->groups : NULL;
    for (struct counter_place p = {0}; counter_next(groups, &p, COUNTER_HEAD);)
        if (!strcmp(p.group->values[p.value].name, value))
            return &p.group->values[p.value];
    return NULL;
}

void answer_share(const struct ask *ask, struct block *list)
{
    const char *value = ask_word(ask, "value");
    const struct counter_value *counter = counter_named(ask, value);
    const struct node *of = node_get(ask->answer, "of");
    const char *head = counter ? counter->head : !strcmp(value, "speed_of_light") ? "SOL" : value;
    SCOPED char *question = text_format("How high is %s in the fastest row of each case?", head);
    bool predicted = ask_has_no_time(ask) && ask->judge && ask->judge->ready;
    SCOPED_BY(shares_free) struct shares all = find_shares(ask, value, NULL, predicted);
    SCOPED_TEXT t = {0};
    if (all.count) {
        text_add(&t, predicted ? "predicted from emu's counts and the stored or predicted time: " : "");
        say_shares(&t, &all);
        text_addf(&t, all.count > 1 ? "; the least of %s, the most of %s" : "; of %s", all.least_of, all.most_of);
    }
    for (int i = 0; all.count && !predicted && of && i < of->count; i++) {
        SCOPED_BY(side_free) struct side side = {0};
        side_read(&side, of->items[i]->text);
        SCOPED_BY(shares_free) struct shares own = find_shares(ask, value, &side, false);
        if (own.count) {
            text_addf(&t, "; %s: ", answer_side_name(&side));
            say_shares(&t, &own);
        }
    }
    if (all.count && counter)
        text_addf(&t, ". %s: %s", head, counter->what);
    if (!all.count)
        text_add(&t, ask_no_answer(ask, "no answer: no timed row has it"));
    block_text(list, "answer", question, &t);
}

/* ---- limits ---- */

struct limit {
    const char *word; /* "compute"; "": no rule holds */
    int cases;
};

/* The commonest first, in the order of the alphabet where they are equally common. */
ORDER(by_cases, struct limit, ORDER_DOWN(cases) ?: strcmp(x->word, y->word))

static void count_limit(struct limit **list, int *count, const char *word)
{
    int k = 0;
    while (k < *count && strcmp((*list)[k].word, word) != 0)
        k++;
    if (k == *count)
        *APPEND(*list, *count) = (struct limit){.word = word};
    (*list)[k].cases++;
}

static void say_limits(struct text *t, const struct ask *ask, const struct side *side)
{
    SCOPED struct limit *list = NULL;
    int count = 0, cases = 0, spilling = 0, known = 0, least = 0, most = 0;
    for (struct case_walk w = ask_walk(ask, true); case_next(&w);) {
        const struct view *v = w.view.rows[0]->like_case ? NULL : fastest_of(&w.view, side);
        if (!v)
            continue;
        count_limit(&list, &count, v->verdicts.judged ? verdict_word(v) : "not judged"); /* the rule files outlive the case */
        cases++;
        known += v->spill_bytes >= 0;
        if (v->spill_bytes > 0) {
            least = spilling && least < v->spill_bytes ? least : v->spill_bytes;
            most = most > v->spill_bytes ? most : v->spill_bytes;
            spilling++;
        }
    }
    if (count)
        qsort(list, (size_t)count, sizeof *list, by_cases);
    for (int i = 0; i < count; i++) {
        const char *word = list[i].word[0] ? list[i].word : "no rule holds";
        if (i)
            text_addf(t, ", %s in %d", word, list[i].cases);
        else
            text_addf(t, "%s%s: %s in %d of %d cases", t->len ? "; " : "", answer_side_name(side), word, list[i].cases, cases);
    }
    if (spilling)
        text_addf(t, least < most ? "; it spills in %d, %d to %d B a thread" : "; it spills in %d, %d B a thread", spilling, least, most);
    else if (known)
        text_add(t, "; it spills in none");
}

void answer_limits(const struct ask *ask, struct block *list)
{
    const struct node *of = node_get(ask->answer, "of");
    SCOPED_TEXT t = {0};
    for (int i = 0; i < of->count && !ask_has_no_time(ask); i++) {
        SCOPED_BY(side_free) struct side side = {0};
        side_read(&side, of->items[i]->text);
        say_limits(&t, ask, &side);
    }
    if (!t.len)
        text_add(&t, ask_no_answer(ask, "no answer: no timed row is one of them"));
    block_text(list, "answer", "What limits the fastest row of each case?", &t);
}
