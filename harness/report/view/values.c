/* Metrics, counters and times of a row and of its steps. */
#include "report/limits.h"
#include "report/view/view.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

double view_value(const struct view *v, int step, const char *name)
{
    const struct row_metric *m = metric_find(&v->metrics, step, name);
    return m ? m->value : NAN;
}

double view_hardware(const struct view *v, int step, const char *value)
{
    char name[128];
    snprintf(name, sizeof name, METRIC_HARDWARE "%s", value);
    return view_value(v, step, name);
}

double view_metric(const struct view *v, int step, enum metric metric)
{
    return view_value(v, step, metric_names[metric]);
}

double view_counted(const struct view *v, int step, const char *name)
{
    double value = step >= 0 ? view_value(v, step, name) : NAN;
    return isnan(value) && v->steps <= 1 ? view_value(v, -1, name) : value;
}

double known_sum(double a, double b)
{
    return isnan(a) ? b : isnan(b) ? a : a + b;
}

double view_total(const struct view *v, const char *name)
{
    double total = view_value(v, -1, name), sum = NAN;
    if (!isnan(total))
        return total;
    for (int i = 0; i < v->row->step_count; i++) {
        const struct row_metric *m = metric_find(&v->metrics, i, name);
        if (m && !strcmp(m->source, "cupti")) /* hardware counters of a row are its own: shares and ratios of steps do not add up */
            return NAN;
        if (m && !v->row->steps[i].prepare && !isnan(m->value))
            sum = isnan(sum) ? m->value : sum + m->value;
    }
    return sum;
}

double view_part(const struct view *v, int step, enum metric metric)
{
    return step < 0 ? view_total(v, metric_names[metric]) : view_metric(v, step, metric);
}

const struct row_time *step_time(const struct case_view *c, const struct row *row, int step)
{
    for (int i = 0; i < row->time_count; i++) {
        const struct row_time *t = &row->times[i];
        if (t->step == step && row_time_mode(t) == c->mode)
            return t;
    }
    return NULL;
}

double quotient(double a, double b)
{
    return b > 0 ? a / b : NAN; /* NaN stays NaN */
}

double view_emu_bytes(const struct view *v, int step)
{
    double loads = view_part(v, step, METRIC_EMU_SECTORS + SIDE_LOAD), stores = view_part(v, step, METRIC_EMU_SECTORS + SIDE_STORE),
           atomics = view_part(v, step, METRIC_EMU_ATOMIC), copied = view_part(v, step, METRIC_EMU_COPIED);
    if (isnan(loads) && isnan(stores) && isnan(atomics))
        return NAN;
    return SECTOR_BYTES * (fmax(loads, 0) + fmax(stores, 0) + fmax(atomics, 0) + fmax(copied, 0)); /* NaN gives way */
}

bool view_itemises(const struct view *v)
{
    return v->steps > 1 && v->steps <= SHOWN_STEPS;
}
