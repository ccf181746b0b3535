#include "counter/judge.h"
#include "base/file.h"
#include "base/text.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct judging {
    const struct counter_group *group;
    const struct counter_known *known;
    double *values; /* values of a computed group; others are asked for */
    int value_count;
};

static double judge_number(void *context, const char *name)
{
    const struct judging *j = context;
    const struct counter_group *g = j->group;
    double limit = j->known->idle > 0 && !strcmp(name, "idle") ? j->known->idle : counter_limit(g->limits, name);
    int i = counter_group_value(g, name), m = g->computed ? counter_group_metric(g, name) : -1;
    if (!isnan(limit))
        return limit;
    if (m >= 0) {
        double counted = j->known->fact(j->known->context, g->metrics[m].choices[0]);
        return isnan(counted) ? g->metrics[m].otherwise : counted;
    }
    return i >= 0 && j->values ? i < j->value_count ? j->values[i] : NAN : j->known->fact(j->known->context, name);
}

static void compute(struct judging *j)
{
    const struct counter_known names = {.fact = judge_number, .context = j};
    j->values = xcalloc((size_t)j->group->value_count + 1, sizeof *j->values);
    for (j->value_count = 0; j->value_count < j->group->value_count; j->value_count++)
        if (!counter_compute(j->group->values[j->value_count].expr, &names, &j->values[j->value_count]))
            j->values[j->value_count] = NAN;
}

double counter_group_number(const struct counter_group *group, int value, const struct counter_known *known)
{
    struct judging j = {.group = group, .known = known};
    if (group->computed)
        compute(&j);
    double d = judge_number(&j, group->values[value].name);
    free(j.values);
    return d;
}

static const char *unit_of(const struct counter_group *g, const char *name)
{
    int i = counter_group_value(g, name);
    if (i >= 0)
        return g->values[i].unit;
    for (const struct counter_fact *f = counter_facts; f->name; f++)
        if (!strcmp(f->name, name))
            return f->unit;
    return "";
}

/* A number as sentences have it: "12.5 %", "2x", "17 us". */
static void counter_number(struct text *t, double value, const char *unit)
{
    bool glued = !strcmp(unit, "x"), long_time = !strcmp(unit, "ns") && value >= 1000;
    value /= long_time ? 1000 : 1;
    text_addf(t, fabs(value) >= 1000 ? "%.0f" : "%.3g", value);
    text_addf(t, "%s%s", *unit && !glued ? " " : "", long_time ? "us" : unit);
}

/* Puts numbers and words for the {names}; false when one is absent. */
static bool judge_fill(struct judging *j, const char *sentence, struct text *out)
{
    const char *c = sentence;
    bool known = true;
    for (const char *open; (open = strchr(c, '{')); c = strchr(open, '}') + 1) {
        SCOPED char *name = xstrndup(open + 1, (size_t)(strchr(open, '}') - open) - 1);
        const char *word = j->known->word ? j->known->word(j->known->context, name) : NULL;
        text_add_bytes(out, c, (size_t)(open - c));
        if (word)
            text_add(out, word);
        else
            counter_number(out, judge_number(j, name), unit_of(j->group, name));
        known = known && (word || isfinite(judge_number(j, name)));
    }
    text_add(out, c);
    return known;
}

/* The first formula that can be computed. */
static double gain_of(const struct counter_rule *r, const struct counter_known *known)
{
    double gain;
    for (int i = 0; i < r->gain_count; i++)
        if (counter_compute(r->gains[i], known, &gain))
            return fmax(0, fmin(100, gain));
    return NAN;
}

void counter_group_judge(const struct counter_group *group, const struct counter_known *known,
                         void (*visit)(void *context, const struct counter_finding *finding), void *context)
{
    struct judging j = {.group = group, .known = known};
    const struct counter_known names = {.fact = judge_number, .context = &j};
    if (group->computed)
        compute(&j);
    for (int i = 0; i < group->rule_count; i++) {
        const struct counter_rule *r = &group->rules[i];
        SCOPED_TEXT says = {0}, remedy = {0};
        double holds, unit = NAN;
        if (counter_compute(r->when, &names, &holds) && holds != 0 && judge_fill(&j, r->says, &says) &&
            judge_fill(&j, r->remedy, &remedy)) {
            if (r->unit && !counter_compute(r->unit, &names, &unit))
                unit = NAN;
            visit(context, &(struct counter_finding){group, r, text_get(&says), text_get(&remedy), gain_of(r, &names), unit});
        }
    }
    free(j.values);
}

struct reading {
    const char *name;
    bool found;
};

static void read_name(void *context, const char *name)
{
    struct reading *r = context;
    r->found = r->found || !strcmp(r->name, name);
}

bool counter_rule_reads(const struct counter_rule *rule, const char *name)
{
    struct reading r = {.name = name};
    SCOPED char *braced = text_format("{%s}", name);
    expr_names(rule->when, read_name, &r);
    r.found = r.found || strstr(rule->says, braced);
    return r.found;
}

bool counter_rules_load(const struct counter_groups *counted, struct counter_groups *rules, struct error *err)
{
    SCOPED char *dir = file_share("harness/counter/rules");
    return counter_groups_load(dir, counted, rules, err);
}
