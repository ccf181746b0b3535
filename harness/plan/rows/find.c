/* Finds the variant that an entry of a scenario means, and the one that a row runs. */
#include "base/text.h"
#include "plan/rows/private.h"
#include <string.h>

const struct variant *plan_resolve(const struct variant_set *set, const char *name, const struct op *op)
{
    SCOPED char *full = strchr(name, '/') ? xstrdup(name) : text_format("%s/%s", op->name, name);
    const struct variant *found = NULL;
    for (int i = 0; i < set->count && !found; i++)
        if (!strcmp(set->items[i]->name, full) && op_has_variants_of(op, set->items[i]->op))
            found = set->items[i];
    return found;
}

const struct variant_set *plan_set(const struct plan *plan, const struct side *side)
{
    return side ? &plan->side_sets[side - plan->sides] : &plan->variants;
}

const char *plan_row_variant(const struct plan_row *row)
{
    if (row->variant)
        return row->variant->name;
    return row->chain->pick == CHAIN_LIBRARY ? CHAIN_ROW_LIBRARY : row->chain->pick == CHAIN_BEST ? CHAIN_ROW_BEST : row->chain->single;
}
