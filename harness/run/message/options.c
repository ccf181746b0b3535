/* run/message/options: see options.h. */
#include "run/message/options.h"
#include "base/text.h"
#include <stddef.h>
#include <stdlib.h>

/* LIST: texts, ends with NULL. RECORDS: structs of texts; the last one's first text is NULL. */
enum kind { TEXT, LIST, BOOL, REAL, RECORDS, WISHES };
struct option {
    const char *name;
    enum kind kind;
    size_t offset;
    int texts; /* of a record */
};
#define OPTION(member, kind) \
    { \
#member, kind, offsetof(struct plan_options, member), 0 \
    }
#define OPTION_RECORDS(member, type) \
    { \
#member, RECORDS, offsetof(struct plan_options, member), (int)(sizeof(type) / sizeof(const char *)) \
    }
static const struct option options_table[] = {
    OPTION(scenario_path, TEXT),
    OPTION(device, TEXT),
    OPTION(op_files, LIST),
    OPTION(variant_dirs, LIST),
    OPTION(variant_names, LIST),
    OPTION(filter.layers, TEXT),
    OPTION(filter.only, TEXT),
    OPTION(filter.set, LIST),
    OPTION(filter.gpus, LIST),
    OPTION(filter.extra, WISHES),
    OPTION(filter.once, BOOL),
    OPTION(compiler, TEXT),
    OPTION(bundle, TEXT),
    OPTION(seed, TEXT),
    OPTION(kernels, TEXT),
    OPTION(remember, BOOL),
    OPTION(budget_s, REAL),
    OPTION(tune, BOOL),
    OPTION(choose, BOOL),
    OPTION(tuned_rules, BOOL),
    OPTION_RECORDS(tuned, struct tuned_config),
    OPTION_RECORDS(sides, struct side),
    OPTION(layers_only, BOOL),
    OPTION(may_lack, BOOL),
    OPTION(counters.off, BOOL),
    OPTION(counters.source, BOOL),
    OPTION(counters.required, BOOL),
    OPTION(counters.set, TEXT),
    OPTION(counters.groups, LIST),
    OPTION(counters.metrics, LIST),
};
#define OPTIONS (sizeof options_table / sizeof *options_table)

static json_t *text_or_null(const char *text)
{
    return text ? json_string(text) : json_null();
}

/* Records of `texts` consecutive texts. */
static json_t *write_records(const char *const *texts, int each)
{
    json_t *all = json_array();
    for (; *texts; texts += each)
        for (int i = 0; i < each; i++)
            json_array_append_new(all, text_or_null(texts[i]));
    return all;
}

static const char **read_records(const json_t *all, int each)
{
    size_t count = json_array_size(all);
    const char **texts = xcalloc(count + (size_t)each, sizeof *texts);
    for (size_t i = 0; i < count; i++)
        texts[i] = json_string_value(json_array_get(all, i));
    return texts;
}

/* [case, density, variant, params], ... */
static json_t *write_wishes(const struct scenario_wish *w)
{
    json_t *all = w ? json_array() : json_null();
    for (; w && w->case_id; w++)
        json_array_append_new(all, json_pack("[s,f,s?,s?]", w->case_id, w->density, w->variant, w->params));
    return all;
}

static struct scenario_wish *read_wishes(const json_t *all)
{
    size_t count = json_array_size(all);
    struct scenario_wish *wishes = xcalloc(count + 1, sizeof *wishes);
    for (size_t i = 0; i < count; i++) {
        const json_t *one = json_array_get(all, i);
        wishes[i] = (struct scenario_wish){json_string_value(json_array_get(one, 0)), json_number_value(json_array_get(one, 1)),
                                           json_string_value(json_array_get(one, 2)), json_string_value(json_array_get(one, 3))};
    }
    return wishes;
}

json_t *options_write(const struct plan_options *options)
{
    json_t *out = json_object();
    for (size_t i = 0; i < OPTIONS; i++) {
        const struct option *o = &options_table[i];
        const void *at = (const char *)options + o->offset;
        json_t *value = NULL;
        switch (o->kind) {
        case TEXT: value = text_or_null(*(const char *const *)at); break;
        case BOOL: value = json_boolean(*(const bool *)at); break;
        case REAL: value = json_real(*(const double *)at); break;
        case WISHES: value = write_wishes(*(const struct scenario_wish *const *)at); break;
        case LIST:
        case RECORDS:
            value = *(const char *const *const *)at ? write_records(*(const char *const *const *)at, o->texts ? o->texts : 1) : json_null();
            break;
        }
        json_object_set_new(out, o->name, value);
    }
    return out;
}

void options_read(const json_t *json, struct plan_options *options)
{
    *options = (struct plan_options){0};
    for (size_t i = 0; i < OPTIONS; i++) {
        const struct option *o = &options_table[i];
        const json_t *value = json_object_get(json, o->name);
        void *at = (char *)options + o->offset;
        switch (o->kind) {
        case TEXT: *(const char **)at = json_string_value(value); break;
        case BOOL: *(bool *)at = json_is_true(value); break;
        case REAL: *(double *)at = json_number_value(value); break;
        case WISHES: *(struct scenario_wish **)at = json_is_array(value) ? read_wishes(value) : NULL; break;
        case LIST:
        case RECORDS: *(const char ***)at = json_is_array(value) ? read_records(value, o->texts ? o->texts : 1) : NULL; break;
        }
    }
}

void options_free(struct plan_options *options)
{
    for (size_t i = 0; i < OPTIONS; i++)
        if (options_table[i].kind == LIST || options_table[i].kind == RECORDS || options_table[i].kind == WISHES)
            free(*(void **)(void *)((char *)options + options_table[i].offset));
    *options = (struct plan_options){0};
}
