/* What the command line selects of a scenario: --layer globs and --set rules. A part that selects nothing is an error that names it. */
#include "base/text.h"
#include "op/sides.h"
#include "plan/scenario/private.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char **scenario_layer_names(const struct scenario *s)
{
    const char **names = xcalloc((size_t)s->layer_count + 1, sizeof *names);
    for (int i = 0; i < s->layer_count; i++)
        names[i] = s->layers[i].name;
    return names;
}

void scenario_match_layers(const struct scenario *s, const struct glob_list *list, bool *selected)
{
    for (int i = 0; i < s->layer_count; i++)
        selected[i] = glob_list_match(list, s->layers[i].name);
    for (int i = 0; i < s->sequence_count; i++)
        glob_list_match(list, s->sequences[i].name);
    for (int k = 0; k < s->network_count; k++)
        for (int i = 0, all = glob_list_match(list, s->networks[k].name); all && i < s->layer_count; i++)
            selected[i] |= scenario_layer_count(s, k, &s->layers[i]) > 0;
}

bool scenario_check_layers(const struct scenario *s, const struct glob_list *list, struct error *err)
{
    size_t count = 0;
    SCOPED const char **names = xcalloc((size_t)(s->layer_count + s->sequence_count + s->network_count + 1), sizeof *names);
    for (int i = 0; i < s->layer_count; i++)
        names[count++] = s->layers[i].name;
    for (int i = 0; i < s->sequence_count; i++)
        names[count++] = s->sequences[i].name;
    for (int i = 0; i < s->network_count; i++)
        names[count++] = s->networks[i].name;
    SCOPED char *what = text_format(s->network_count ? "layer or network of %s" : "layer of %s", s->path);
    return glob_list_check(list, "--layer", what, names, count, err);
}

bool layers_select(const struct scenario *s, const char *globs, bool *selected, struct error *err)
{
    SCOPED_BY(glob_list_free) struct glob_list list = {0};
    if (!glob_list_parse(globs, "--layer", &list, err))
        return false;
    scenario_match_layers(s, &list, selected);
    return scenario_check_layers(s, &list, err);
}

static const char *const mask_parts[] = {"mask", "mask.pattern", "mask.density", "mask.seed", "mask.radius"};

bool scenario_filter_by_mask(const struct scenario_filter *filter)
{
    bool all = true;
    for (const char *const *set = filter->set; all && set && *set; set++) {
        SCOPED char *name = xstrndup(*set, strcspn(*set, "="));
        bool mask = !strcmp(name, "n"); /* a network runs with the images of its layers */
        for (size_t i = 0; i < sizeof mask_parts / sizeof *mask_parts; i++)
            mask = mask || !strcmp(name, mask_parts[i]);
        all = mask;
    }
    return all;
}

static bool name_known(const struct scenario *s, const char *name, const char *one, struct error *err)
{
    const struct parsed *p = s->parsed;
    const char *names[256];
    size_t count = 0;
    for (int i = 0; i < p->axis_count && count < 100; i++)
        names[count++] = p->axes[i].name;
    for (size_t i = 0; i < sizeof mask_parts / sizeof *mask_parts; i++)
        names[count++] = mask_parts[i];
    for (const char *const *w = field_names(s->root); *w && count < 200; w++)
        names[count++] = *w;
    for (const char *const *w = sequence_settings; s->sequence_count && *w; w++)
        names[count++] = *w;
    if (!ALL_OF(i, count, strcmp(names[i], name)))
        return true;
    const char *near = text_nearest(name, names, count);
    error_set(err, ERROR_USAGE, "--set %s: there is no axis or field '%s'", one, name);
    return near ? error_hint(err, "did you mean %s?", near) : error_hint(err, "bench plan %s shows the cases", s->path);
}

bool rules_parse(const struct scenario *s, const char *const *set, struct rules *out, struct error *err)
{
    *out = (struct rules){0};
    for (int i = 0; set && set[i]; i++) {
        const char *equals = strchr(set[i], '=');
        if (!equals || equals == set[i] || !equals[1])
            return error_set(err, ERROR_USAGE, "--set %s: AXIS=VALUE is expected, like n=4 or mask.density=0.10,0.25", set[i]);
        struct rule *r = APPEND(out->items, out->count);
        SCOPED char *option = text_format("--set %.*s=", (int)(equals - set[i]), set[i]);
        *r = (struct rule){.name = xstrndup(set[i], (size_t)(equals - set[i]))};
        if (!glob_list_parse_values(equals + 1, option, &r->values, err))
            return false;
        if (!name_known(s, r->name, set[i], err))
            return false;
    }
    return true;
}

void rules_free(struct rules *r)
{
    for (int i = 0; i < r->count; i++) {
        free(r->items[i].name);
        glob_list_free(&r->items[i].values);
    }
    free(r->items);
    *r = (struct rules){0};
}

/* Compares numbers by value (0.1 is 0.10) and words as globs: mask=blobs*. */
static bool same_value(const char *value, const char *text)
{
    double x, y;
    return text_glob(value, text) || (text_to_real(value, &x) && text_to_real(text, &y) && x == y);
}

/* Name i of something with several names ("blobs24:0.10:1" is also "blobs"): its text; false behind the last. */
static bool text_of(const struct scenario_case *c, const struct work *uncropped, const char *name, int i, char *out, size_t bytes)
{
    const struct mask *m = &c->work.mask;
    struct value symbol;
    int k = 0;
    while (k < c->axis_count && strcmp(c->axes[k].axis, name))
        k++;
    if (k < c->axis_count && i == 0)
        return snprintf(out, bytes, "%s", c->axes[k].value) >= 0;
    bool masked = m->pattern != MASK_NONE;
    if ((!strcmp(name, "mask") && i == (k < c->axis_count)) || (!strcmp(name, "mask.pattern") && i == 0))
        return snprintf(out, bytes, "%s", mask_pattern_names[m->pattern]) >= 0;
    if (k < c->axis_count || i > 0)
        return false;
    if (!strcmp(name, "mask.density"))
        return masked && snprintf(out, bytes, "%.17g", m->density) >= 0;
    if (!strcmp(name, "mask.seed"))
        return masked && snprintf(out, bytes, "%llu", (unsigned long long)m->seed) >= 0;
    if (!strcmp(name, "mask.radius"))
        return masked && snprintf(out, bytes, "%lld", (long long)m->radius) >= 0;
    if (!strcmp(name, "kernel") && uncropped->r != uncropped->s)
        return snprintf(out, bytes, "%lldx%lld", (long long)uncropped->r, (long long)uncropped->s) >= 0;
    if (!work_symbol(uncropped, strcmp(name, "kernel") ? name : "r", &symbol))
        return false;
    for (const struct op_field *f = uncropped->op->fields; sides_field(name) && f->name; f++)
        if (!strcmp(f->name, name) && uncropped->op->image) {
            SCOPED_TEXT t = {0};
            sides_describe(uncropped, f->offset, "", true, &t);
            return snprintf(out, bytes, "%s", text_get(&t)) >= 0;
        }
    value_print(&symbol, out, bytes);
    return true;
}

bool rules_match(struct rules *rules, const struct scenario_case *c, const struct work *uncropped)
{
    bool all = true;
    for (int i = 0; i < rules->count; i++) {
        struct rule *r = &rules->items[i];
        char text[384];
        bool any = false;
        for (int k = 0; text_of(c, uncropped, r->name, k, text, sizeof text); k++)
            for (int v = 0; v < r->values.count; v++)
                if (same_value(r->values.words[v].text, text))
                    any = r->values.words[v].hit = true;
        all = all && any;
    }
    return all;
}

bool rules_match_sequence(struct rules *rules, const struct scenario_sequence *q)
{
    bool all = true;
    for (int i = 0; i < rules->count; i++) {
        struct rule *r = &rules->items[i];
        SCOPED char *setting = sequence_setting(q, r->name);
        bool any = false;
        for (int v = 0; setting && v < r->values.count; v++)
            if (same_value(r->values.words[v].text, setting))
                any = r->values.words[v].hit = true;
        all = all && any;
    }
    return all;
}

bool scenario_has_sequence(const struct scenario *s, const struct scenario_filter *filter, const struct scenario_sequence *q)
{
    SCOPED_BY(glob_list_free) struct glob_list layers = {0};
    SCOPED_BY(rules_free) struct rules rules = {0};
    return glob_list_parse(filter->layers, "--layer", &layers, NULL) && rules_parse(s, filter->set, &rules, NULL) &&
           glob_list_match(&layers, q->name) && rules_match_sequence(&rules, q);
}

/* The values that the option could have: of the axis, or of the sequences. */
static void add_values(const struct scenario *s, const char *name, struct text *values)
{
    const struct parsed *p = s->parsed;
    for (int a = 0; a < p->axis_count; a++)
        for (int k = 0; !strcmp(p->axes[a].name, name) && k < p->axes[a].count && values->len < 700; k++)
            text_addf(values, "%s%s", values->len ? ", " : "", p->axes[a].values[k].label);
    for (int i = 0; i < s->sequence_count && values->len < 700; i++) {
        SCOPED char *setting = sequence_setting(&s->sequences[i], name);
        bool named = !setting;
        for (int k = 0; k < i && !named; k++) {
            SCOPED char *other = sequence_setting(&s->sequences[k], name);
            named = !strcmp(other, setting);
        }
        if (!named)
            text_addf(values, "%s%s", values->len ? ", " : "", setting);
    }
}

bool rules_hit(const struct rules *rules, const struct scenario *s, struct error *err)
{
    for (int i = 0; i < rules->count; i++) {
        const struct rule *r = &rules->items[i];
        const char *value = glob_list_unmatched(&r->values);
        if (!value)
            continue;
        SCOPED_TEXT values = {0};
        add_values(s, r->name, &values);
        error_set(err, ERROR_USAGE, "--set %s=%s selects no case of %s", r->name, value, s->path);
        if (values.len)
            error_hint(err, "the axis %s has %s", r->name, text_get(&values));
        else
            error_hint(err, "bench plan %s lists the cases", s->path);
        return false;
    }
    return true;
}
