/* report/view/breakdown: see breakdown.h. */
#include "report/view/breakdown.h"
#include "base/dtype.h"
#include "base/file.h"
#include "base/order.h"
#include "report/view/number.h"
#include "report/view/verdict.h"
#include "report/limits.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double counted(const struct view *v, int step, const char *format, const char *level)
{
    char name[48];
    snprintf(name, sizeof name, format, level);
    return step >= 0 ? view_counted(v, step, name) : view_value(v, -1, name);
}

double breakdown_intensity(const struct view *v, int step, double flop, const char *level)
{
    double stored = counted(v, step, METRIC_HARDWARE "intensity_%s", level);
    if (!isnan(stored))
        return stored;
    if (strcmp(level, "dram"))
        return flop / counted(v, step, METRIC_HARDWARE "%s_bytes", level);
    return flop / (counted(v, step, METRIC_HARDWARE "%s_bytes_read", level) + counted(v, step, METRIC_HARDWARE "%s_bytes_written", level));
}

static struct breakdown_part *breakdown_add(struct breakdown *a, enum breakdown_kind kind, const char *key, double ns)
{
    if (a->count == BREAKDOWN_PARTS)
        return &a->parts[BREAKDOWN_PARTS - 1];
    struct breakdown_part *p = &a->parts[a->count++];
    *p = (struct breakdown_part){.kind = kind, .ns = ns};
    snprintf(p->key, sizeof p->key, "%s", key);
    return p;
}

/* The longest timed step, and the time of the others. */
static void find_step(const struct case_view *c, const struct view *v, struct breakdown *a, double *others, struct text *names)
{
    a->step = -1;
    *others = 0;
    if (row_is_network(v->row)) {
        a->step_ns = a->total_ns;
        return;
    }
    for (int i = 0; i < v->row->step_count; i++) {
        const struct row_time *t = v->row->steps[i].prepare ? NULL : step_time(c, v->row, i);
        if (t && (a->step < 0 || t->median_ns > a->step_ns)) {
            a->step = i;
            a->step_ns = t->median_ns;
        }
        if (v->steps == 1 && !v->row->steps[i].prepare)
            a->step = i;
    }
    if (v->steps <= 1 || a->step < 0 || a->step_ns <= 0) { /* one step: the row's own time is its time */
        a->step_ns = a->total_ns;
        return;
    }
    for (int i = 0; i < v->row->step_count; i++) {
        const struct row_time *t = v->row->steps[i].prepare || i == a->step ? NULL : step_time(c, v->row, i);
        if (t) {
            *others += t->median_ns;
            text_addf(names, "%s%s", names->len ? ", " : "", v->row->steps[i].name);
        }
    }
}

/* The pipe that the machine code uses for the math mode. */
static void find_pipe(const struct case_view *c, const struct view *v, struct breakdown *a)
{
    const struct row *row = v->row;
    enum math math = row->math && row->math[0] && !row_only_moves(row) ? math_parse(row->math) : MATH_NONE;
    bool measured, ignored;
    a->tensor = NAN;
    a->pipe_width = NAN;
    a->pipe_math = math;
    if (a->step >= 0 && a->step < row->step_count) {
        double mma = view_metric(v, a->step, METRIC_SASS_MMA), gmma = view_metric(v, a->step, METRIC_SASS_GMMA);
        a->tensor = isnan(mma) && isnan(gmma) ? NAN : (mma > 0 || gmma > 0);
    }
    if (math == MATH_NONE)
        return;
    double wide = machine_flop_s(&c->machine, math, &measured), narrow = machine_flop_s(&c->machine, MATH_F32, &ignored);
    if (wide > 0 && narrow > 0 && !(view_value(v, -1, METRIC_MODEL "products") == 0))
        a->pipe_width = wide / narrow;
    if (a->tensor == 0)
        a->pipe_math = MATH_F32;
}

static void find_roof(const struct case_view *c, const struct view *v, struct breakdown *a, struct text *words)
{
    const struct row *row = v->row;
    bool masked = row->flop_useful >= 0 && row->bytes_useful >= 0, rate_measured = false, bytes_measured = false;
    double flop = row_only_moves(row)       ? 0
                  : row->flop_scheduled > 0 ? row->flop_scheduled
                  : masked                  ? row->flop_useful
                                            : row->flop,
           bytes = masked ? row->bytes_useful : row->bytes;
    double rate = flop > 0 && a->pipe_math != MATH_NONE ? machine_flop_s(&c->machine, a->pipe_math, &rate_measured) : 0;
    double band = machine_bytes_s(&c->machine, &bytes_measured);
    char n[NUMBER_TEXT], r[NUMBER_TEXT];
    a->compute_ns = rate > 0 ? flop / rate * 1e9 : 0;
    a->memory_ns = band > 0 && bytes > 0 ? bytes / band * 1e9 : 0;
    a->known = band > 0 && (rate > 0 || !(flop > 0) || a->pipe_math == MATH_NONE);
    double launch = machine_launch_ns(&c->machine);
    bool idle = launch > a->compute_ns && launch > a->memory_ns;
    a->roof_ns = fmax(launch, fmax(a->compute_ns, a->memory_ns));
    a->measured = idle ? c->machine.ceilings.launch_ns > 0 : a->compute_ns > a->memory_ns ? rate_measured : bytes_measured;
    if (idle)
        text_add(words, "an empty launch takes longer than the work");
    else if (a->compute_ns > a->memory_ns)
        text_addf(words, "%s on %s%s at %s", number_si(flop, "FLOP", n), math_name((enum math)a->pipe_math),
                  a->tensor == 1   ? " tensor cores"
                  : a->tensor == 0 ? " multiply-adds"
                                   : "",
                  number_si(rate, "FLOP/s", r));
    else
        text_addf(words, "%s at %s", number_si(bytes, "B", n), number_si(band, "B/s", r));
    if (a->measured)
        text_addf(words, ", measured %.10s", c->machine.ceilings.date);
    else
        text_add(words, idle ? ", at the least" : ", data sheet");
}

struct stall {
    const char *name;
    double share;
};

ORDER(by_share, struct stall, ORDER_DOWN(share))

/* Waiting states of a warp, by share; *sum of all. Issuing and being passed over are not waits. */
static int find_stalls(const struct view *v, int step, struct stall *out, int max, double *sum)
{
    int count = 0, at = v->steps <= 1 && isnan(view_metric(v, step, METRIC_ISSUE_ACTIVE)) ? -1 : step;
    *sum = 0;
    for (int i = 0; i < v->row->metric_count; i++) {
        const struct row_metric *m = &v->row->metrics[i];
        if (m->step != at || !metric_is_wait(m) || !(m->value > 0))
            continue;
        *sum += m->value;
        if (count < max)
            out[count++] = (struct stall){metric_word(m, FAMILY_STALL), m->value};
    }
    if (count)
        qsort(out, (size_t)count, sizeof *out, by_share);
    return count;
}

/* The source lines with most of a metric of the step, each with its share of the part's time. */
static void find_places(const struct view *v, int step, const char *metric, struct breakdown_part *p)
{
    const struct row_metric *top[BREAKDOWN_PLACES] = {NULL};
    const struct row_step *s = step >= 0 && step < v->row->step_count ? &v->row->steps[step] : NULL;
    double sum = 0;
    for (int i = 0; s && i < v->row->metric_count; i++) {
        const struct row_metric *m = &v->row->metrics[i], *next;
        if (m->step != step || strcmp(m->name, metric))
            continue;
        sum += m->value;
        for (int k = 0; m && k < BREAKDOWN_PLACES; k++)
            if (!top[k] || m->value > top[k]->value) {
                next = top[k];
                top[k] = m;
                m = next;
            }
    }
    p->place_count = 0;
    for (int k = 0; k < BREAKDOWN_PLACES && top[k] && top[k]->value >= SHOWN_PLACE_SHARE * sum; k++) {
        struct breakdown_place *at = &p->places[p->place_count++];
        at->ns = p->ns * top[k]->value / sum;
        if (top[k]->line)
            snprintf(at->where, sizeof at->where, "%.60s:%d", file_base(s->file), top[k]->line);
        else
            snprintf(at->where, sizeof at->where, "code without a line");
    }
}

static struct breakdown_part *add_stall(const struct view *v, struct breakdown *a, const struct stall *stall, double ns)
{
    struct breakdown_part *p = breakdown_add(a, BREAKDOWN_STALL, stall->name, ns);
    char metric[64];
    snprintf(p->what, sizeof p->what, "stall_%s: %.3g %% of a warp's time", stall->name, stall->share);
    snprintf(metric, sizeof metric, METRIC_SAMPLES "%.40s", stall->name);
    find_places(v, a->step, metric, p);
    return p;
}

/* True if the finding is about the operations or bytes of the work itself: the speed of light, the first part, has their time, so no later
 * part may count it again. */
static bool about_roof(const struct counter_rule *rule)
{
    return rule->unit && (!strcmp(expr_text(rule->unit), "near_memory") || !strcmp(expr_text(rule->unit), "near_compute"));
}

/* The first finding takes its estimated gain, the same number as everywhere; the other states of the warps share the rest. */
static void add_finding(const struct view *v, struct breakdown *a, double *left, struct stall *stalls, int *count, double *sum)
{
    const struct verdict *first = v->verdicts.count ? v->verdicts.items : NULL;
    if (!first || first->step != a->step || !(first->gain > 0) || !(*left > 0) || about_roof(first->rule))
        return;
    double ns = fmin(*left, a->total_ns * first->gain / 100);
    struct breakdown_part *p = NULL;
    *left -= ns;
    for (int i = 0; i < *count && !p; i++) {
        char name[48];
        snprintf(name, sizeof name, "stall_%.40s", stalls[i].name);
        if (!counter_rule_reads(first->rule, name))
            continue;
        p = add_stall(v, a, &stalls[i], ns);
        *sum -= stalls[i].share;
        memmove(stalls + i, stalls + i + 1, (size_t)(--*count - i) * sizeof *stalls);
    }
    if (!p) {
        p = breakdown_add(a, BREAKDOWN_FINDING, counter_bottleneck_names[first->rule->bottleneck], ns);
        snprintf(p->what, sizeof p->what, "%s: %.160s", p->key, first->says);
    }
}

/* Splits the time that the longest step takes beyond its speed of light. */
static void split_loss(const struct view *v, struct breakdown *a, double loss)
{
    double busy = view_counted(v, a->step, metric_names[METRIC_SM_BUSY]),
           issue = view_counted(v, a->step, metric_names[METRIC_ISSUE_ACTIVE]), sum, left = loss;
    double idle = a->step >= 0 ? view_metric(v, a->step, METRIC_IDLE_PLACES) : NAN;
    double waves = a->step >= 0 && a->step < v->row->step_count ? v->row->steps[a->step].waves : -1;
    struct stall stalls[32];
    int count = find_stalls(v, a->step, stalls, 32, &sum);
    add_finding(v, a, &left, stalls, &count, &sum);
    if (left > 1e-6 && busy >= 0 && busy < 100) {
        struct breakdown_part *p = breakdown_add(a, BREAKDOWN_IDLE, "idle", fmin(left, a->step_ns * (1 - busy / 100)));
        snprintf(p->what, sizeof p->what, "SMs without a block: an average SM is active in %.3g %% of the cycles", busy);
        left -= p->ns;
    } else if (left > 1e-6 && isnan(busy) && idle > 0 && waves > 0) {
        struct breakdown_part *p = breakdown_add(a, BREAKDOWN_IDLE, "idle", fmin(left, a->step_ns * idle));
        snprintf(p->what, sizeof p->what, "block slots that stay empty with %.3g waves, if all blocks take equally long", waves);
        left -= p->ns;
    }
    if (left > 0 && count && sum > 1e-9 && issue >= 0 && issue <= 100) {
        double waiting = left * (1 - issue / 100), others = 0;
        for (int i = 0; i < count; i++) {
            if (i >= SHOWN_STALLS || stalls[i].share < SHOWN_STALL_PERCENT) {
                others += stalls[i].share;
                continue;
            }
            add_stall(v, a, &stalls[i], waiting * stalls[i].share / sum);
        }
        if (others > 0)
            snprintf(breakdown_add(a, BREAKDOWN_STALL, "other", waiting * others / sum)->what, 200, "stalls, other reasons");
        struct breakdown_part *p = breakdown_add(a, BREAKDOWN_ISSUE, "issue", left - waiting);
        snprintf(p->what, sizeof p->what, "issuing: issue slots busy in %.3g %% of the cycles", issue);
        find_places(v, a->step, metric_names[METRIC_LINE_INSTRUCTIONS], p);
        if (!p->place_count)
            find_places(v, a->step, metric_names[METRIC_SAMPLES_SELECTED], p);
        left = 0;
    }
    if (left != 0) {
        struct breakdown_part *p = breakdown_add(a, BREAKDOWN_UNEXPLAINED, "unexplained", left);
        if (row_is_network(v->row))
            snprintf(p->what, sizeof p->what, "time %s the speed of light, in %d steps: the rows of its layers explain it",
                     left < 0 ? "above" : "below", v->steps);
        else
            snprintf(p->what, sizeof p->what, "%s",
                     left < 0       ? "below the speed of light: the ceiling is too low, or the kernel does less than the whole work"
                     : isnan(issue) ? "unexplained: the row has no counters of issue slots and stalls"
                                    : "unexplained");
    }
}

/* Bounded: a damaged database may contain any number. */
static long whole_units(const struct breakdown *a, double ns)
{
    return lround(fmax(-1e15, fmin(1e15, ns / a->unit_ns)));
}

/* Rounded units that add up: each part is rounded, and the largest after the first takes the remainder. */
static void make_units(struct breakdown *a, double unit_ns)
{
    a->unit_ns = unit_ns > 0 ? unit_ns : pow(10, floor(log10(a->total_ns)) - 3);
    a->total_units = whole_units(a, a->total_ns);
    long sum = 0;
    int largest = 0;
    for (int i = 0; i < a->count; i++) {
        a->parts[i].units = whole_units(a, a->parts[i].ns);
        sum += a->parts[i].units;
        if (i > 0 && (largest == 0 || fabs(a->parts[i].ns) > fabs(a->parts[largest].ns)))
            largest = i;
    }
    if (a->count)
        a->parts[largest].units += a->total_units - sum;
}

struct breakdown breakdown_of(const struct case_view *c, const struct view *v, double unit_ns)
{
    struct breakdown a = {.step = -1, .pipe_math = MATH_NONE, .tensor = NAN, .pipe_width = NAN};
    SCOPED_TEXT names = {0}, words = {0};
    double others;
    a.total_ns = v->ranked ? v->time->median_ns : 0;
    find_step(c, v, &a, &others, &names);
    if (a.step < 0 && !row_is_network(v->row))
        a.step = v->step;
    find_pipe(c, v, &a);
    find_roof(c, v, &a, &words);
    a.known = a.known && v->ranked;
    if (a.known) {
        snprintf(breakdown_add(&a, BREAKDOWN_ROOF, "roof", a.roof_ns)->what, 200, "speed of light: %.150s", text_get(&words));
        if (others > 0)
            snprintf(breakdown_add(&a, BREAKDOWN_STEPS, "steps", others)->what, 200, "other steps: %.150s", text_get(&names));
        split_loss(v, &a, a.step_ns - a.roof_ns);
        double between = a.total_ns;
        for (int i = 0; i < a.count; i++)
            between -= a.parts[i].ns;
        if (v->steps > 1 && !row_is_network(v->row))
            snprintf(breakdown_add(&a, BREAKDOWN_BETWEEN, "between", between)->what, 200, "%s",
                     between < 0 ? "overlap of the steps: each step was timed alone"
                                 : "between the steps: the row's time less the times of its steps");
        make_units(&a, unit_ns);
    }
    return a;
}

const char *breakdown_us(const struct breakdown *a, long units, char out[32])
{
    double us = (double)units * a->unit_ns / 1e3;
    int digits = a->unit_ns >= 1e3 ? 0 : (int)ceil(3 - log10(a->unit_ns) - 1e-9);
    snprintf(out, 32, "%.*f", digits < 0 ? 0 : digits > 6 ? 6 : digits, us);
    return out;
}

void breakdown_text(const struct breakdown *a, struct text *t, const char *indent)
{
    char number[32];
    int width = (int)strlen(breakdown_us(a, a->total_units, number));
    for (int i = 0; i < a->count; i++) {
        int n = (int)strlen(breakdown_us(a, labs(a->parts[i].units), number));
        width = n > width ? n : width;
    }
    for (int i = 0; i < a->count; i++) {
        const struct breakdown_part *p = &a->parts[i];
        text_addf(t, "%s%c %*s  %s\n", indent, p->units < 0 ? '-' : i ? '+' : ' ', width, breakdown_us(a, labs(p->units), number), p->what);
        for (int k = 0; k < p->place_count; k++) {
            if (k)
                text_add(t, ", ");
            else
                text_addf(t, "%s  %*s  ", indent, width, "");
            text_addf(t, "%s at %s", breakdown_us(a, lround(p->places[k].ns / a->unit_ns), number), p->places[k].where);
        }
        text_add(t, p->place_count ? "\n" : "");
    }
    text_addf(t, "%s= %*s us\n", indent, width, breakdown_us(a, a->total_units, number));
}
