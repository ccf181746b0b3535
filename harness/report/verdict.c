#include "report/verdict.h"
#include "counter/judge.h"
#include "model/occupancy.h"
#include "report/resources.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The rule files, read once a process: they are part of the installation. */
static struct {
    bool tried;
    bool ready;
    struct counter_groups sets[2]; /* rules without counters, counter groups */
} book;

static bool open_book(void)
{
    if (!book.tried) {
        struct error ignored = {0};
        book.tried = true;
        book.ready = counter_rules_load(&book.sets[0], &ignored) && counter_groups_load(NULL, &book.sets[1], &ignored);
    }
    return book.ready;
}

const struct counter_groups *verdict_groups(void)
{
    return open_book() ? &book.sets[1] : NULL;
}

static double over(double a, double b)
{
    return b > 0 ? a / b : NAN;
}

static double percent(double share)
{
    return 100 * share;
}

static double excess(double value, double ideal) /* % beyond the ideal */
{
    return value > 0 ? 100 * (1 - ideal / value) : NAN;
}

/* emu's counters of the longest step; of the row when it has one. */
static double emu(const struct view *v, int step, const char *name)
{
    char whole[80];
    snprintf(whole, sizeof whole, "emu.%s", name);
    return account_counter(v, step, whole);
}

static bool counted(const struct view *v)
{
    for (int i = 0; i < v->row->metric_count; i++)
        if (!strncmp(v->row->metrics[i].name, "hw.", 3))
            return true;
    return false;
}

static double emu_value(const struct view *v, int step, const char *name)
{
    double ld = emu(v, step, "global_sectors_ld"), st = emu(v, step, "global_sectors_st");
    if (!strcmp(name, "emu_moved"))
        return v->moved_over_compulsory;
    if (!strcmp(name, "emu_threads"))
        return over(emu(v, step, "thread_instructions"), emu(v, step, "warp_instructions"));
    if (!strcmp(name, "emu_divergent"))
        return percent(over(emu(v, step, "divergent_branches"), emu(v, step, "branches")));
    if (!strcmp(name, "emu_ld_waste"))
        return excess(ld, emu(v, step, "global_sectors_ideal_ld"));
    if (!strcmp(name, "emu_st_waste"))
        return excess(st, emu(v, step, "global_sectors_ideal_st"));
    if (!strcmp(name, "emu_lanes_ld"))
        return over(ld, emu(v, step, "global_requests_ld"));
    if (!strcmp(name, "emu_lanes_st"))
        return over(st, emu(v, step, "global_requests_st"));
    double waves = emu(v, step, "shared_wavefronts_ld") + emu(v, step, "shared_wavefronts_st");
    double ideal = emu(v, step, "shared_wavefronts_ideal_ld") + emu(v, step, "shared_wavefronts_ideal_st");
    if (!strcmp(name, "emu_conflict_share"))
        return excess(waves, ideal);
    return !strcmp(name, "emu_ways") ? over(waves, ideal) : NAN;
}

static double step_value(const struct case_view *c, const struct row_step *s, bool cropped, const char *name)
{
    bool known = s && s->registers >= 0;
    if (!strcmp(name, "sm_count"))
        return c->machine.chip ? c->machine.chip->sm_count : NAN;
    if (!known)
        return NAN;
    if (!strcmp(name, "occupancy_theoretical"))
        return s->occupancy >= 0 ? percent(s->occupancy) : NAN;
    if (!strcmp(name, "waves"))
        return s->waves >= 0 && !cropped ? s->waves : NAN;
    if (!strcmp(name, "blocks_per_sm"))
        return s->blocks_per_sm >= 0 ? s->blocks_per_sm : NAN;
    if (!strcmp(name, "registers"))
        return s->registers;
    if (!strcmp(name, "spill_bytes"))
        return s->spill_store_bytes >= 0 && s->spill_load_bytes >= 0 ? s->spill_store_bytes + s->spill_load_bytes : NAN;
    return NAN;
}

/* %, as stored; of a library's kernel from its waves. */
static double idle_places(const struct view *v, const struct account *a, const struct row_step *step)
{
    double stored = counter_step(v->row, a->step, "model.idle_places");
    struct occupancy_tail tail;
    return percent(isnan(stored) && step && occupancy_tail(step->waves, &tail) ? tail.idle : stored);
}

double verdict_value(const struct case_view *c, const struct view *v, const struct account *a, const char *name)
{
    struct row_step facts_of_step;
    const struct row_step *step = resources_step(c, v, a->step, &facts_of_step) ? &facts_of_step : NULL;
    char metric[128];
    snprintf(metric, sizeof metric, "hw.%s", name);
    double value = account_counter(v, a->step, metric);
    if (!isnan(value))
        return value;
    bool cropped = v->row->case_id && strchr(v->row->case_id, '@'); /* its grid is not the layer's */
    value = step_value(c, step, cropped, name);
    if (!isnan(value))
        return value;
    if (!strncmp(name, "emu_", 4))
        return emu_value(v, a->step, name);
    const struct {
        const char *name;
        double value;
    } facts[] = {
        {"flop", v->row->flop},
        {"bytes", v->row->bytes},
        {"time_ns", v->ranked ? a->step_ns : NAN},
        {"counted", counted(v)},
        {"launch_ns", machine_launch_ns(&c->machine)},
        {"near", a->known ? percent(a->roof_ns / a->step_ns) : NAN},
        {"near_memory", a->known ? percent(a->memory_ns / a->step_ns) : NAN},
        {"near_compute", a->known ? percent(a->compute_ns / a->step_ns) : NAN},
        {"idle_places", cropped ? NAN : idle_places(v, a, step)},
        {"tensor", a->tensor},
        {"pipe_width", a->pipe_width},
    };
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (!strcmp(facts[i].name, name))
            return facts[i].value;
    return NAN;
}

struct judging {
    const struct case_view *c;
    const struct view *v;
    const struct account *a;
    const char *group;
    bool counted;
    struct verdicts *out;
};

static double value_of(void *context, const char *name)
{
    const struct judging *j = context;
    return verdict_value(j->c, j->v, j->a, name);
}

static void keep(void *context, const struct counter_rule *rule, const char *says, const char *advice)
{
    struct judging *j = context;
    struct verdicts *out = j->out;
    for (int i = 0; i < out->count; i++)
        if (!strcmp(out->items[i].says, says))
            return; /* two groups share a rule */
    if (out->count == VERDICTS_MAX)
        return;
    struct verdict_item *item = &out->items[out->count++];
    *item = (struct verdict_item){.binds = rule->binds, .counted = j->counted};
    snprintf(item->group, sizeof item->group, "%s", j->group);
    snprintf(item->says, sizeof item->says, "%s", says);
    snprintf(item->remedy, sizeof item->remedy, "%s", advice);
}

/* Lower comes first. Neither side being busy is the last word: something more special says why. */
static int rank(const struct verdict_item *item)
{
    bool waste = !strcmp(item->group, "coalescing") || !strcmp(item->group, "emu"), pipe = !strcmp(item->group, "pipe");
    switch (item->binds) {
    case COUNTER_BIND_LAUNCH: return 0;
    case COUNTER_BIND_MEMORY: return waste ? 5 : 1;
    case COUNTER_BIND_COMPUTE: return pipe ? 5 : 1;
    case COUNTER_BIND_SPILLS: return 2;
    case COUNTER_BIND_CONFLICTS: return 3;
    case COUNTER_BIND_DIVERGENCE: return 4;
    case COUNTER_BIND_TAIL: return 7;
    case COUNTER_BIND_OCCUPANCY: return 8;
    case COUNTER_BIND_LATENCY: return !strcmp(item->group, "stalls") ? 6 : 9;
    }
    return 10;
}

/* By insertion: among equals the order of the files stays. */
static void sort(struct verdicts *v)
{
    for (int i = 1; i < v->count; i++)
        for (int k = i; k > 0 && rank(&v->items[k]) < rank(&v->items[k - 1]); k--) {
            struct verdict_item item = v->items[k];
            v->items[k] = v->items[k - 1];
            v->items[k - 1] = item;
        }
}

void verdicts_of(const struct case_view *c, const struct view *v, struct verdicts *out)
{
    struct account a = account_of(c, v, 0);
    struct judging j = {.c = c, .v = v, .a = &a, .out = out};
    *out = (struct verdicts){0};
    out->rules = open_book();
    out->counted = counted(v);
    if (v->row->status != ROW_OK || !out->rules)
        return;
    struct counter_known known = {value_of, &j};
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < book.sets[k].count; i++) {
            j.group = book.sets[k].items[i]->name;
            j.counted = k == 1;
            counter_group_judge(book.sets[k].items[i], &known, keep, &j);
        }
    sort(out);
}
