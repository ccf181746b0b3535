/* report/page/answer_best: `best: {of, param, over, each}`: which value of a parameter is the fastest, along an axis; `rank: {of: [...],
 * over, each}`: the same of variants, all of them in order. */
#include "report/page/answer.h"
#include "base/order.h"
#include "report/view/number.h"
#include "report/view/view.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One value of the parameter, over the cases at one place of the axis: how far it is behind the fastest value of each case. */
struct value {
    const char *name;
    double log_sum;
    int cases, close; /* close: no significant difference from the fastest value */
};

/* The cases of one group at one place of the axis. */
struct place {
    char *group, *at;
    double x; /* the density, else its place in the scenario */
    struct value *values;
    int value_count, cases;
};

static struct place *best_place(struct place **places, int *count, const char *group, const char *at, double x)
{
    for (int i = 0; i < *count; i++)
        if (!strcmp((*places)[i].group, group) && !strcmp((*places)[i].at, at))
            return &(*places)[i];
    struct place *p = APPEND(*places, *count);
    *p = (struct place){.group = xstrdup(group), .at = xstrdup(at), .x = x};
    return p;
}

/* The place's value of this name; without cases if it has none. */
static const struct value *value_in_place(const struct place *p, const char *name)
{
    static const struct value none = {0};
    for (int i = 0; i < p->value_count; i++)
        if (!strcmp(p->values[i].name, name))
            return &p->values[i];
    return &none;
}

static struct value *best_value(struct place *p, const char *name)
{
    const struct value *known = value_in_place(p, name);
    if (known->cases)
        return (struct value *)known;
    struct value *v = APPEND(p->values, p->value_count);
    *v = (struct value){.name = name};
    return v;
}

/* The values of `each`, as "dtype=f16, mask.pattern=iid". */
static char *each_of(const struct row *row, const struct node *each)
{
    struct text t = {0};
    for (int i = 0; each && i < (each->kind == NODE_LIST ? each->count : 1); i++) {
        const struct node *one = each->kind == NODE_LIST ? each->items[i] : each;
        SCOPED char *value = one->kind == NODE_SCALAR ? answer_coordinate(row, one->text) : NULL;
        if (value)
            text_addf(&t, "%s%s=%s", t.len ? ", " : "", one->text, value);
    }
    return t.len ? text_take(&t) : xstrdup("");
}

/* What is asked. */
struct query {
    struct side *of;
    int of_count;
    const char *param; /* NULL: the values are the variants */
    const char *over;
    const struct node *each;
};

/* The row's value; NULL: it is not asked for. */
static const char *value_in(const struct query *q, const struct row *row)
{
    for (int i = 0; i < q->of_count; i++)
        if (side_has(&q->of[i], row))
            return q->param ? row_pair_value(row->param, row->param_count, q->param) : without_folder(q->of[i].variant);
    return NULL;
}

/* The value of a row; of a rule ("auto"), what it took, where another asked row of the case is the same machine code by its own value. */
static const char *named_value(const struct case_view *c, const struct query *q, const struct view *v)
{
    const char *value = value_in(q, v->row);
    for (int i = 0; q->param && value && !strcmp(value, "auto") && i < c->count; i++) {
        const char *taken = answer_same_code(&c->views[i], v) ? value_in(q, c->views[i].row) : NULL;
        value = taken ? taken : value;
    }
    return value;
}

/* The time of the table's line, which the rows of one machine code share. */
static double line_ns(const struct case_view *c, const struct view *v)
{
    return answer_ns(c, v->same_as ? v->same_as : v);
}

/* Of each value the fastest row of the case. Values that are the same machine code are one candidate. */
static int candidates(const struct case_view *c, const struct query *q, const struct view **out, int most)
{
    int n = 0;
    for (int i = 0; i < c->count; i++) {
        const struct view *v = &c->views[i];
        const char *value = named_value(c, q, v);
        int k = 0;
        if (!value || isnan(line_ns(c, v)) || row_is_network(v->row) || v->row->status != ROW_OK)
            continue;
        while (k < n && strcmp(named_value(c, q, out[k]), value) != 0 && !(q->param && answer_same_code(out[k], v)))
            k++;
        if (k < most && (k == n || line_ns(c, v) < line_ns(c, out[k])))
            out[k] = v;
        n += k == n && k < most;
    }
    return n;
}

#define VALUES_MOST 64

static void add_case(struct place **places, int *count, const struct case_view *c, const struct query *q, struct without *without)
{
    const struct view *list[VALUES_MOST], *fastest = NULL;
    int n = candidates(c, q, list, VALUES_MOST);
    for (int i = 0; i < n; i++)
        fastest = !fastest || line_ns(c, list[i]) < line_ns(c, fastest) ? list[i] : fastest;
    SCOPED char *at = n > 1 ? (*q->over ? answer_coordinate(list[0]->row, q->over) : xstrdup("")) : NULL;
    if (!at) {
        if (n > 1)
            answer_without(without, list[0]->row, q->over);
        return;
    }
    SCOPED char *group = each_of(list[0]->row, q->each);
    struct place *p = best_place(places, count, group, at, strcmp(q->over, "mask.density") ? (double)*count : list[0]->row->density_in);
    p->cases++;
    for (int i = 0; i < n; i++) {
        struct value *v = best_value(p, named_value(c, q, list[i]));
        double behind = line_ns(c, list[i]) / line_ns(c, fastest);
        v->log_sum += log(behind);
        v->close += c->by_stored ? behind <= 1 + STORED_EQUAL : list[i]->time->low_ns <= fastest->time->high_ns;
        v->cases++;
    }
}

/* Of the values that all cases of the place have: the one that is least behind. */
static const struct value *least_behind(const struct place *p)
{
    const struct value *found = NULL;
    for (int i = 0; i < p->value_count; i++) {
        const struct value *v = &p->values[i];
        if (v->cases == p->cases && (!found || v->log_sum < found->log_sum))
            found = v;
    }
    return found;
}

ORDER(by_x, struct place, strcmp(x->group, y->group) ?: ORDER_UP(x))

/* Values other than the winner that no case of the places tells from the fastest. */
static void say_close(struct text *t, const struct place *p, int count, const struct value *winner, const char *param)
{
    const char *separator = t->len ? "; no significant difference from " : "no significant difference from ";
    for (int i = 0; i < p->value_count; i++) {
        bool close = strcmp(p->values[i].name, winner->name) != 0;
        for (int k = 0; k < count && close; k++) {
            const struct value *v = value_in_place(&p[k], p->values[i].name), *w = value_in_place(&p[k], winner->name);
            close = v->cases == p[k].cases && v->close == v->cases && w->close == w->cases;
        }
        if (close) {
            text_addf(t, "%s%s=%s", separator, param, p->values[i].name);
            separator = ", ";
        }
    }
}

/* How many places from the first on have it as the fastest value, or do not tell it from the fastest in any case. */
static int reach(const struct place *p, int count, const char *name)
{
    int n = 0;
    for (; n < count; n++) {
        const struct value *v = value_in_place(&p[n], name);
        if (v->cases != p[n].cases || (v->close != v->cases && strcmp(least_behind(&p[n])->name, name) != 0))
            break;
    }
    return n;
}

/* The value with the longest reach; of several the one that is the least behind at the first place. */
static const struct value *winner_from(const struct place *p, int count, int *length)
{
    const struct value *winner = least_behind(p);
    *length = reach(p, count, winner->name);
    for (int i = 0; i < p->value_count; i++) {
        int n = reach(p, count, p->values[i].name);
        if (n > *length || (n == *length && p->values[i].cases == p->cases && p->values[i].log_sum < winner->log_sum)) {
            winner = &p->values[i];
            *length = n;
        }
    }
    return winner;
}

/* The sum of the logarithms of a value over all cases of these places; NAN: not all of them have it. */
static double behind_at(const struct place *p, int count, const char *name)
{
    double sum = 0;
    for (int k = 0; k < count; k++) {
        const struct value *v = value_in_place(&p[k], name);
        sum += v->cases == p[k].cases ? v->log_sum : NAN;
    }
    return sum;
}

/* Places beside each other with one winner, and the value that is the slowest over the same cases. */
static void say_places(struct text *t, const struct place *p, int count, const struct value *winner, const char *param, const char *over)
{
    const char *slowest = winner->name;
    char a[NUMBER_TEXT];
    double behind = behind_at(p, count, winner->name), most = behind;
    int cases = 0;
    for (int k = 0; k < count; k++)
        cases += p[k].cases;
    for (int i = 0; i < p->value_count; i++) {
        double sum = behind_at(p, count, p->values[i].name);
        slowest = sum > most ? p->values[i].name : slowest;
        most = sum > most ? sum : most;
    }
    text_addf(t, "%s=%s%s", param, winner->name, *p->at ? " " : "");
    if (*p->at)
        answer_places(t, over, &p->at, sizeof *p, count);
    SCOPED_TEXT inside = {0};
    if (cases > 1)
        text_addf(&inside, "%sx the time of the fastest value of each case, geometric mean of %d", number_3(exp(behind / cases), a), cases);
    if (slowest != winner->name)
        text_addf(&inside, "%sthe slowest, %s=%s, %sx", inside.len ? "; " : "", param, slowest, number_3(exp(most / cases), a));
    say_close(&inside, p, count, winner, param);
    if (inside.len)
        text_addf(t, " (%s)", text_get(&inside));
}

/* The values in the order of their geometric means; those that not all cases have come last, with the number of theirs. */
static int by_mean(const void *a, const void *b)
{
    const struct value *v = a, *w = b;
    double x = v->log_sum / v->cases, y = w->log_sum / w->cases;
    return v->cases != w->cases ? w->cases - v->cases : (x > y) - (x < y);
}

static void say_rank(struct text *t, const struct place *p, const char *over)
{
    char a[NUMBER_TEXT];
    if (*p->at)
        text_addf(t, "%s %s: ", over, p->at);
    qsort(p->values, (size_t)p->value_count, sizeof *p->values, by_mean);
    for (int i = 0; i < p->value_count; i++) {
        const struct value *v = &p->values[i];
        text_addf(t, "%s%s %sx", i ? ", " : "", v->name, number_3(exp(v->log_sum / v->cases), a));
        if (v->cases < p->cases)
            text_addf(t, " (%d case%s)", v->cases, text_s(v->cases));
    }
    text_add(t, " the time of the fastest");
    if (p->cases > 1)
        text_addf(t, " of each case, geometric mean of %d", p->cases);
}

static void say_group(struct block *list, const char *question, const struct place *p, int count, const struct query *q)
{
    SCOPED_TEXT t = {0};
    int most = 0, n = 0;
    for (int i = 0; i < count; i++)
        most = most > p[i].cases ? most : p[i].cases;
    bool density = !strcmp(q->over, "mask.density"); /* a density that bisection added for one case is none for all */
    SCOPED struct place *kept = xcalloc((size_t)count + 1, sizeof *kept);
    for (int i = 0; i < count; i++)
        if ((!density || 2 * p[i].cases >= most) && (!q->param || least_behind(&p[i])))
            kept[n++] = p[i];
    for (int i = 0, length = 1; i < n; i += length) {
        const struct value *winner = q->param ? winner_from(kept + i, n - i, &length) : NULL;
        if (t.len)
            text_add(&t, ", ");
        else if (*p->group)
            text_addf(&t, "%s: ", p->group);
        if (winner) {
            say_places(&t, kept + i, length, winner, q->param, q->over);
            continue;
        }
        say_rank(&t, kept + i, q->over); /* a line for each place */
        block_item(list, "answer", i ? NULL : question, text_get(&t));
        text_free(&t);
    }
    if (t.len)
        block_item(list, "answer", question, text_get(&t));
}

static void answer_query(const struct ask *asked, struct block *list, const struct query *q, const char *words)
{
    struct ask by_times = *asked, *ask = &by_times;
    ask->stored = answer_stored(ask, q->of, q->of_count);
    SCOPED char *question = answer_question(xstrdup(words), ask->stored);
    SCOPED struct place *places = NULL;
    struct without without = {0};
    int count = 0, before = list->item_count;
    for (struct case_walk w = ask_walk(ask, ask->stored); case_next(&w);)
        if (!w.view.counts || ask->stored)
            add_case(&places, &count, &w.view, q, &without);
    if (count)
        qsort(places, (size_t)count, sizeof *places, by_x);
    for (int i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && !strcmp(places[i].group, places[end].group);)
            end++;
        say_group(list, list->item_count == before ? question : NULL, places + i, end - i, q);
    }
    if (list->item_count == before)
        block_item(list, "answer", question, ask_no_answer(ask, "no answer: no case has timed rows of two values"));
    answer_say_without(list, &without, q->over);
    for (int i = 0; i < count; i++)
        FREE_ALL(places[i].group, places[i].at, places[i].values);
}

void answer_value(const struct ask *ask, struct block *list)
{
    SCOPED_BY(side_free) struct side of = {0};
    side_read(&of, ask_word(ask, "of"));
    SCOPED char *question = text_format("Which %s is the fastest for %s?", ask_word(ask, "param"), without_folder(ask_word(ask, "of")));
    answer_query(ask, list, &(struct query){&of, 1, ask_word(ask, "param"), ask_word(ask, "over"), node_get(ask->answer, "each")},
                 question);
}

void answer_rank(const struct ask *ask, struct block *list)
{
    const struct node *names = node_get(ask->answer, "of");
    struct query q = {.over = ask_word(ask, "over"), .each = node_get(ask->answer, "each")};
    for (int i = 0; names && i < names->count; i++)
        side_read(APPEND(q.of, q.of_count), names->items[i]->text);
    answer_query(ask, list, &q, "Which variants are the fastest?");
    for (int i = 0; i < q.of_count; i++)
        side_free(&q.of[i]);
    free(q.of);
}
