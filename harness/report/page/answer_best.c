/* report/page/answer_best: `best: {of, param, over, each}`: which value of a parameter is the fastest, along an axis; and `calls: {}`: what
 * a call costs beside its kernels. */
#include "base/spec.h"
#include "report/limits.h"
#include "report/page/answer.h"
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

static struct value *best_value(struct place *p, const char *name)
{
    for (int i = 0; i < p->value_count; i++)
        if (!strcmp(p->values[i].name, name))
            return &p->values[i];
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

/* Of each value of the parameter the fastest row of the case; rows that are another one's machine code are no candidates of their own. */
static int candidates(const struct case_view *c, const struct side *of, const char *param, const struct view **out, int most)
{
    int n = 0;
    for (int i = 0; i < c->count; i++) {
        const struct view *v = &c->views[i];
        const char *value = row_pair_value(v->row->param, v->row->param_count, param);
        int k = 0;
        if (!value || !v->ranked || v->row->status != ROW_OK || v->same_as || !side_has(of, v->row))
            continue;
        while (k < n && strcmp(row_pair_value(out[k]->row->param, out[k]->row->param_count, param), value) != 0)
            k++;
        if (k < most && (k == n || v->time->median_ns < out[k]->time->median_ns))
            out[k] = v;
        n += k == n && k < most;
    }
    return n;
}

#define VALUES_MOST 64

static void add_case(struct place **places, int *count, const struct case_view *c, const struct ask *ask, const struct side *of)
{
    const struct view *list[VALUES_MOST], *fastest = NULL;
    const char *param = ask_word(ask, "param"), *over = ask_word(ask, "over");
    int n = candidates(c, of, param, list, VALUES_MOST);
    for (int i = 0; i < n; i++)
        fastest = !fastest || list[i]->time->median_ns < fastest->time->median_ns ? list[i] : fastest;
    SCOPED char *at = n > 1 ? (*over ? answer_coordinate(list[0]->row, over) : xstrdup("")) : NULL;
    if (!at)
        return;
    SCOPED char *group = each_of(list[0]->row, node_get(ask->answer, "each"));
    struct place *p = best_place(places, count, group, at, strcmp(over, "mask.density") ? (double)*count : list[0]->row->density_in);
    p->cases++;
    for (int i = 0; i < n; i++) {
        struct value *v = best_value(p, row_pair_value(list[i]->row->param, list[i]->row->param_count, param));
        v->log_sum += log(list[i]->time->median_ns / fastest->time->median_ns);
        v->close += list[i]->time->low_ns <= fastest->time->high_ns;
        v->cases++;
    }
}

/* Of the values that all cases of the place have: the one that is least behind, or (worst) most. */
static const struct value *extreme(const struct place *p, bool worst)
{
    const struct value *found = NULL;
    for (int i = 0; i < p->value_count; i++) {
        const struct value *v = &p->values[i];
        if (v->cases == p->cases && (!found || (worst ? v->log_sum > found->log_sum : v->log_sum < found->log_sum)))
            found = v;
    }
    return found;
}

static int by_x(const void *a, const void *b)
{
    const struct place *p = a, *q = b;
    int group = strcmp(p->group, q->group);
    return group ? group : (p->x > q->x) - (p->x < q->x);
}

/* Values other than the winner that no case of the places tells from the fastest. */
static void say_close(struct text *t, const struct place *p, int count, const struct value *winner, const char *param)
{
    const char *separator = "; no significant difference from ";
    for (int i = 0; i < p->value_count; i++) {
        bool close = strcmp(p->values[i].name, winner->name) != 0;
        for (int k = 0; k < count && close; k++) {
            const struct value *v = best_value((struct place *)&p[k], p->values[i].name),
                               *w = best_value((struct place *)&p[k], winner->name);
            close = v->cases == p[k].cases && v->close == v->cases && w->close == w->cases;
        }
        if (close) {
            text_addf(t, "%s%s=%s", separator, param, p->values[i].name);
            separator = ", ";
        }
    }
}

/* Places beside each other with one winner. */
static void say_places(struct text *t, const struct place *p, int count, const char *param, const char *over)
{
    const struct value *winner = extreme(p, false), *worst = NULL;
    char a[NUMBER_TEXT], b[NUMBER_TEXT];
    double behind = 0, most = 0;
    int cases = 0;
    for (int k = 0; k < count; k++) {
        behind += best_value((struct place *)&p[k], winner->name)->log_sum;
        cases += p[k].cases;
        const struct value *w = extreme(&p[k], true);
        if (exp(w->log_sum / p[k].cases) > most) {
            most = exp(w->log_sum / p[k].cases);
            worst = w;
        }
    }
    text_addf(t, "%s=%s", param, winner->name);
    if (*p->at)
        text_addf(t, count > 1 ? " at %s %s to %s" : " at %s %s", over, p->at, p[count - 1].at);
    text_addf(t, " (%sx the time of the fastest value of each case, geometric mean of %d; %s=%s %sx", number_3(exp(behind / cases), a),
              cases, param, worst->name, number_3(most, b));
    say_close(t, p, count, winner, param);
    text_add(t, ")");
}

static void say_group(struct block *list, const char *question, const struct place *p, int count, const char *param, const char *over)
{
    SCOPED_TEXT t = {0};
    int most = 0;
    bool any = false;
    for (int i = 0; i < count; i++)
        most = most > p[i].cases ? most : p[i].cases;
    SCOPED struct place *kept = xcalloc((size_t)count + 1, sizeof *kept); /* a density that bisection added for one case is none for all */
    int n = 0;
    for (int i = 0; i < count; i++)
        if (2 * p[i].cases >= most && extreme(&p[i], false))
            kept[n++] = p[i];
    if (*p->group)
        text_addf(&t, "%s: ", p->group);
    for (int i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && !strcmp(extreme(&kept[i], false)->name, extreme(&kept[end], false)->name);)
            end++;
        text_add(&t, any ? ", " : "");
        say_places(&t, kept + i, end - i, param, over);
        any = true;
    }
    if (any)
        block_item(list, "answer", question, text_get(&t));
}

void answer_value(const struct ask *ask, struct block *list)
{
    const char *param = ask_word(ask, "param"), *over = ask_word(ask, "over");
    struct side of;
    side_read(&of, ask_word(ask, "of"));
    SCOPED char *question = text_format("Which %s is the fastest for %s?", param, without_folder(ask_word(ask, "of")));
    struct place *places = NULL;
    int count = 0, before = list->item_count;
    for (struct case_walk w = {.run = ask->run, .rows = ask->rows, .count = ask->count}; case_next(&w);)
        if (!w.view.counts)
            add_case(&places, &count, &w.view, ask, &of);
    if (count)
        qsort(places, (size_t)count, sizeof *places, by_x);
    for (int i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && !strcmp(places[i].group, places[end].group);)
            end++;
        say_group(list, list->item_count == before ? question : NULL, places + i, end - i, param, over);
    }
    if (list->item_count == before)
        block_item(list, "answer", question,
                   ask_has_no_time(ask) ? "no answer: emu measures no time; run on a GPU"
                                        : "no answer: no case has timed rows of two values");
    for (int i = 0; i < count; i++) {
        free(places[i].group);
        free(places[i].at);
        free(places[i].values);
    }
    free(places);
    side_free(&of);
}
