#include "report/source/listing.h"
#include "counter/group.h"
#include "report/view/metric.h"
#include "report/view/number.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static void put_number(struct text *t, int width, double value)
{
    char n[NUMBER_TEXT];
    text_addf(t, "%*s", width, isnan(value) ? "" : value == floor(value) ? number_count(value, n) : number_3(value, n));
}

static const struct row_metric *listing_find(const struct row *row, int step, int line, const char *name)
{
    return FIRST_IN(row->metrics, i, row->metric_count,
                    row->metrics[i].step == step && row->metrics[i].line == line && !strcmp(row->metrics[i].name, name));
}

static void counter_line(struct text *t, const struct row_metric *m, const char *what)
{
    text_addf(t, "  %-28s", m->name);
    put_number(t, 16, m->value);
    text_addf(t, " %-9s %s\n", m->unit, what);
}

static void add_group(struct text *t, const struct counter_groups *groups, int g, const struct row *row, int step)
{
    const struct counter_group *group = groups->items[g];
    bool any = false;
    for (int i = 0; i < group->value_count; i++) {
        char name[140];
        bool again = ANY_OF(k, g, counter_group_value(groups->items[k], group->values[i].name) >= 0);
        snprintf(name, sizeof name, METRIC_HARDWARE "%s", group->values[i].name);
        const struct row_metric *m = listing_find(row, step, 0, name);
        if (!m || again)
            continue;
        if (!any)
            text_addf(t, "%s: %s\n", group->name, group->about);
        any = true;
        counter_line(t, m, group->values[i].what);
    }
}

void listing_counters(struct text *t, const struct row *row, const struct report_style *style)
{
    SCOPED_BY(counter_groups_free) struct counter_groups groups = {0};
    struct error ignored = {0};
    bool ok = counter_groups_load(NULL, NULL, &groups, &ignored);
    for (int step = -1; step < row->step_count; step++) {
        bool any =
            ANY_OF(i, row->metric_count, row->metrics[i].step == step && !row->metrics[i].line && !strcmp(row->metrics[i].source, "cupti"));
        if (any && step >= 0)
            text_addf(t, "step %s\n", row->steps[step].name);
        for (int g = 0; ok && any && g < groups.count; g++)
            add_group(t, &groups, g, row, step);
        bool heading = false;
        for (int i = 0; i < row->metric_count; i++) { /* asked for by name, or of a group that is not shown */
            const struct row_metric *m = &row->metrics[i];
            bool known = m->step != step || m->line || strcmp(m->source, "cupti") != 0 || metric_is(m, FAMILY_SAMPLES) ||
                         !strcmp(m->name, metric_names[METRIC_SAMPLES_DROPPED]);
            for (int g = 0; g < groups.count && !known; g++)
                known = metric_is(m, FAMILY_HARDWARE) && counter_group_value(groups.items[g], metric_word(m, FAMILY_HARDWARE)) >= 0;
            if (known)
                continue;
            if (!heading)
                text_add(t, "others\n");
            heading = true;
            counter_line(t, m, "");
        }
    }
    if (row->uncounted && row->uncounted[0])
        text_addf(t, "counters  none: %s\n", row->uncounted);
}

void listing_code(struct text *t, const struct row *row, const struct report_style *style)
{
    for (int step = 0; step < row->step_count; step++) {
        SCOPED_TEXT words = {0};
        for (int i = 0; i < row->metric_count; i++) {
            const struct row_metric *m = &row->metrics[i];
            char n[NUMBER_TEXT];
            if (m->step == step && metric_is(m, FAMILY_STATIC) && m->value > 0)
                text_addf(&words, "%s%s %s", words.len ? ", " : "", metric_word(m, metric_is(m, FAMILY_SASS) ? FAMILY_SASS : FAMILY_STATIC),
                          number_count(m->value, n));
        }
        if (words.len)
            text_addf(t, "%s: machine instructions by class: %s\n", row->steps[step].name, text_get(&words));
    }
}
