/* run/message/options: see options.h. */
#include "run/message/options.h"
#include "run/message/members.h"

#define OPTION(member, kind) \
    { \
#member, MEMBER_##kind, offsetof(struct plan_options, member), 0 \
    }
#define OPTION_RECORDS(member, type) \
    { \
#member, MEMBER_RECORDS, offsetof(struct plan_options, member), (int)(sizeof(type) / sizeof(const char *)) \
    }
static const struct member options_table[] = {
    OPTION(scenario_path, TEXT),
    OPTION(device, TEXT),
    OPTION(op_files, TEXTS),
    OPTION(variant_dirs, TEXTS),
    OPTION(variant_names, TEXTS),
    OPTION(filter.layers, TEXT),
    OPTION(filter.only, TEXT),
    OPTION(filter.set, TEXTS),
    OPTION(filter.gpus, TEXTS),
    OPTION(filter.extra, WISHES),
    OPTION(filter.once, FLAG),
    OPTION(compiler, TEXT),
    OPTION(bundle, TEXT),
    OPTION(seed, TEXT),
    OPTION(kernels, TEXT),
    OPTION(remember, FLAG),
    OPTION(budget_s, REAL),
    OPTION(tune, FLAG),
    OPTION(choose, FLAG),
    OPTION(tuned_rules, FLAG),
    OPTION_RECORDS(tuned, struct tuned_config),
    OPTION_RECORDS(sides, struct side),
    OPTION(layers_only, FLAG),
    OPTION(may_lack, FLAG),
    OPTION(counters.off, FLAG),
    OPTION(counters.source, FLAG),
    OPTION(counters.required, FLAG),
    OPTION(counters.set, TEXT),
    OPTION(counters.groups, TEXTS),
    OPTION(counters.metrics, TEXTS),
    OPTION(no_ptxas, FLAG),
};
enum { OPTIONS = sizeof options_table / sizeof *options_table };

json_t *options_write(const struct plan_options *options)
{
    return members_write(options_table, OPTIONS, UINT64_MAX, options, NULL);
}

void options_read(const json_t *json, struct plan_options *options)
{
    *options = (struct plan_options){0};
    members_read(options_table, OPTIONS, json, options);
}

void options_free(struct plan_options *options)
{
    members_free(options_table, OPTIONS, options);
    *options = (struct plan_options){0};
}
