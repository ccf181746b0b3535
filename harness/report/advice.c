/* report/advice: the first rules: from the facts and counters of a row to one sentence that says where to look. */
#include "base/file.h"
#include "report/claims.h"
#include "report/number.h"
#include "report/verdict.h"
#include "report/view.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Thresholds: METHOD.md, "why". They follow the rules that profilers use, so that verdicts agree. */
#define LOW_OCCUPANCY 0.5
#define NEAR_FLOOR 0.8
#define BELOW_FLOOR 1.02
#define EXCESS_SECTORS 1.25 /* sectors over ideal from which a line is named */
#define EXCESS_WAVEFRONTS 1.10
#define MUCH_MOVED 2.0
#define COUNTED_WEIGHT 300.0 /* the fastest row's first */
#define DIVERGENCE_WEIGHT 100.0

struct list {
    struct advice *items;
    int count;
};

static void add(struct list *l, const struct view *v, double weight, const char *format, ...) __attribute__((format(printf, 4, 5)));
static void add(struct list *l, const struct view *v, double weight, const char *format, ...)
{
    l->items = xrealloc(l->items, (size_t)(l->count + 1) * sizeof *l->items);
    struct advice *a = &l->items[l->count++];
    *a = (struct advice){.view = v, .weight = weight, .at_source = strstr(format, "%s:%d  ") == format};
    va_list args;
    va_start(args, format);
    vsnprintf(a->text, sizeof a->text, format, args);
    va_end(args);
}

/* Rules that need only what the compiler says. */
static void advise_static(struct list *l, const struct view *v)
{
    char number[NUMBER_TEXT];
    for (int i = 0; i < v->row->step_count; i++) {
        const struct row_step *s = &v->row->steps[i];
        const char *of = v->steps > 1 ? s->name : "", *colon = v->steps > 1 ? ": " : "";
        if (s->prepare || s->registers < 0) {
            continue;
        }
        if (s->spill_store_bytes > 0 || s->spill_load_bytes > 0) {
            add(l, v, 40 + s->spill_store_bytes / 100.0, "%s%sspills %d B a thread at %d registers: smaller tiles or looser launch bounds",
                of, colon, s->spill_store_bytes > s->spill_load_bytes ? s->spill_store_bytes : s->spill_load_bytes, s->registers);
        }
        if (s->occupancy >= 0 && s->occupancy < LOW_OCCUPANCY && s->lift[0] &&
            strncmp(v->row->variant ? v->row->variant : "", "cudnn", 5) != 0) {
            add(l, v, 20 + (LOW_OCCUPANCY - s->occupancy) * 20, "%s%soccupancy %s %%, limited by %s: %s", of, colon,
                number_percent(s->occupancy, number), s->limit, s->lift);
        }
        if (s->waves > 0 && s->waves < 1) {
            add(l, v, 15 * (1 - s->waves), "%s%s%s of a wave: the grid does not fill the chip", of, colon, number_short(s->waves, number));
        }
    }
}

static void advise_time(struct list *l, const struct case_view *c, const struct view *v)
{
    char a[NUMBER_TEXT], b[NUMBER_TEXT], p[NUMBER_TEXT];
    if (!v->ranked) {
        return;
    }
    double ns = v->time->median_ns, excess = claim_excess(c, v);
    if (excess) {
        add(l, v, 900, "claims this shape, but takes %s times as long as %s", number_3(excess, a), c->zero_name);
    }
    if (v->floor_share > BELOW_FLOOR) {
        add(l, v, 1000, "%s us is below the floor of %s (%s), which nothing can beat: the work, the chip's figures or the timing is wrong",
            number_3(ns / 1e3, a), number_time(v->row->floor_ns, b), v->row->floor_by);
    } else if (v->floor_share >= NEAR_FLOOR) {
        add(l, v, 30, "at %s %% of the floor (%s, %s): little is left to gain here", number_percent(v->floor_share, p),
            number_time(v->row->floor_ns, a), v->row->floor_by);
    }
    if (v->steps < 2) {
        return;
    }
    double sum = 0;
    int longest = -1;
    for (int i = 0; i < v->row->step_count; i++) {
        const struct row_time *t = step_time(c, v->row, i);
        if (t && !v->row->steps[i].prepare) {
            sum += t->median_ns;
            longest = longest < 0 || t->median_ns > step_time(c, v->row, longest)->median_ns ? i : longest;
        }
    }
    if (longest >= 0) {
        double most = step_time(c, v->row, longest)->median_ns;
        add(l, v, 25, "%s is %s %% of it (%s us); the other steps together %s us", v->row->steps[longest].name,
            number_percent(most / ns, p), number_3(most / 1e3, a), number_3((sum - most) / 1e3, b));
    }
}

/* The value of a per-line counter of the same step and line as `at`. */
static double at_line(const struct row *row, const struct row_metric *at, const char *name)
{
    for (int i = 0; i < row->metric_count; i++) {
        const struct row_metric *m = &row->metrics[i];
        if (m->step == at->step && m->line == at->line && strcmp(m->name, name) == 0) {
            return m->value;
        }
    }
    return NAN;
}

static const char *file_of(const struct row *row, int step)
{
    if (step < 0 || step >= row->step_count || !row->steps[step].file[0]) {
        const char *slash = row->variant ? strrchr(row->variant, '/') : NULL;
        return slash ? slash + 1 : row->variant ? row->variant : "?";
    }
    return file_base(row->steps[step].file);
}

/* The source lines that cost most: sectors of global memory and wavefronts of shared memory beyond what their bytes need. */
static void advise_lines(struct list *l, const struct view *v)
{
    static const struct {
        const char *counter, *ideal, *requests, *what;
        bool shared;
    } rules[] = {
        {"emu.global_sectors_st", "emu.global_sectors_ideal_st", "emu.global_requests_st", "store", false},
        {"emu.global_sectors_ld", "emu.global_sectors_ideal_ld", "emu.global_requests_ld", "load", false},
        {"emu.shared_wavefronts_ld", "emu.shared_wavefronts_ideal_ld", "", "shared loads", true},
        {"emu.shared_wavefronts_st", "emu.shared_wavefronts_ideal_st", "", "shared stores", true},
    };
    char a[NUMBER_TEXT], b[NUMBER_TEXT];
    double all = v->moved_bytes / 32;
    for (int i = 0; i < v->row->metric_count; i++) {
        const struct row_metric *m = &v->row->metrics[i];
        for (size_t k = 0; m->line > 0 && k < sizeof rules / sizeof rules[0]; k++) {
            if (strcmp(m->name, rules[k].counter) != 0) {
                continue;
            }
            double ideal = at_line(v->row, m, rules[k].ideal), requests = at_line(v->row, m, rules[k].requests), excess = m->value - ideal;
            if (rules[k].shared && m->value >= ideal * EXCESS_WAVEFRONTS && ideal > 0) {
                add(l, v, 1000 * excess / (excess + ideal), "%s:%d  %s-way bank conflict: %s take %s wavefronts, %s would do",
                    file_of(v->row, m->step), m->line, number_short(m->value / ideal, a), rules[k].what, number_count(m->value, b),
                    number_count(ideal, (char[NUMBER_TEXT]){0}));
            } else if (!rules[k].shared && m->value >= ideal * EXCESS_SECTORS && requests > 0) {
                add(l, v, 2000 * excess / (all > 0 ? all : m->value), "%s:%d  %s sectors a %s, %s would do", file_of(v->row, m->step),
                    m->line, number_short(m->value / requests, a), rules[k].what, number_short(ideal / requests, b));
            }
        }
    }
    if (v->moved_over_compulsory >= MUCH_MOVED) {
        add(l, v, 100 * (1 - 1 / v->moved_over_compulsory),
            "moves %s times its compulsory bytes: a bigger tile, or reuse in registers, reads less again",
            number_3(v->moved_over_compulsory, a));
    }
}

/* What the counters say binds a row, where it has any: before what only the compiler knows. Of emu's verdicts only divergence has no source
 * line above. */
static void advise_counters(struct list *l, const struct case_view *c, const struct view *v)
{
    struct verdicts all;
    verdicts_of(c, v, &all);
    const struct verdict_item *item = &all.items[0];
    if (all.count && (item->counted || item->binds == COUNTER_BIND_DIVERGENCE)) {
        add(l, v, item->counted ? COUNTED_WEIGHT - v->rank : DIVERGENCE_WEIGHT, "%s: %.140s; %.160s", counter_bind_names[item->binds],
            item->says, item->remedy);
    }
}

static int by_weight(const void *a, const void *b)
{
    const struct advice *x = a, *y = b;
    /* equal weights keep the order of the rows, so that the text is the same every time */
    return x->weight > y->weight ? -1 : x->weight < y->weight ? 1 : x->view < y->view ? -1 : x->view > y->view;
}

int advise(const struct case_view *c, struct advice **out)
{
    struct list l = {0};
    for (int i = 0; i < c->count; i++) {
        const struct view *v = &c->views[i];
        if (v->row->status != ROW_OK || row_is_network(v->row)) {
            continue; /* what is true of its steps is said of its layers' own rows */
        }
        advise_static(&l, v);
        advise_time(&l, c, v);
        advise_counters(&l, c, v);
        if (c->counts) {
            advise_lines(&l, v);
        }
    }
    if (l.count) {
        qsort(l.items, (size_t)l.count, sizeof *l.items, by_weight);
    }
    *out = l.items;
    return l.count;
}
