/* Appends the parts of a plan: configurations, ways, cases, rows. */
#include "base/text.h"
#include "plan/rows/private.h"
#include <stdlib.h>
#include <string.h>

struct variant_config *plan_configs_keep(struct plan *plan, struct variant_config *configs, int count)
{
    struct kept *kept = plan->private_data;
    *APPEND(kept->items, kept->count) = (struct configs){.configs = configs, .count = count};
    return configs;
}

struct error *plan_broken(const struct error *why)
{
    struct error *kept = xmalloc(sizeof *kept);
    *kept = *why;
    return kept;
}

char *plan_row_id(const struct scenario_case *c, const struct variant_config *config)
{
    return text_format(*config->label ? "%s/%s[%s]" : "%s/%s", c->id, config->variant->name, config->label);
}

int plan_row_add(struct plan *plan, const struct plan_row *row)
{
    *APPEND(plan->rows, plan->row_count) = *row;
    return plan->row_count - 1;
}

struct way *plan_way_keep(struct plan *plan, struct way *way)
{
    struct kept *kept = plan->private_data;
    return *APPEND(kept->ways, kept->way_count) = way;
}

int plan_case_add(struct plan *plan, const struct way *way, char *id)
{
    int place = plan->case_count ? plan->cases[plan->case_count - 1].place + 1 : 0;
    *APPEND(plan->cases, plan->case_count) = (struct scenario_case){
        .id = id, .layer = &way->layer, .work = way->work, .axes = xcalloc(1, sizeof(struct coordinate)), .repeat = 1, .place = place};
    return plan->case_count - 1;
}

void plan_note(struct plan *plan, char *note)
{
    for (int i = 0; i < plan->note_count; i++)
        if (!strcmp(plan->notes[i], note)) {
            free(note);
            return;
        }
    *APPEND(plan->notes, plan->note_count) = note;
}
