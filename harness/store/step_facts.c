#include "store/step_facts.h"
#include <math.h>
#include <string.h>

const char *const step_fact_names[] = {"occupancy_theoretical", "waves", "blocks_per_sm", "registers", "spill_bytes", NULL};

static double not_negative(double value)
{
    return value >= 0 ? value : NAN;
}

double step_fact(const struct row_step *s, bool cropped, const char *name)
{
    if (s->registers < 0) /* the compiler's facts are missing */
        return NAN;
    if (!strcmp(name, "occupancy_theoretical"))
        return not_negative(100 * s->occupancy);
    if (!strcmp(name, "waves"))
        return cropped ? NAN : not_negative(s->waves);
    if (!strcmp(name, "blocks_per_sm"))
        return not_negative(s->blocks_per_sm);
    if (!strcmp(name, "registers"))
        return s->registers;
    if (!strcmp(name, "spill_bytes"))
        return s->spill_store_bytes >= 0 ? s->spill_store_bytes : NAN; /* as the column has it */
    return NAN;
}
