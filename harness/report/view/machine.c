#include "report/view/machine.h"
#include "base/dtype.h"
#include "base/spec.h"
#include <jansson.h>
#include <stdio.h>

#define LAUNCH_NS 1000.0 /* if it was not measured: the assumed cost in a breakdown */

static void read_ceilings(const json_t *json, struct ceiling_list *out)
{
    const char *name, *measured = json_string_value(json_object_get(json, "measured"));
    json_t *one;
    snprintf(out->measured, sizeof out->measured, "%s", measured ? measured : "");
    json_object_foreach((json_t *)json, name, one)
    {
        if (!json_is_object(one) || out->count == ROOFS_MAX)
            continue;
        struct ceiling *r = &out->items[out->count++];
        snprintf(r->name, sizeof r->name, "%s", name);
        r->value = json_number_value(json_object_get(one, "value"));
    }
}

struct machine machine_of(const struct run *run, const struct row *row)
{
    struct machine m = {0};
    if (row && spec_is(row->device, SPEC_COUNTS)) { /* "emu:GH100"; for plain "emu" by the architecture */
        m.chip = chip_find(*spec_option(row->device) ? spec_option(row->device) : row->arch);
        return m;
    }
    m.chip = run && run->product ? chip_find(run->product) : NULL;
    json_auto_t *environment = run && run->environment ? json_loads(run->environment, 0, NULL) : NULL;
    const json_t *json = json_object_get(environment, "roofs");
    const char *library = json_string_value(json_object_get(environment, "cudnn"));
    snprintf(m.library, sizeof m.library, "%s", library ? library : "");
    if (json_is_object(json)) {
        struct ceiling_list ceilings = {0};
        read_ceilings(json, &ceilings);
        m.ceilings = ceilings_of(&ceilings);
        m.measured = ceilings.count > 0;
    }
    return m;
}

double machine_flop_s(const struct machine *m, int math, bool *measured)
{
    double rate = math > MATH_NONE && math < MATH_COUNT ? m->ceilings.flop_s[math] : 0;
    *measured = rate > 0;
    return rate > 0 ? rate : m->chip ? chip_flop_s(m->chip, math) : 0;
}

double machine_row_flop_s(const struct machine *m, const struct row *row)
{
    bool measured;
    return row->math ? machine_flop_s(m, math_parse(row->math), &measured) : 0;
}

double useful_flop(const struct row *row)
{
    return row->flop_useful > 0 ? row->flop_useful : row->flop;
}

double machine_bytes_s(const struct machine *m, bool *measured)
{
    *measured = m->ceilings.copy_bytes_s > 0;
    return *measured ? m->ceilings.copy_bytes_s : m->chip ? m->chip->dram_bytes_s : 0;
}

double machine_launch_ns(const struct machine *m)
{
    return m->ceilings.launch_ns > 0 ? m->ceilings.launch_ns : LAUNCH_NS;
}
