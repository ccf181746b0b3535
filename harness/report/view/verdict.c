#include "report/view/verdict.h"
#include "report/view/kept.h"
#include "base/dtype.h"
#include "device/chip/occupancy.h"
#include "report/view/number.h"
#include "report/view/predict.h"
#include "report/view/resources.h"
#include "store/step_facts.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MOST 2 /* bottlenecks that a cell names */
#define MOST 0.5     /* share of the row's time: a step that takes less does not determine which unit limits the row */

static double percent(double share)
{
    return 100 * share;
}

static bool counted(const struct view *v)
{
    return ANY_OF(i, v->row->metric_count, metric_is(&v->row->metrics[i], FAMILY_HARDWARE));
}

static double step_value(const struct case_view *c, const struct row_step *s, bool cropped, const char *name)
{
    if (!strcmp(name, "sm_count"))
        return c->machine.chip ? c->machine.chip->sm_count : NAN;
    return s ? step_fact(s, cropped, name) : NAN;
}

/* %, as stored; of a library's kernel from its waves. */
static double idle_places(const struct view *v, const struct breakdown *a, const struct row_step *step)
{
    double stored = view_metric(v, a->step, METRIC_IDLE_PLACES);
    struct occupancy_tail tail;
    return percent(isnan(stored) && step && occupancy_tail(step->waves, &tail) ? tail.idle : stored);
}

/* For a crop, the whole layer's value: a few pixels would give the weights too much influence. A row whose part ran has the layer's work.
 */
static double intensity(const struct row *row)
{
    const struct row_metric *layer = row->cropped ? row_metric(row, -1, "model.layer_intensity") : NULL;
    return layer ? layer->value : row->bytes > 0 ? row->flop / row->bytes : NAN;
}

/* FLOP that the chip does in the row's math mode, or else in f32, while DRAM moves a byte. */
static double balance(const struct case_view *c, const struct row *row)
{
    const struct chip *chip = c->machine.chip;
    double rate = chip ? chip_flop_s(chip, row->math && *row->math ? math_parse(row->math) : MATH_F32) : 0;
    rate = rate > 0 || !chip ? rate : chip_flop_s(chip, MATH_F32);
    return rate > 0 && chip->dram_bytes_s > 0 ? rate / chip->dram_bytes_s : NAN;
}

/* The share of the time that the bytes take at the rate of a copy. For an emulated row it uses the data sheet's rate in place of a measured
 * one, and a predicted time, which may be too short. */
static double near_memory(const struct case_view *c, const struct view *v, double share)
{
    return v->predicted.ns > 0 ? fmin(100, percent(share / c->model->constant[PREDICT_copy_share])) : percent(share);
}

/* The same of the operations, whose rate on tensor cores the data sheet has at a clock that they do not keep. */
static double compute_share(const struct case_view *c, const struct view *v, const struct breakdown *a)
{
    return v->predicted.ns > 0 && a->tensor > 0 ? c->model->constant[PREDICT_tensor_group_share] : 1;
}

/* A value of a counter group, or a fact of counter_facts, of the breakdown's step: NaN where the row has none. */
static double value_of(const struct case_view *c, const struct view *v, const struct breakdown *a, const char *name)
{
    struct row_step facts_of_step;
    const struct row_step *step = resources_step(c, v, a->step, &facts_of_step) ? &facts_of_step : NULL;
    char metric[128];
    snprintf(metric, sizeof metric, "%s%s", strchr(name, '.') ? "" : METRIC_HARDWARE, name);
    double value = a->step < 0 ? view_total(v, metric) : view_counted(v, a->step, metric); /* emu.NAME, or a value of a counter group */
    if (isnan(value))
        value = predicted_value(c, v, name);
    if (!isnan(value))
        return value;
    bool cropped = v->row->cropped; /* its grid is not the layer's */
    value = step_value(c, step, cropped, name);
    if (!isnan(value))
        return value;
    if (!strcmp(name, "counted")) /* scans all metrics once, not for each name */
        return counted(v);
    double ns = v->ranked ? a->step_ns : predicted_value(c, v, "time_ns");
    bool known = a->known || (v->predicted.ns > 0 && a->roof_ns > 0);
    double compute_ns = a->compute_ns / compute_share(c, v, a),
           roof = v->ranked ? a->roof_ns : fmax(fmax(a->roof_ns, compute_ns), predicted_value(c, v, "launch_ns")); /* NaN gives way */
    const struct {
        const char *name;
        double value;
    } facts[] = {
        {"emu_moved", v->moved_over_compulsory},
        {"emu_moved_here", v->moved_here},
        {"flop", v->row->flop},
        {"intensity", intensity(v->row)},
        {"cropped", row_counts_part(v->row)},
        {"balance", balance(c, v->row)},
        {"bytes", v->row->bytes},
        {"time_ns", ns},
        {"launch_ns", machine_launch_ns(&c->machine)},
        {"part_sector_ps", c->model ? c->model->constant[PREDICT_part_sector_ps] : NAN},
        {"near", known ? percent(roof / ns) : NAN},
        {"headroom", isnan(ns) ? NAN
                     : known   ? fmax(0, 100 - percent(roof / ns))
                               : 100},
        {"near_memory", known ? near_memory(c, v, a->memory_ns / ns) : NAN},
        {"near_compute", known ? fmin(v->predicted.ns > 0 ? 100 : INFINITY, percent(compute_ns / ns)) : NAN},
        {"idle_places", cropped || c->counts ? NAN : idle_places(v, a, step)}, /* on emu it is not known how long the blocks take */
        {"tensor", a->tensor},
        {"pipe_width", a->pipe_width},
        {"pipe_idle", a->tensor == 0 && a->pipe_width > 1 ? a->pipe_width : 1},
    };
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (!strcmp(facts[i].name, name))
            return facts[i].value;
    return NAN;
}

/* Shares of the peak that say how busy a unit is. Those over the cycles in which an SM was active count less where SMs were idle. */
static const struct {
    const char *name;
    bool active, time;
} units[] = {{.name = "dram_throughput"},
             {.name = "l2_busy"},
             {.name = "l1_busy"},
             {.name = "shared_pipe"},
             {.name = "near_memory", .time = true},
             {.name = "near_compute", .time = true},
             {.name = "issue_active", .active = true},
             {.name = "tensor_active", .active = true},
             {.name = "pipe_alu", .active = true},
             {.name = "pipe_xu", .active = true}};

static double value_of(const struct case_view *c, const struct view *v, const struct breakdown *a, const char *name);

/* The share of all cycles of the launch: of a unit whose share is over active cycles, less. */
static double over_launch(const char *name, double share, double active)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (units[i].active && active < 100 && !strcmp(units[i].name, name))
            return share * active / 100;
    return share;
}

/* NaN: no unit is known. counted: without the shares that follow from the time and the ceilings alone. */
static double fullest(const struct case_view *c, const struct view *v, const struct breakdown *a, bool counted)
{
    double most = NAN, active = value_of(c, v, a, "sm_busy");
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (!counted || !units[i].time)
            most = fmax(most, over_launch(units[i].name, value_of(c, v, a, units[i].name), active));
    return most;
}

/* A step of a row under judgement. */
struct judging {
    const struct case_view *c;
    const struct view *v;
    struct verdicts *out; /* NULL: only asked */
    struct breakdown breakdown;
    double share; /* of the row's time that the step takes */
    double idle;  /* from this share on a unit is busy; 0: the limit of that name */
    char lift[200];
};

static double fact(void *context, const char *name)
{
    const struct judging *j = context;
    double limit = case_limit(j->c, name);
    if (!strcmp(name, "fullest"))
        return fullest(j->c, j->v, &j->breakdown, false);
    if (!strcmp(name, "busiest"))
        return fmax(0, fullest(j->c, j->v, &j->breakdown, true));
    return isnan(limit) ? value_of(j->c, j->v, &j->breakdown, name) : limit;
}

double verdict_number(const struct case_view *c, const struct view *v, const struct counter_group *g, int value)
{
    struct judging j = {.c = c, .v = v, .breakdown = breakdown_of(c, v, 0)};
    if (v->steps > 1) /* of a row with several launches, the value over all of them */
        j.breakdown.step = -1;
    return counter_group_number(g, value, &(struct counter_known){.fact = fact, .context = &j});
}

bool verdict_holds(const struct case_view *c, const struct view *v, const struct expr *formula)
{
    struct judging j = {.c = c, .v = v, .breakdown = breakdown_of(c, v, 0)};
    double holds;
    return !formula || !counter_compute(formula, &(struct counter_known){.fact = fact, .context = &j}, &holds) || holds != 0;
}

static const char *word(void *context, const char *name)
{
    struct judging *j = context;
    struct row_step s;
    if (strcmp(name, "occupancy_limit") || !resources_step(j->c, j->v, j->breakdown.step, &s))
        return NULL;
    snprintf(j->lift, sizeof j->lift, "limited by %s%s%.160s", s.limit, s.lift[0] ? ": " : "", s.lift);
    return j->lift;
}

/* What a remedy says in [] is of tensor cores: not for a kernel that has them, nor for results that are no sums of products. */
static char *remedy_of(const struct judging *j, const char *remedy)
{
    const bool may = !(j->breakdown.tensor == 1) && !(view_value(j->v, -1, METRIC_MODEL "products") == 0);
    struct text t = {0};
    for (bool inside = false; *remedy; remedy++)
        if (*remedy == '[' || *remedy == ']')
            inside = *remedy == '[';
        else if (may || !inside)
            text_add_bytes(&t, remedy, 1);
    return text_take(&t);
}

static void keep(void *context, const struct counter_finding *f)
{
    struct judging *j = context;
    struct verdicts *all = j->out;
    const char *name = f->rule->unit ? expr_text(f->rule->unit) : "";
    double left = value_of(j->c, j->v, &j->breakdown, "headroom"), active = value_of(j->c, j->v, &j->breakdown, "sm_busy"),
           least = case_limit(j->c, f->group->least_gain ? f->group->least_gain : "gain_least"), busy = over_launch(name, f->unit, active),
           idle = j->idle > 0 ? j->idle : case_limit(j->c, "idle"), unit = busy >= idle && j->share >= MOST ? busy : NAN,
           gain = over_launch(name, f->gain, active);
    gain = (gain > left ? left : gain) * j->share;
    if (gain < least && !isnan(unit) && !f->group->least_gain)
        gain = NAN; /* a full unit is worth a sentence without a gain */
    if (gain < least || (j->share < 1 && isnan(gain) && j->breakdown.step != j->v->step))
        return; /* it does not show in the row's time */
    struct verdict *item = APPEND(all->items, all->count);
    *item = (struct verdict){.group = f->group,
                             .rule = f->rule,
                             .step = j->breakdown.step,
                             .gain = gain,
                             .unit = unit,
                             .order = all->count,
                             .remedy = remedy_of(j, f->remedy)};
    if (j->v->steps > 1 && j->breakdown.step >= 0 && j->share < 1)
        item->says = text_format("%s (%.*f %% of the row's time): %s", j->v->row->steps[j->breakdown.step].name, j->share < 0.1,
                                 100 * j->share, f->says);
    else
        item->says = xstrdup(f->says);
}

static void verdict_free(struct verdict *v)
{
    free(v->says);
    free(v->remedy);
}

static void judge_step(struct judging *j)
{
    const struct counter_known known = {.fact = fact, .word = word, .context = j, .idle = j->idle};
    const struct counter_groups *const sets[] = {&j->c->judge->rules, &j->c->judge->groups};
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < sets[k]->count; i++)
            counter_group_judge(sets[k]->items[i], &known, keep, j);
}

/* Busy units come first, the busiest before the others and a cause with a gain before the unit itself; then known gains. */
static bool precedes(const struct verdict *a, const struct verdict *b)
{
    if (isnan(a->unit) != isnan(b->unit))
        return isnan(b->unit);
    if (!isnan(a->unit) && (a->unit > b->unit || a->unit < b->unit))
        return a->unit > b->unit;
    return !isnan(a->gain) && !(a->gain <= b->gain);
}

/* Moves a finding forward; those between follow it. */
static void move_forward(struct verdicts *v, int from, int to)
{
    struct verdict moved = v->items[from];
    memmove(&v->items[to + 1], &v->items[to], (size_t)(from - to) * sizeof *v->items);
    v->items[to] = moved;
}

/* A gain below `least` does not limit a row: of a row that waits the finding which says so leads, though its gain is not known. */
static void lead_with_wait(struct verdicts *v, double least)
{
    for (int i = 1; i < v->count && isnan(v->items[0].unit) && v->items[0].gain < least; i++)
        if (isnan(v->items[i].gain) && v->items[i].rule->bottleneck == COUNTER_BOTTLENECK_LATENCY) {
            move_forward(v, i, 0);
            return;
        }
}

/* Insertion sort, so that equal findings keep the order of the files. Among findings about no unit whose gains differ by no more than those
 * of two runs of one row, the first in the order of the files leads, so that the row has the same bottleneck in both runs. */
static void sort(const struct case_view *c, struct verdicts *v)
{
    const double lead = case_limit(c, "lead"), differ = case_limit(c, "gains_close");
    for (int i = 1; i < v->count; i++)
        for (int k = i; k > 0 && precedes(&v->items[k], &v->items[k - 1]); k--) {
            struct verdict item = v->items[k];
            v->items[k] = v->items[k - 1];
            v->items[k - 1] = item;
        }
    lead_with_wait(v, case_limit(c, "matters"));
    const struct verdict most = v->count ? v->items[0] : (struct verdict){0};
    for (int i = 1; i < v->count; i++) {
        struct verdict item = v->items[i];
        item.close = isnan(most.unit) ? item.gain >= most.gain * (1 - differ / 100) : item.unit >= most.unit - lead;
        v->items[i] = item;
        if (item.close && isnan(most.unit) && item.order < v->items[0].order) {
            v->items[i] = v->items[0];
            v->items[i].close = true;
            v->items[0] = item;
            v->items[0].close = false;
        }
    }
}

/* Makes the first finding of *other the second one, if no close finding is about the same bottleneck. `when`: what it holds for. */
static void put_second(struct verdicts *all, struct verdicts *other, const char *when)
{
    const int at = all->count ? 1 : 0;
    struct verdict *lead = other->items;
    int there = at; /* it may stand there already */
    for (int i = 0; i < all->count; i++)
        if ((!i || all->items[i].close) && all->items[i].rule->bottleneck == lead->rule->bottleneck)
            return;
    while (there < all->count && (all->items[there].rule != lead->rule || all->items[there].step != lead->step))
        there++;
    if (there == all->count) {
        struct verdict *item = APPEND(all->items, all->count);
        *item = *lead;
        item->says = text_format("%s%s", lead->says, when);
        item->remedy = xstrdup(lead->remedy);
    }
    all->items[there].close = true;
    move_forward(all, there, at);
}

static void judge_again(const struct judging *j, const struct view *v, double idle, struct verdicts *other)
{
    struct judging again = *j;
    again.v = v;
    again.out = other;
    again.idle = idle;
    judge_step(&again);
    sort(j->c, other);
}

/* A predicted time may be as much shorter or longer as predictions usually are wrong. If another finding leads then, none is the
 * bottleneck. */
static void add_doubt(const struct judging *j, struct verdicts *all)
{
    const double margin = 1 + case_limit(j->c, "share_error") / 100, longer[] = {1 / margin, margin};
    const int first = all->count ? (int)all->items[0].rule->bottleneck : -1;
    for (int k = 0; k < 2 && j->v->predicted.ns > 0 && !j->v->stored; k++) {
        struct view v = *j->v;
        struct verdicts other = {0};
        char when[64], n[NUMBER_TEXT];
        snprintf(when, sizeof when, " (if the row takes %s us)", number_3(v.predicted.ns * longer[k] / 1e3, n));
        v.predicted.longer = longer[k];
        judge_again(j, &v, 0, &other);
        all->open = all->open || first != (other.count ? (int)other.items[0].rule->bottleneck : -1);
        if (other.count)
            put_second(all, &other, when);
        verdicts_free(&other);
    }
}

/* Whether a unit near the limit is busy may be otherwise in another run or on another card: the finding that leads then is close. */
static void add_other_side(const struct judging *j, struct verdicts *all)
{
    double idle = case_limit(j->c, "idle"), margin = 1 + case_limit(j->c, "busy_differs") / 100,
           most = fullest(j->c, j->v, &j->breakdown, false);
    struct verdicts other = {0};
    if (!all->counted || !all->count || !(most >= idle / margin && most < idle * margin))
        return;
    judge_again(j, j->v, most >= idle ? idle * margin : idle / margin, &other);
    if (other.count)
        put_second(all, &other, "");
    verdicts_free(&other);
}

/* The longest step against the row's speed of light; for a few further steps, the rules on compiler, launch and counters. */
static void judge_row(struct case_view *c, struct view *v)
{
    struct judging j = {.c = c, .v = v, .out = &v->verdicts, .breakdown = breakdown_of(c, v, 0), .share = 1};
    v->verdicts = (struct verdicts){.judged = v->row->status == ROW_OK, .counted = counted(v)};
    if (!v->verdicts.judged)
        return;
    if (j.breakdown.step_ns > 0 && j.breakdown.total_ns > 0)
        j.share = fmin(1, j.breakdown.step_ns / j.breakdown.total_ns);
    if (v->predicted.ns > 0) {
        j.breakdown.step = v->predicted.step;
        j.share = fmin(1, v->predicted.step_ns / v->predicted.ns);
    }
    judge_step(&j);
    const struct judging longest_step = j;
    int longest = j.breakdown.step;
    for (int s = 0; view_itemises(v) && v->ranked && s < v->row->step_count; s++) {
        const struct row_time *time = v->row->steps[s].prepare || s == longest ? NULL : step_time(c, v->row, s);
        if (!time || !(time->median_ns > 0))
            continue;
        j.breakdown = (struct breakdown){
            .step = s, .step_ns = time->median_ns, .tensor = NAN, .pipe_width = NAN}; /* the speed of light is for the whole row */
        j.share = fmin(1, time->median_ns / v->time->median_ns);
        judge_step(&j);
    }
    sort(c, &v->verdicts);
    add_other_side(&longest_step, &v->verdicts);
    add_doubt(&longest_step, &v->verdicts);
    v->verdicts.no_time = c->counts && predicted_not(v);
}

void case_judge(struct case_view *c, const struct judge *j)
{
    if (case_judged_lend(c, j))
        return;
    c->judge = j;
    if (j)
        case_predict(c, j);
    for (int i = 0; i < c->count && j && j->ready; i++)
        judge_row(c, &c->views[i]);
}

void verdicts_free(struct verdicts *v)
{
    for (int i = 0; i < v->count; i++)
        verdict_free(&v->items[i]);
    free(v->items);
    *v = (struct verdicts){0};
}

const char *verdict_word(const struct view *v)
{
    return v->verdicts.count && !v->verdicts.open && !v->verdicts.no_time ? counter_bottleneck_names[v->verdicts.items[0].rule->bottleneck]
                                                                          : "";
}

bool verdict_words(const struct view *v, struct text *t)
{
    unsigned said = 0;
    int count = 0;
    if (v->verdicts.no_time && v->verdicts.count)
        text_add(t, "perhaps ");
    for (int i = 0; i < v->verdicts.count && (!i || v->verdicts.open); i++) {
        const unsigned bit = 1U << v->verdicts.items[i].rule->bottleneck;
        if ((!i || v->verdicts.items[i].close) && !(said & bit) && count++ < WORDS_MOST)
            text_addf(t, "%s%s", i ? " or " : "", counter_bottleneck_names[v->verdicts.items[i].rule->bottleneck]);
        said |= bit;
    }
    if (count > WORDS_MOST)
        text_addf(t, ", %d more", count - WORDS_MOST);
    return said;
}

bool verdict_reads(const struct view *v, const char *name)
{
    return ANY_OF(i, v->verdicts.count, counter_rule_reads(v->verdicts.items[i].rule, name));
}

bool verdict_speedup(const struct verdict *v, struct text *t)
{
    if (isnan(v->gain))
        return false;
    if (v->gain >= 99)
        text_add(t, "estimated speed-up over 100x");
    else
        text_addf(t, "estimated speed-up up to %.3gx", 100 / (100 - v->gain));
    return true;
}
