/* bench counters: counter groups, what they measure, and how many passes they take on any chip that CUPTI knows. Needs no GPU. */
#include "device/chip/chip.h"
#include "base/glob_list.h"
#include "base/text.h"
#include "cli/cli.h"
#include "counter/judge.h"
#include "counter/set.h"
#include "device/cupti/cupti.h"
#include "report/view/calibration.h"
#include "report/form/document.h"
#include <stdlib.h>
#include <string.h>

struct ask {
    struct option_list groups, metrics;
    const char *chip, *list;
    bool names, values, pairs, pair_metrics;
};

static void describe_list(const struct counter_groups *groups, struct text *t)
{
    struct table *list = table_new();
    table_columns(list, {"group", "", ALIGN_LEFT}, {"about", "", ALIGN_LEFT});
    for (int i = 0; i < groups->count; i++) {
        table_row(list, LINE_PLAIN);
        table_cell(list, PAINT_NONE, "%s", groups->items[i]->name);
        table_cell(list, PAINT_NONE, "%s", groups->items[i]->about);
    }
    cli_table(list);
    text_add(t, "\nbench counters GROUP explains a group; bench counters --chip GH100 shows how many passes each group takes\n");
}

/* The table in docs/reference/columns.md: every value that a run can store as hw.NAME, once, with the groups that have it. */
static void values_table(const struct counter_groups *groups, struct text *t)
{
    text_add(t, "| metric | unit | what | ncu | groups |\n|---|---|---|---|---|\n");
    for (int g = 0; g < groups->count; g++)
        for (int i = 0; i < groups->items[g]->value_count; i++) {
            const struct counter_value *v = &groups->items[g]->values[i];
            bool again = ANY_OF(k, g, counter_group_value(groups->items[k], v->name) >= 0);
            if (again)
                continue;
            SCOPED_TEXT names = {0};
            counter_value_metrics(groups->items[g], i, &names);
            text_addf(t, "| hw.%s | %s | %s | %s | %s", v->name, v->unit, v->what, text_get(&names), groups->items[g]->name);
            for (int k = g + 1; k < groups->count; k++)
                if (counter_group_value(groups->items[k], v->name) >= 0)
                    text_addf(t, ", %s", groups->items[k]->name);
            text_add(t, " |\n");
        }
}

static void describe_rule(const struct counter_rule *r, struct text *t)
{
    text_addf(t, "  %-11s when %s\n              %s\n              -> %s\n", counter_bottleneck_names[r->bottleneck], expr_text(r->when),
              r->says, r->remedy);
    for (int k = 0; k < r->gain_count; k++)
        text_addf(t, "              %s %s %% of the time\n", k ? "else" : "gains at most", expr_text(r->gains[k]));
    if (r->why)
        text_addf(t, "              %s%s\n", r->gain_count ? "" : "gain not estimated: ", r->why);
}

static void counters_describe(const struct counter_group *g, struct text *t)
{
    text_addf(t, "%s: %s\n\n%s\n", g->name, g->about, g->teaches);
    text_add(t, "values\n");
    for (int i = 0; i < g->value_count; i++) {
        const struct counter_value *v = &g->values[i];
        text_addf(t, "  %-28s %-8s %s\n", v->name, v->unit, v->what);
        if (strcmp(v->name, expr_text(v->expr)) && counter_group_metric(g, expr_text(v->expr)) < 0)
            text_addf(t, "  %-28s %-8s = %s\n", "", "", expr_text(v->expr));
    }
    text_add(t, "\nCUPTI metrics (the first that the chip has)\n");
    for (int i = 0; i < g->metric_count; i++) {
        text_addf(t, "  %-28s ", g->metrics[i].name);
        text_add_list(t, g->metrics[i].choices, (size_t)g->metrics[i].count);
        text_add(t, g->metrics[i].optional ? " (where the chip has it)\n" : "\n");
    }
    if (g->rule_count)
        text_add(t, "\nverdicts\n");
    for (int i = 0; i < g->rule_count; i++)
        describe_rule(&g->rules[i], t);
    for (int i = 0; g->limits && i < g->limits->count; i++) {
        const struct counter_limit *l = &g->limits->items[i];
        bool used = ANY_OF(k, g->rule_count, counter_rule_reads(&g->rules[k], l->name));
        if (used)
            text_addf(t, "  %s = %g %s\n              %s\n", l->name, l->value, l->unit, l->why);
    }
}

static bool counters_has(void *context, const char *metric)
{
    return cupti_has(context, metric);
}

static bool chips(struct text *t, struct error *err)
{
    const char *const *names;
    size_t count;
    if (!cupti_chips(&names, &count, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct chip *known = chip_find(names[i]);
        text_addf(t, "%-10s %s\n", names[i], known ? known->board : "");
    }
    return true;
}

static void names_of(struct cupti_chip *chip, const struct counter_set *set, struct text *t)
{
    struct cupti_metric m;
    text_add(t, "\n");
    for (int i = 0; i < set->count; i++)
        if (cupti_describe(chip, set->metrics[i], &m, NULL))
            text_addf(t, "  %-72s %-14s %s\n", set->metrics[i], m.unit, m.about);
}

/* The passes of one selection, and the counters that the chip lacks. */
static bool plan_line(struct cupti_chip *chip, const char *name, const struct counter_set *set, struct text *t, struct error *err)
{
    struct cupti_plan plan;
    SCOPED_TEXT lacks = {0};
    int values = 0;
    if (!cupti_plan(chip, set->metrics, (size_t)set->count, &plan, err))
        return false;
    for (int p = 0; p < set->pick_count; p++)
        for (int i = 0; i < set->picks[p].group->value_count; i++) {
            bool offers = counter_set_offers(set, p, i), again = false;
            for (int k = 0; k < p && !again; k++)
                again = counter_group_value(set->picks[k].group, set->picks[p].group->values[i].name) >= 0;
            values += offers && !again;
            if (!offers && set->pick_count == 1)
                text_addf(&lacks, "%s%s", lacks.len ? ", " : "  lacks ", set->picks[p].group->values[i].name);
        }
    text_addf(t, "%-14s %7d %7zu %7d%s\n", name, set->count, plan.passes, values, text_get(&lacks));
    cupti_plan_free(&plan);
    return true;
}

static bool plan_groups(struct cupti_chip *chip, const struct counter_group **groups, int count, const char *const *metrics,
                        int metric_count, bool names, struct text *t, struct error *err)
{
    const struct counter_chip asked = {cupti_name(chip), counters_has, chip};
    struct counter_set set;
    bool ok = true;
    text_addf(t, "%-14s %7s %7s %7s\n", cupti_name(chip), "metrics", "passes", "values");
    for (int i = 0; ok && i < count; i++) {
        ok = counter_set_make(&groups[i], 1, NULL, 0, &asked, &set, err);
        if (ok) {
            ok = plan_line(chip, groups[i]->name, &set, t, err);
            counter_set_free(&set);
        }
    }
    if (!ok || !counter_set_make(groups, count, metrics, metric_count, &asked, &set, err))
        return false;
    if (count != 1 || metric_count)
        ok = plan_line(chip, "merged", &set, t, err);
    if (ok && (names || count + metric_count == 1 || !count))
        names_of(chip, &set, t);
    counter_set_free(&set);
    return ok;
}

/* Accepts "H200" and "sm_90" too, through bench's own table of chips. */
static const char *chip_name(const char *given)
{
    const struct chip *known = chip_find(given);
    return known ? known->name : given;
}

static bool plan(const struct ask *ask, struct counter_groups *shipped, const char *const *positional, int positional_count, struct text *t,
                 struct error *err)
{
    SCOPED_BY(glob_list_free) struct glob_list group_words = {0};
    SCOPED_BY(glob_list_free) struct glob_list metric_words = {0};
    if (!glob_list_parse_all(ask->groups.items, "--group", &group_words, err) ||
        !glob_list_parse_all(ask->metrics.items, "--metrics", &metric_words, err))
        return false;
    int count = 0, metric_count = metric_words.count;
    SCOPED const char **metrics = xcalloc((size_t)metric_count + 1, sizeof *metrics);
    SCOPED const struct counter_group **groups =
        xcalloc((size_t)(positional_count + group_words.count + shipped->count) + 1, sizeof *groups);
    struct cupti_chip *chip = NULL;
    bool ok = false;
    for (int i = 0; i < metric_count; i++)
        metrics[i] = metric_words.words[i].text;
    for (int i = 0; i < positional_count + group_words.count; i++) {
        const char *name = i < positional_count ? positional[i] : group_words.words[i - positional_count].text;
        groups[count] = counter_groups_find(shipped, name, err);
        if (!groups[count++])
            goto done;
    }
    if (!count && !metric_count)
        for (int i = 0; i < shipped->count; i++)
            groups[count++] = shipped->items[i];
    if (!cupti_open(chip_name(ask->chip), NULL, &chip, err))
        goto done;
    if (ask->list) {
        int found = cupti_list(chip, ask->list, t, err);
        ok = found > 0 || (found == 0 && error_set(err, ERROR_USAGE, "%s has no metric like '%.100s'", cupti_name(chip), ask->list));
        goto done;
    }
    ok = plan_groups(chip, groups, count, metrics, metric_count, ask->names, t, err);
done:
    cupti_close(chip);
    return ok;
}

/* What was asked for, into t. */
static bool answer(const struct ask *ask, struct counter_groups *groups, const char **names, int count, struct text *t, struct error *err)
{
    if (ask->chip)
        return strcmp(ask->chip, "?") ? plan(ask, groups, names, count, t, err) : chips(t, err);
    if (ask->pairs) {
        report_pairs(t);
    } else if (ask->pair_metrics) {
        report_pair_metrics(t);
        text_add(t, "\n");
    } else if (ask->values) {
        values_table(groups, t);
    } else if (!count) {
        describe_list(groups, t);
    }
    for (int i = 0; i < count; i++) {
        const struct counter_group *g = counter_groups_find(groups, names[i], err);
        if (!g)
            return false;
        text_add(t, i ? "\n" : "");
        counters_describe(g, t);
    }
    return true;
}

int cli_counters(const struct verb *verb, int argc, char **argv)
{
    struct ask ask = {0};
    const struct option options[] = {
        {"--chip", 'c', OPTION_TEXT, "CHIP", "show the number of passes on GH100, AD102, H200, sm_90 ...; '?' lists the chips", &ask.chip},
        {"--group", 'g', OPTION_LIST, "A,B", "only these groups; default all", &ask.groups},
        {"--metrics", 'm', OPTION_LIST, "A,B", "these single metrics, with ncu's names", &ask.metrics},
        {"--names", 0, OPTION_FLAG, NULL, "with --chip: every metric with CUPTI's description", &ask.names},
        {"--values", 0, OPTION_FLAG, NULL, "every value that a run stores as hw.NAME, as the table in docs/reference/columns.md",
         &ask.values},
        {"--pairs", 0, OPTION_FLAG, NULL, "emu's counters with the hardware's that say the same, as the table in docs/reference/columns.md",
         &ask.pairs},
        {"--pair-metrics", 0, OPTION_FLAG, NULL, "the metrics of --pairs in one line, for bench run --metrics", &ask.pair_metrics},
        {"--list", 'l', OPTION_TEXT, "PATTERN", "with --chip: the chip's metrics that match a pattern such as '*shared*'", &ask.list},
        {0}};
    SCOPED const char **rest = xcalloc((size_t)argc + 1, sizeof *rest);
    struct counter_groups groups = {0};
    struct error err = {0};
    SCOPED_TEXT t = {0};
    int count, code;
    if (!cli_options(verb, options, argc, argv, rest, &count, NULL, &code))
        goto done;
    if (!ask.chip && (ask.groups.count || ask.metrics.count || ask.names || ask.list)) {
        code = cli_usage(verb, "which chip? --chip GH100");
        goto done;
    }
    bool ok = counter_groups_load(NULL, NULL, &groups, &err) && answer(&ask, &groups, rest, count, &t, &err);
    code = ok ? 0 : cli_fail(&err);
    if (ok)
        cli_page(&t);
done:
    counter_groups_free(&groups);
    free(ask.groups.items);
    free(ask.metrics.items);
    return code;
}
