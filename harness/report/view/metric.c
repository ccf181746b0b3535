/* report/view/metric: see metric.h. */
#include "report/view/metric.h"
#include "base/order.h"
#include "base/text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_ONE(id, name) name,
#define NAME_BOTH(id, load, store) load, store,
const char *const metric_names[METRIC_COUNT] = {METRICS(NAME_ONE, NAME_BOTH)};

bool metric_is_wait(const struct row_metric *m)
{
    if (m->line || !metric_is(m, FAMILY_STALL))
        return false;
    const char *state = metric_word(m, FAMILY_STALL);
    return strcmp(state, "selected") != 0 && strcmp(state, "not_selected") != 0;
}

ORDER_POINTERS(by_step_and_name, struct row_metric, x->step != y->step ? ORDER_UP(step) : strcmp(x->name, y->name))

/* Of equal names the first stays: a stable sort, then duplicates are dropped. */
ORDER_POINTERS(by_place, struct row_metric, by_step_and_name(first, second) ?: (x > y) - (x < y))

struct metric_index metric_index_of(const struct row *row)
{
    struct metric_index x = {.sorted = xcalloc((size_t)row->metric_count + 1, sizeof *x.sorted)};
    int count = 0;
    for (int i = 0; i < row->metric_count; i++)
        if (!row->metrics[i].line)
            x.sorted[count++] = &row->metrics[i];
    qsort(x.sorted, (size_t)count, sizeof *x.sorted, by_place);
    for (int i = 0; i < count; i++)
        if (!i || by_step_and_name(&x.sorted[i], &x.sorted[x.count - 1]))
            x.sorted[x.count++] = x.sorted[i];
    return x;
}

void metric_index_free(struct metric_index *x)
{
    free(x->sorted);
    *x = (struct metric_index){0};
}

const struct row_metric *metric_find(const struct metric_index *x, int step, const char *name)
{
    struct row_metric wanted = {.step = step}, *key = &wanted;
    snprintf(wanted.name, sizeof wanted.name, "%s", name);
    const struct row_metric **found = x->count ? bsearch(&key, x->sorted, (size_t)x->count, sizeof key, by_step_and_name) : NULL;
    return found ? *found : NULL;
}
