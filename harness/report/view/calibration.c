#include "report/view/calibration.h"
#include "base/order.h"
#include "counter/pairs.h"
#include "report/view/view.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CONSTANT 0.01 /* ratios within 1 % of their median are one constant */

struct match {
    const struct row *emu, *cuda;
};
struct matches {
    struct match *items;
    int count;
};

static struct matches match_rows(struct row *const *emu, int emu_count, struct row *const *cuda, int cuda_count)
{
    struct matches m = {0};
    m.items = xcalloc((size_t)emu_count + 1, sizeof *m.items);
    for (int i = 0; i < emu_count; i++)
        for (int k = 0; k < cuda_count && emu[i]->status == ROW_OK; k++)
            if (cuda[k]->status == ROW_OK && strcmp(emu[i]->id, cuda[k]->id) == 0)
                m.items[m.count++] = (struct match){emu[i], cuda[k]};
    return m;
}

/* A counter of the whole row: its own, else the sum over its steps. */
static double total_of(const struct row *row, const char *name)
{
    struct view v = {.row = row, .metrics = metric_index_of(row)};
    double total = view_total(&v, name);
    metric_index_free(&v.metrics);
    return total;
}

/* What the hardware counted; NaN when one of the terms is absent. */
static double hardware_of(const struct row *row, const struct counter_pair *p)
{
    double sum = 0;
    for (int i = 0; i < COUNTER_PAIR_TERMS && p->terms[i].metric; i++)
        sum += p->terms[i].factor * row_value(row, -1, p->terms[i].metric);
    return sum;
}

struct summary {
    int rows, both_zero, one_zero; /* of rows: neither, or only one of the two counted anything */
    int ratios;
    double *ratio; /* sorted */
    const char *low_id, *high_id;
};

static struct summary summarise(const struct matches *m, const struct counter_pair *p)
{
    struct summary s = {0};
    double low = INFINITY, high = -INFINITY;
    s.ratio = xcalloc((size_t)m->count + 1, sizeof *s.ratio);
    for (int i = 0; i < m->count; i++) {
        double e = total_of(m->items[i].emu, p->emu), h = hardware_of(m->items[i].cuda, p);
        if (isnan(e) || isnan(h))
            continue;
        s.rows++;
        s.both_zero += e == 0 && h == 0;
        s.one_zero += (e == 0) != (h == 0);
        if (e == 0 || h == 0)
            continue;
        double r = e / h;
        s.ratio[s.ratios++] = r;
        s.low_id = r < low ? m->items[i].emu->id : s.low_id;
        s.high_id = r > high ? m->items[i].emu->id : s.high_id;
        low = fmin(low, r);
        high = fmax(high, r);
    }
    qsort(s.ratio, (size_t)s.ratios, sizeof *s.ratio, order_doubles);
    return s;
}

static bool is_constant(const struct summary *s)
{
    double middle = s->ratios ? s->ratio[s->ratios / 2] : NAN;
    return s->ratios > 0 && !s->one_zero && s->ratio[0] >= middle * (1 - CONSTANT) && s->ratio[s->ratios - 1] <= middle * (1 + CONSTANT);
}

static void add_terms(struct text *t, const struct counter_pair *p)
{
    for (int i = 0; i < COUNTER_PAIR_TERMS && p->terms[i].metric; i++) {
        double f = p->terms[i].factor;
        text_add(t, i ? f < 0 ? " - " : " + " : "");
        if (fabs(f) != 1)
            text_addf(t, "%g x ", fabs(f));
        text_addf(t, "%s", p->terms[i].metric);
    }
}

void report_pairs(struct text *t)
{
    text_add(t, "| emu | hardware | constant ratio | what keeps the ratio from being constant |\n|---|---|---|---|\n");
    for (const struct counter_pair *p = counter_pairs; p->emu; p++) {
        text_addf(t, "| %s | ", p->emu);
        add_terms(t, p);
        text_addf(t, " | %s | %s |\n", p->gated ? "yes" : "no", p->why);
    }
}

void report_pair_metrics(struct text *t)
{
    for (const struct counter_pair *p = counter_pairs; p->emu; p++)
        for (int i = 0; i < COUNTER_PAIR_TERMS && p->terms[i].metric; i++)
            text_addf(t, "%s%s", t->len ? "," : "", p->terms[i].metric);
}

static void add_pair(struct text *t, const struct counter_pair *p, const struct summary *s)
{
    bool constant = is_constant(s);
    text_addf(t, "| %s | ", p->emu);
    add_terms(t, p);
    if (s->ratios)
        text_addf(t, " | %d | %d | %d | %.4g | %.4g | %.4g", s->ratios, s->both_zero, s->one_zero, s->ratio[0], s->ratio[s->ratios / 2],
                  s->ratio[s->ratios - 1]);
    else
        text_addf(t, " | 0 | %d | %d |  |  | ", s->both_zero, s->one_zero);
    text_addf(t, " | %s | %s |\n",
              !s->ratios && !s->one_zero ? "never counted"
              : constant                 ? "yes"
                                         : "no",
              p->gated && (s->ratios || s->one_zero) && !constant ? "**gated, but should not be**"
              : p->gated                                          ? "gated"
                                                                  : "reported");
}

static void calibration_add_rows(struct text *t, const struct matches *m)
{
    text_add(t, "\n## Every row\n\n| row | metric | emu | CUPTI | ratio |\n|---|---|---|---|---|\n");
    for (int i = 0; i < m->count; i++)
        for (const struct counter_pair *p = counter_pairs; p->emu; p++) {
            double e = total_of(m->items[i].emu, p->emu), h = hardware_of(m->items[i].cuda, p);
            if (isnan(e) || isnan(h) || (e == 0 && h == 0))
                continue;
            text_addf(t, "| %s | %s | %.17g | %.17g |", m->items[i].emu->id, p->emu, e, h);
            if (h > 0)
                text_addf(t, " %.4g", e / h);
            text_add(t, " |\n");
        }
}

bool report_calibration(struct text *t, const struct run *emu, struct row *const *emu_rows, int emu_count, const struct run *cuda,
                        struct row *const *cuda_rows, int cuda_count, struct error *err)
{
    struct matches m = match_rows(emu_rows, emu_count, cuda_rows, cuda_count);
    int counted = 0;
    text_addf(t,
              "# emu against CUPTI\n\nWritten by `bench report %s --calibration`. emu: run %lld, %s. CUPTI: run %lld, %s, driver %s, %s, "
              "and for rows that it does not have, the newest earlier run on that device. %d rows are verified in both; the ratio is emu "
              "over CUPTI. `constant`: all ratios are within %g %% of their median, and both counted every row.\n\n",
              cuda->scenario ? cuda->scenario : "", (long long)emu->id, emu->device ? emu->device : "", (long long)cuda->id,
              cuda->device_about ? cuda->device_about : "", cuda->driver ? cuda->driver : "", cuda->started, m.count, 100 * CONSTANT);
    text_add(t, "| emu | CUPTI | rows | both 0 | one 0 | lowest | median | highest | constant | in code "
                "|\n|---|---|---|---|---|---|---|---|---|---|\n");
    for (const struct counter_pair *p = counter_pairs; p->emu; p++) {
        struct summary s = summarise(&m, p);
        counted += s.rows;
        add_pair(t, p, &s);
        free(s.ratio);
    }
    calibration_add_rows(t, &m);
    free(m.items);
    if (counted)
        return true;
    error_set(err, ERROR_USAGE, "no counter was counted in both runs (%s and %s)", emu->device ? emu->device : "",
              cuda->device ? cuda->device : "");
    error_hint(err, "bench run %s --device cuda:0 --metrics \"$(bench counters --pair-metrics)\"",
               cuda->scenario ? cuda->scenario : "SCENARIO");
    return false;
}
