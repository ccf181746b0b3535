#include "report/counted.h"
#include "report/number.h"
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long long number_of(const json_t *o, const char *key)
{
    return (long long)json_integer_value(json_object_get(o, key));
}

static void triple(const json_t *o, const char *key, char out[48])
{
    const json_t *a = json_object_get(o, key);
    snprintf(out, 48, "%lldx%lldx%lld", (long long)json_integer_value(json_array_get(a, 0)), (long long)json_integer_value(json_array_get(a, 1)),
             (long long)json_integer_value(json_array_get(a, 2)));
}

void report_kernels(struct text *t, const struct row *row)
{
    json_t *list = row->kernels ? json_loads(row->kernels, 0, NULL) : NULL, *one;
    size_t i;
    if (json_array_size(list))
        text_addf(t, "kernels  one run, as CUPTI saw it in a pass of its own\n  %-4s %10s %8s %5s %8s  %-16s %-12s name\n", "step", "time us", "gap us", "regs", "smem B",
                  "grid", "block");
    json_array_foreach(list, i, one)
    {
        char time[NUMBER_TEXT], gap[NUMBER_TEXT] = "", grid[48], block[48];
        const char *name = json_string_value(json_object_get(one, "name"));
        number_3((double)number_of(one, "ns") / 1e3, time);
        if (json_object_get(one, "gap_ns"))
            number_3((double)number_of(one, "gap_ns") / 1e3, gap);
        triple(one, "grid", grid);
        triple(one, "block", block);
        text_addf(t, "  %-4lld %10s %8s %5lld %8lld  %-16s %-12s %s\n", number_of(one, "step"), time, gap, number_of(one, "registers"),
                  number_of(one, "static_smem") + number_of(one, "dynamic_smem"), grid, block, name ? name : "");
    }
    json_decref(list);
}

static bool is_counted(const struct row *row, int step)
{
    for (int i = 0; i < row->metric_count; i++)
        if (row->metrics[i].step == step && strcmp(row->metrics[i].source, "cupti") == 0)
            return true;
    return false;
}

static void counters_of(struct text *t, const struct row *row, int step)
{
    char a[NUMBER_TEXT];
    if (!is_counted(row, step))
        return;
    text_addf(t, "counters  %s\n", step < 0 ? "the whole row" : step < row->step_count ? row->steps[step].name : "?");
    for (int i = 0; i < row->metric_count; i++) {
        const struct row_metric *m = &row->metrics[i];
        if (m->step == step && strcmp(m->source, "cupti") == 0)
            text_addf(t, "  %-40s %16s %s\n", m->name, fabs(m->value) >= 1000 || m->value == floor(m->value) ? number_count(m->value, a) : number_3(m->value, a), m->unit);
    }
}

void report_counters(struct text *t, const struct row *row)
{
    for (int step = -1; step < row->step_count; step++)
        counters_of(t, row, step);
    if (row->uncounted && row->uncounted[0])
        text_addf(t, "counters  none: %s\n", row->uncounted);
}
