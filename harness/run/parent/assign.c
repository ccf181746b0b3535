/* Gives cases to the processes of GPUs, and completes networks with what their layers' counts say. */
#include "base/text.h"
#include "plan/rows/choose.h"
#include "run/message/wire.h"
#include "run/parent/fleet.h"
#include <math.h>
#include <string.h>

#define TURN_ROWS 40       /* that wait: a further count costs 0.4 s, and each of its rows saves 0.015 s on each GPU */
#define TURN_LEFT 0.45     /* of the run's work waits, which takes the other at least as long as counting does */
#define RUN_OVER_COUNT 2.5 /* a row of sparsity_small runs for 0.1 s on an H200, and is counted in 0.034 s; one of EDSR 0.2 and 0.09 s */

int fleet_case_end(const struct fleet *f, int c)
{
    int i = f->first[c];
    while (i < f->s->plan.row_count && f->s->plan.rows[i].case_index == c)
        i++;
    return i;
}

int fleet_rows(const struct fleet *f, int c)
{
    int count = 0;
    for (int i = f->first[c], end = fleet_case_end(f, c); i < end; i++)
        count += f->s->plan.rows[i].kind == PLAN_LAYER && f->s->plan.rows[i].facts.feasible;
    return count;
}

/* The rows that go with a case: its own that this GPU has measured already, and those of a network's layers. */
static void add_rows_for(const struct fleet *f, int c, const struct gpu *g, struct text *t)
{
    const struct session *s = f->s;
    for (int i = f->first[c], end = fleet_case_end(f, c); i < end; i++) {
        const char *uuid = s->rows[i] && s->rows[i]->gpu_uuid ? s->rows[i]->gpu_uuid : "";
        if (s->rows[i] && ((s->kept[i] && !strcmp(uuid, g->uuid)) || s->rows[i]->status == ROW_SKIPPED))
            wire_rows_add(t, i, s->rows[i]);
    }
    for (int k = 0; f->queue.needs[c] && k < f->queue.count; k++)
        for (int i = f->first[k], end = f->queue.needs[c][k] ? fleet_case_end(f, k) : i; i < end; i++)
            if (s->rows[i])
                wire_rows_add(t, i, s->rows[i]);
}

/* What a case that waits costs, in counts of a row: each row runs, and layers' rows are counted. */
static double counts_of(const struct fleet *f, int c)
{
    double rows = 0;
    for (int i = f->first[c], end = fleet_case_end(f, c); i < end; i++)
        rows += f->s->plan.rows[i].facts.feasible;
    return RUN_OVER_COUNT * rows + fleet_rows(f, c);
}

/* The same of all cases that wait; stops at `most`. */
static double counts_left(const struct fleet *f, double most)
{
    double left = 0;
    for (int at = f->queue.head; at < f->queue.count && left < most; at++)
        left += f->queue.state[f->queue.order[at]] == CASE_WAITING ? counts_of(f, f->queue.order[at]) : 0;
    return left;
}

/* Two H200 that count at the same time take 1.3 to 1.8 times as long, in the driver. */
static bool other_counts(const struct fleet *f, const struct gpu *g)
{
    return f->count == 2 && f->gpus[g == f->gpus].last == FEED_COUNT;
}

/* Both GPUs count at the end. So one of them counts most of its rows earlier, while the other measures. The other counts its rows in one
 * go at the end, while the first runs the remaining ones (is_behind). Whichever has its rows first begins, because a network of ten
 * seconds may keep the other busy.
 */
static bool has_turn(const struct fleet *f, struct gpu *g)
{
    double most = TURN_LEFT * f->work;
    if (f->count != 2 || f->gpus[0].had_turn || f->gpus[1].had_turn || other_counts(f, g) || !f->s->counts || g->rows < TURN_ROWS ||
        counts_left(f, most) >= most)
        return false;
    return g->had_turn = true;
}

/* Has so much more to count than another GPU that the others can meanwhile run and count what is left. */
static bool is_behind(const struct fleet *f, const struct gpu *g)
{
    int least = g->rows, others = 0;
    if (other_counts(f, g) && f->queue.waiting)
        return false;
    for (int k = 0; k < f->count; k++) {
        const struct gpu *other = &f->gpus[k];
        if (other == g || other->child.pid <= 0 || other->ended || other->health == HEALTH_REFUSED)
            continue;
        int rows = other->last == FEED_COUNT ? 0 : other->rows;
        least = rows < least ? rows : least;
        others++;
    }
    double more = (double)(g->rows - least) * others;
    return counts_left(f, more) < more;
}

void fleet_index(struct fleet *f, const double *seconds)
{
    const struct plan *plan = &f->s->plan;
    f->choices = json_array();
    f->first = xcalloc((size_t)plan->case_count + 2, sizeof *f->first);
    f->wanted = xcalloc((size_t)plan->case_count + 1, sizeof *f->wanted);
    f->dirty = xcalloc((size_t)plan->row_count + 1, sizeof *f->dirty);
    queue_init(&f->queue, seconds, plan->case_count);
    for (int c = 0; c < plan->case_count && f->s->options->on_every_gpu; c++)
        for (int k = 0; k < f->count; k++)
            for (int i = 0; i < plan->cases[c].axis_count; i++)
                if (!strcmp(plan->cases[c].axes[i].axis, "gpu") && !strcmp(plan->cases[c].axes[i].value, f->gpus[k].number))
                    f->queue.pin[c] = k;
    for (int i = plan->row_count - 1; i >= 0; i--)
        f->first[plan->rows[i].case_index] = i;
    for (int i = 0; i < plan->row_count; i++) {
        int c = plan->rows[i].case_index;
        if (plan->rows[i].kind != PLAN_CHAIN)
            continue;
        if (!f->queue.needs[c])
            f->queue.needs[c] = xcalloc((size_t)plan->case_count + 1, sizeof(bool));
        SCOPED bool *needs = xcalloc((size_t)plan->case_count + 1, sizeof *needs);
        choose_needs(plan, i, needs);
        for (int k = 0; k < plan->case_count; k++)
            f->queue.needs[c][k] = f->queue.needs[c][k] || (needs[k] && k != c);
    }
    for (int c = 0; c < plan->case_count; c++)
        for (int k = 0; f->queue.needs[c] && k < plan->case_count; k++)
            f->wanted[k] = f->wanted[k] || f->queue.needs[c][k] || k == c;
    queue_order(&f->queue, seconds);
    f->work = counts_left(f, INFINITY);
}

static void answer(struct fleet *f, struct gpu *g, int c)
{
    enum idle why = g->asked_s < f->judged_s ? IDLE_START : c == FEED_END ? IDLE_END : IDLE_LAYERS;
    SCOPED_TEXT rows = {0};
    g->idle_s[why] += clock_s() - g->asked_s;
    g->asks = false;
    g->ended = c == FEED_END;
    if (c >= 0)
        add_rows_for(f, c, g, &rows);
    g->last = c;
    g->running += c >= 0;
    g->rows += c >= 0 ? fleet_rows(f, c) : 0;
    f->running += c >= 0;
    g->ahead = queue_ahead(&f->queue, (int)(g - f->gpus), g->ahead);
    child_send(&g->child,
               json_pack("{s:i,s:i,s:o}", "case", c, "ahead", g->ahead, FRAME_PACKED, json_stringn_nocheck(text_get(&rows), rows.len)));
}

void fleet_assign(struct fleet *f)
{
    for (int k = 0; k < f->count; k++) {
        struct gpu *g = &f->gpus[k];
        if (!g->asks || g->child.pid <= 0)
            continue;
        bool ends = f->s->interrupted || g->health == HEALTH_REFUSED;
        int c = ends ? FEED_END : is_behind(f, g) || has_turn(f, g) ? FEED_COUNT : queue_take(&f->queue, k);
        if (c == FEED_END && !ends && g->running)
            c = FEED_COUNT;
        if (c != FEED_END || ends || !f->running)
            answer(f, g, c);
    }
}

void fleet_receive(struct fleet *f, int i)
{
    if (!f->dirty[i])
        *APPEND(f->received, f->received_count) = i;
    f->dirty[i] = true;
}

void fleet_complete(struct fleet *f)
{
    const json_t *one;
    size_t k, link;
    json_array_foreach(f->choices, k, one)
    {
        int i = (int)json_integer_value(json_array_get(one, 0));
        const json_t *links = json_array_get(one, 1), *row;
        struct row *of = i >= 0 && i < f->s->plan.row_count && f->s->plan.rows[i].kind == PLAN_CHAIN ? f->s->rows[i] : NULL;
        if (!of || isfinite(row_value(of, -1, "chain.library_layout_ns")) ||
            (int)json_array_size(links) != f->s->plan.rows[i].chain->work->chain->count)
            continue;
        SCOPED int *choice = xcalloc(json_array_size(links) + 1, sizeof *choice);
        bool there = true;
        json_array_foreach(links, link, row)
        {
            choice[link] = (int)json_integer_value(row);
            there = there && choice[link] < f->s->plan.row_count && (choice[link] < 0 || f->s->rows[choice[link]]);
        }
        if (there && choose_library_layout(&f->s->plan, i, choice, f->s->rows, of))
            fleet_receive(f, i);
    }
}
