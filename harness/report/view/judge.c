/* The rule files that a report judges by, and their limits. */
#include "report/view/stored.h"
#include "report/view/verdict.h"
#include "base/file.h"
#include "base/text.h"
#include <math.h>
#include <string.h>

/* A file that cannot be read leaves its chip without predictions; `make check` and test_predict read them all. */
static void load_models(struct judge *j)
{
    SCOPED char *dir = file_share("harness/device/chip/model"), **names = NULL;
    int count = file_list(dir, ".yaml", &names, NULL);
    for (int i = 0; i < count; i++) {
        names[i][strlen(names[i]) - strlen(".yaml")] = 0;
        struct chip_model *m = chip_model_load(names[i], NULL);
        if (m)
            *APPEND(j->models, j->model_count) = m;
    }
}

void judge_open(struct judge *j)
{
    *j = (struct judge){0};
    load_models(j);
    j->stored = stored_load(NULL);
    j->ready = counter_groups_load(NULL, NULL, &j->groups, &j->missing) && counter_rules_load(&j->groups, &j->rules, &j->missing);
}

void judge_close(struct judge *j)
{
    pointers_free(j->models, j->model_count);
    stored_free(j->stored);
    counter_groups_free(&j->rules);
    counter_groups_free(&j->groups);
    *j = (struct judge){0};
}

const struct counter_groups *case_groups(const struct case_view *c)
{
    return c->judge && c->judge->ready ? &c->judge->groups : NULL;
}

double case_limit(const struct case_view *c, const char *name)
{
    return c->judge ? counter_limit(c->judge->groups.limits, name) : NAN;
}
