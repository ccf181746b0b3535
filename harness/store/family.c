/* store/family: see family.h. */
#include "store/family.h"
#include <stdio.h>
#include <string.h>

#define FAMILY_LINE(id, name, begins, root) [FAMILY_##id] = {name, begins, FAMILY_##root},
static const struct {
    const char *name, *begins;
    enum metric_family root;
} families[FAMILY_COUNT] = {METRIC_FAMILIES(FAMILY_LINE)};

struct row_metric *row_add_member(struct row *row, enum metric_family family, int step, int line, const char *word, const char *unit,
                                  const char *source, double value)
{
    struct row_metric *m = row_add_metric(row, step, line, NULL, unit, source, value);
    snprintf(m->name, sizeof m->name, "%s%s", families[family].begins, word);
    snprintf(m->family, sizeof m->family, "%s", families[family].name);
    return m;
}

bool metric_is(const struct row_metric *m, enum metric_family family)
{
    for (size_t i = 0; i < FAMILY_COUNT; i++)
        if (strcmp(m->family, families[i].name) == 0)
            return i == family || families[i].root == family;
    return false;
}

const char *metric_word(const struct row_metric *m, enum metric_family family)
{
    return m->name + strlen(families[family].begins);
}
