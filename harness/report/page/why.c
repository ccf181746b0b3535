/* report/page/why: explains one row in words: verdict, time breakdown, resources, expensive lines, and the gap to the best row. */
#include "report/page/why.h"
#include "base/dtype.h"
#include "base/named.h"
#include "device/chip/throttle.h"
#include "report/view/breakdown.h"
#include "report/page/case_document.h"
#include "report/source/disassemble.h"
#include "report/view/number.h"
#include "report/view/predict.h"
#include "report/view/stored.h"
#include "report/view/resources.h"
#include "report/page/row_document.h"
#include "report/view/verdict.h"
#include "report/limits.h"
#include "base/stats/estimate.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LABEL 11
#define BEYOND 100.0 /* times the ridge */

/* "memory: says  [estimated speed-up up to 1.43x]"; without a predicted time on emu "perhaps memory: ...". */
static void add_verdict_line(struct block *list, const struct view *of, int i, const char *label)
{
    const struct verdict *v = &of->verdicts.items[i];
    SCOPED_TEXT gain = {0};
    bool estimated = verdict_speedup(v, &gain);
    block_itemf(list, label, NULL, "%s%s: %s%s%s%s", of->verdicts.no_time ? "perhaps " : "", counter_bottleneck_names[v->rule->bottleneck],
                v->says, estimated ? "  [" : "", text_get(&gain), estimated ? "]" : "");
}

void why_verdict(struct block *list, const struct case_view *c, const struct view *v)
{
    const struct verdicts *all = &v->verdicts;
    if (!case_groups(c)) {
        block_itemf(list, "verdict", NULL, "the rule files cannot be read: %s", c->judge ? c->judge->missing.text : "");
        return;
    }
    if (!all->count) {
        block_itemf(
            list, "verdict", NULL, "no diagnosis: %s",
            v->row->status != ROW_OK ? "the kernel was not verified"
            : all->counted || c->counts
                ? "the known values show no bottleneck"
                : "compiler facts, launch and time show no bottleneck, and the row has no counters (bench why --measure counts it)");
        return;
    }
    add_verdict_line(list, v, 0, "verdict");
    block_itemf(list, "try", NULL, "%s", all->items[0].remedy);
}

void why_predicted(struct block *list, const struct case_view *c, const struct view *v)
{
    SCOPED_TEXT words = {0};
    char n[NUMBER_TEXT];
    if (v->stored) {
        const struct stored_origin *o = &c->judge->stored->runs[v->stored->run];
        block_itemf(list, "stored", NULL, "%s us on %s, %s: the same machine code and launches", number_3(v->stored->us, n), o->gpu,
                    o->date);
    }
    if (predicted_text(v, &words))
        block_text(list, "predicted", NULL, &words);
    else if (c->counts && v->predicted.why[0])
        block_itemf(list, "predicted", NULL, "no prediction: %s", v->predicted.why);
}

void why_also(struct block *list, const struct view *v)
{
    for (int i = 1; i < v->verdicts.count && i <= SHOWN_ALSO; i++)
        add_verdict_line(list, v, i, v->verdicts.items[i].close ? "as likely" : "also");
}

bool why_traffic(const struct view *v, double parts[WHY_TRAFFIC])
{
    double waste = 0, moved = v->moved_bytes, least = v->row->bytes_useful > 0 ? v->row->bytes_useful : v->row->bytes;
    for (int k = 0; k < SIDES; k++) { /* a kernel may have no loads, or no stores; asynchronous copies count as filled */
        double excess = view_part(v, -1, METRIC_EMU_SECTORS + k) - view_part(v, -1, METRIC_EMU_SECTORS_IDEAL + k);
        waste += isnan(excess) ? 0 : SECTOR_BYTES * excess;
    }
    parts[0] = least;
    parts[1] = waste;
    parts[2] = moved - waste - least;
    return !isnan(moved) && least > 0;
}

const char *why_traffic_word(int part, double bytes)
{
    static const char *const words[] = {"compulsory: each operand once", "waste: sectors that the requests do not fill",
                                        "repeated: requested again by other blocks, warps or instructions"};
    return part == 2 && bytes < 0 ? "not requested: the kernel does not touch all of its operands" : words[part];
}

static void add_traffic(struct block *list, const struct view *v)
{
    double parts[WHY_TRAFFIC];
    char n[WHY_TRAFFIC + 1][NUMBER_TEXT];
    if (!why_traffic(v, parts))
        return;
    int width = (int)strlen(number_count(v->moved_bytes, n[WHY_TRAFFIC]));
    for (int i = 0; i < WHY_TRAFFIC; i++)
        width = (int)fmax(width, (double)strlen(number_count(parts[i], n[i])));
    SCOPED_TEXT block = {0};
    for (int i = 0; i < WHY_TRAFFIC; i++)
        text_addf(&block, "%c %*s B  %s\n", i ? '+' : ' ', width, n[i], why_traffic_word(i, parts[i]));
    text_addf(&block, "= %*s B requested from memory (emu has no caches and measures no time)\n", width, n[WHY_TRAFFIC]);
    block_itemf(list, "traffic", NULL, "%s", text_get(&block));
}

void why_roofline(struct block *list, const struct case_view *c, const struct view *v, const struct breakdown *a)
{
    char n[NUMBER_TEXT], r[NUMBER_TEXT], s[NUMBER_TEXT];
    SCOPED_TEXT words = {0};
    bool measured, ignored;
    double rate = machine_flop_s(&c->machine, a->pipe_math, &measured), band = machine_bytes_s(&c->machine, &ignored);
    if (!a->known)
        return;
    bool masked = v->row->flop_useful >= 0 && v->row->bytes_useful > 0; /* the work that the mask leaves */
    double flop = row_only_moves(v->row) ? 0
                  : masked               ? v->row->flop_useful
                                         : v->row->flop,
           bytes = masked ? v->row->bytes_useful : v->row->bytes;
    if (flop > 0)
        text_addf(&words, "%s, ", number_si(flop / a->total_ns * 1e9, "FLOP/s", n));
    if (bytes > 0)
        text_addf(&words, "%s of compulsory bytes", number_si(bytes / a->total_ns * 1e9, "B/s", n));
    if (flop > 0 && bytes > 0) {
        text_addf(&words, "; intensity %s FLOP/B with compulsory traffic", number_3(flop / bytes, n));
        static const char *const levels[] = {"dram", "l2", "l1"}, *const names[] = {"DRAM", "L2", "L1"};
        for (int i = 0; i < 3; i++) {
            double value = breakdown_intensity(v, a->step, flop, levels[i]);
            if (isfinite(value) &&
                (!(rate > 0) || !(band > 0) || value < BEYOND * rate / band)) /* an L1 that TMA bypasses serves almost nothing */
                text_addf(&words, ", %s at %s", number_3(value, n), names[i]);
        }
        if (rate > 0 && band > 0)
            text_addf(&words, "; the ridge is at %s", number_3(rate / band, n));
    }
    double away = a->total_ns - a->roof_ns;
    text_addf(&words, "; %s %% of the speed of light (%s), %s %s", number_percent(a->roof_ns / a->total_ns, n), number_time(a->roof_ns, r),
              number_time(fabs(away), s), away < 0 ? "below" : "above");
    block_itemf(list, "roofline", NULL, "%s", text_get(&words));
}

/* "250 x 125" */
static void add_extent(struct text *t, const int64_t extent[3])
{
    int last = extent[2] > 1 ? 2 : extent[1] > 1 ? 1 : 0;
    for (int i = 0; i <= last; i++)
        text_addf(t, "%s%lld", i ? " x " : "", (long long)extent[i]);
}

/* What is launched: "grid 250 x 125, block 8 x 8, 32 registers ...". */
static void add_launch(struct block *list, const struct row_step *s)
{
    SCOPED_TEXT t = {0};
    char a[NUMBER_TEXT];
    text_add(&t, "grid ");
    add_extent(&t, s->grid);
    text_add(&t, ", block ");
    add_extent(&t, s->block);
    if (s->stack_bytes > 0)
        text_addf(&t, ", stack %d B", s->stack_bytes);
    if (s->constant_bytes > 0)
        text_addf(&t, ", constants %d B", s->constant_bytes);
    if (s->code_bytes > 0)
        text_addf(&t, ", code %s B", number_count(s->code_bytes, a));
    if (s->sass_hash[0])
        text_addf(&t, ", machine code %.8s", s->sass_hash);
    block_itemf(list, "launch", NULL, "%s", text_get(&t));
}

static void why_add_step(struct block *list, const struct case_view *c, const struct view *v, int step, bool launch)
{
    static void (*const parts[])(const struct case_view *, const struct view *, int, struct text *) = {resources_occupancy,
                                                                                                       resources_spills, resources_shared};
    static const char *const labels[] = {"occupancy", "spills", "shared"};
    struct row_step facts;
    bool known = resources_step(c, v, step, &facts), library = known && v->row->steps[step].registers < 0;
    if (v->steps > 1 && known)
        block_itemf(list, "step", NULL, "%s", v->row->steps[step].name);
    if (library)
        block_itemf(list, "kernel", NULL, "%s: %d registers, %lld blocks", facts.name, facts.registers,
                    (long long)(facts.grid[0] * facts.grid[1] * facts.grid[2]));
    if (known && launch)
        add_launch(list, &facts);
    for (int i = 0; i < 3; i++) {
        SCOPED_TEXT words = {0};
        parts[i](c, v, step, &words);
        if (words.len)
            block_itemf(list, labels[i], NULL, "%s", text_get(&words));
    }
}

/* Launches of one kernel that repeat, as in a network, are reported once; counters of the repetitions are in the database. */
static bool said(const struct row *row, int step)
{
    const struct row_step *s = &row->steps[step];
    for (int i = 0; i < step; i++) {
        const struct row_step *o = &row->steps[i];
        if (!o->prepare && s->registers >= 0 && !strcmp(o->name, s->name) && o->registers == s->registers &&
            o->dynamic_smem == s->dynamic_smem && !memcmp(o->grid, s->grid, sizeof s->grid) && !memcmp(o->block, s->block, sizeof s->block))
            return true;
    }
    return false;
}

void why_steps(struct block *list, const struct case_view *c, const struct view *v, bool launch)
{
    for (int i = 0; i < v->row->step_count; i++)
        if (!v->row->steps[i].prepare && !said(v->row, i))
            why_add_step(list, c, v, i, launch);
}

/* ---- the gap to the best ---- */

const struct view *why_rival(const struct case_view *c, const struct view *v)
{
    const struct view *best[2] = {NULL, NULL}; /* of all, and of the others */
    for (int i = 0; i < c->count; i++) {
        const struct view *other = &c->views[i];
        for (int k = 0; k < 2 && other->ranked && other->row->status == ROW_OK; k++)
            if ((!k || (other != v && other != v->same_as && other->same_as != v)) &&
                (!best[k] || other->time->median_ns < best[k]->time->median_ns))
                best[k] = other;
    }
    return best[0] == v || (best[0] && best[0]->same_as == v) || best[0] == v->same_as ? best[1] : best[0];
}

static long units_of(const struct breakdown *a, enum breakdown_kind kind, const char *key)
{
    long sum = 0;
    for (int i = 0; i < a->count; i++)
        if (a->parts[i].kind == kind && (!key || !strcmp(a->parts[i].key, key)))
            sum += a->parts[i].units;
    return sum;
}

static void add_difference(struct text *t, const struct breakdown *a, const struct breakdown *b, enum breakdown_kind kind, const char *key,
                           const char *what)
{
    char n[32];
    long d = units_of(a, kind, key) - units_of(b, kind, key);
    int width = 1 + (int)strlen(breakdown_us(a, labs(a->total_units - b->total_units), n));
    if (d)
        text_addf(t, "%c %*s  %s\n", d > 0 ? '+' : '-', width, breakdown_us(a, labs(d), n), what);
}

/* Difference of two time breakdowns in one unit, part by part: it adds up to the difference of the times. */
static void breakdown_gap(const struct breakdown *a, const struct breakdown *b, struct text *t)
{
    static const char *const names[BREAKDOWN_KINDS] = {
        "speed of light", "other steps", NULL, "SMs or block slots without a block", NULL, "issuing", "unexplained", "between the steps"};
    char n[32];
    for (int k = 0; k < BREAKDOWN_KINDS; k++)
        if (names[k])
            add_difference(t, a, b, (enum breakdown_kind)k, NULL, names[k]);
    for (int side = 0; side < 2; side++) { /* findings and stalls: those of the first row, then those that only the other has */
        const struct breakdown *own = side ? b : a;
        for (int i = 0; i < own->count; i++) {
            const struct breakdown_part *p = &own->parts[i];
            char what[64];
            if ((p->kind != BREAKDOWN_STALL && p->kind != BREAKDOWN_FINDING) || (side && units_of(a, p->kind, p->key)))
                continue;
            snprintf(what, sizeof what, p->kind == BREAKDOWN_STALL ? "stall_%s" : "first finding: %s", p->key);
            add_difference(t, a, b, p->kind, p->key, what);
        }
    }
    long d = a->total_units - b->total_units;
    text_addf(t, "=  %s%s us\n", d < 0 ? "-" : "", breakdown_us(a, labs(d), n));
}

static void add_other(struct text *t, const char *name)
{
    text_addf(t, name ? "`%s`" : "the other", name);
}

/* Appends the separator before the next reason; false: there must be no other. */
static bool goes_on(struct text *t, enum why_words words)
{
    bool goes = !t->len || words != WHY_FIRST;
    text_add(t, goes && t->len ? "; " : "");
    return goes;
}

/* Appends the sentence with {ratio}, {this}, {that} and {other} filled in; text in [] only if the other row has a name. */
static void add_more(struct text *t, const char *sentence, double mine, double other, const char *name)
{
    char number[NUMBER_TEXT];
    for (size_t n; *sentence; sentence += n) {
        n = strcspn(sentence, "{[]");
        text_add_bytes(t, sentence, n);
        sentence += n;
        n = *sentence == '{' ? strcspn(sentence, "}") + 1 : *sentence == '[' && !name ? strcspn(sentence, "]") + 1 : *sentence != 0;
        if (*sentence == '{' && !strncmp(sentence, "{other}", n))
            add_other(t, name);
        else if (*sentence == '{')
            text_add(t, number_3(!strncmp(sentence, "{ratio}", n) ? mine / other : !strncmp(sentence, "{this}", n) ? mine : other, number));
    }
}

/* Has the slower row, which is `a` or with `less` `b`, so much of it that it matters? Below 1, so little. */
static bool differs(double a, double b, double from, bool less)
{
    double ratio = less ? b / a : a / b;
    return a > 0 && b > 0 && (from < 1 ? ratio <= from : ratio >= from);
}

void why_compared(struct text *t, const struct case_view *c, const struct view *a, const struct view *b, bool less, enum why_words words)
{
    bool counted = a->verdicts.counted && b->verdicts.counted;
    const struct counter_groups *groups = !case_groups(c) ? NULL : counted ? &c->judge->groups : &c->judge->rules;
    for (struct counter_place p = {0}; counter_next(groups, &p, COUNTER_MORE);) {
        const struct counter_value *v = &p.group->values[p.value];
        double mine = verdict_number(c, a, p.group, p.value), other = verdict_number(c, b, p.group, p.value);
        if (differs(mine, other, v->from, less) && verdict_holds(c, less ? b : a, v->more_if) && goes_on(t, words))
            add_more(t, v->more, mine, other, words == WHY_NAMED ? b->name : NULL);
    }
}

/* Differences in the compiler's and the launch's facts. */
static void add_static(struct text *t, const struct case_view *c, const struct view *a, const struct breakdown *pa, const struct view *b,
                       const struct breakdown *pb, enum why_words words)
{
    SCOPED_TEXT name = {0};
    add_other(&name, words == WHY_NAMED ? b->name : NULL);
    const struct row_step *s = pa->step >= 0 && pa->step < a->row->step_count ? &a->row->steps[pa->step] : NULL;
    const struct row_step *o = pb->step >= 0 && pb->step < b->row->step_count ? &b->row->steps[pb->step] : NULL;
    char x[NUMBER_TEXT], y[NUMBER_TEXT];
    if (pa->tensor == 0 && pb->tensor != 0 && pb->pipe_math != MATH_F32 && pa->pipe_width > 1 && goes_on(t, words))
        text_addf(t, "has no tensor instruction: the pipe of %s has %sx the rate", text_get(&name), number_3(pa->pipe_width, x));
    if (a->steps > b->steps && goes_on(t, words))
        text_addf(t, "runs %d steps instead of %d", a->steps, b->steps);
    if (!s || !o || s->registers < 0 || o->registers < 0)
        return;
    bool full = !(s->waves < 1); /* a smaller grid leaves slots empty that would fit */
    if (full && s->occupancy > 0 && o->occupancy > case_limit(c, "occupancy_more") * s->occupancy && goes_on(t, words))
        text_addf(t, "has a theoretical occupancy of %s %% instead of %s %%", number_percent(s->occupancy, x),
                  number_percent(o->occupancy, y));
    if (s->spill_store_bytes > o->spill_store_bytes && goes_on(t, words))
        text_addf(t, "spills %d B a thread, %s %d", s->spill_store_bytes, text_get(&name), o->spill_store_bytes);
    if (s->waves > 0 && s->waves < 1 && o->waves >= fmin(1, 2 * s->waves) && goes_on(t, words))
        text_addf(t, "fills %s of a wave, %s %s", number_3(s->waves, x), text_get(&name), number_3(o->waves, y));
}

bool why_against(struct text *t, const struct case_view *c, const struct view *v, const struct view *rival, enum why_words words)
{
    bool ahead = v->time->median_ns <= rival->time->median_ns;
    if (c->noise > 0 && fabs(v->time->median_ns / rival->time->median_ns - 1) <= c->noise) {
        text_add(t, "no significant difference: the baseline differs from itself by as much (A/A)");
        return false;
    }
    why_compared(t, c, v, rival, ahead, words);
    if (!ahead) {
        struct breakdown a = breakdown_of(c, v, 0), b = breakdown_of(c, rival, a.unit_ns);
        add_static(t, c, v, &a, rival, &b, words);
    }
    return true;
}

static void add_against(struct block *list, const struct case_view *c, const struct view *v, const struct breakdown *a)
{
    const struct view *best = v->ranked ? why_rival(c, v) : NULL;
    char n[NUMBER_TEXT], r[NUMBER_TEXT];
    if (!best)
        return;
    bool self = v->time->median_ns <= best->time->median_ns; /* of the best row: the next one's page shows what it does better */
    SCOPED_TEXT block = {0}, words = {0};
    block_itemf(list, self ? "next best" : "against", NULL, "%s%s: %s, this row takes %sx", best->name, self ? "" : ", the fastest",
                number_time(best->time->median_ns, n), number_3(v->time->median_ns / best->time->median_ns, r));
    bool apart = why_against(&words, c, v, best, WHY_NAMED);
    struct breakdown b = breakdown_of(c, best, a->unit_ns);
    bool parts = row_is_network(v->row) || (a->step >= 0 && b.step >= 0); /* a row without steps has no breakdown */
    if (apart && a->known && b.known && parts) {
        breakdown_gap(a, &b, &block);
        block_itemf(list, "", NULL, "%s", text_get(&block));
    }
    if (words.len)
        block_itemf(list, "", NULL, "%s", text_get(&words));
}

/* On a device without times, the row that requests the fewest bytes stands in for the best. */
static void add_against_counts(struct block *list, const struct case_view *c, const struct view *v, const struct breakdown *a)
{
    const struct view *best = CASE_LEAST(c, other, other->row->status == ROW_OK, other->moved_bytes);
    SCOPED_TEXT words = {0};
    if (best && best != v) {
        struct breakdown b = breakdown_of(c, best, 0);
        why_compared(&words, c, v, best, false, WHY_NAMED);
        add_static(&words, c, v, a, best, &b, WHY_NAMED);
        if (words.len)
            block_itemf(list, "against", NULL, "%s, which requests the fewest bytes: %s", best->name, text_get(&words));
    }
}

/* "1965 MHz (1950 to 1980)": the median and the extremes; "" if not known. */
static const char *range(const double *values, int count, double unit, const char *name, char out[64])
{
    double low = INFINITY, high = -INFINITY;
    char m[NUMBER_TEXT], l[NUMBER_TEXT], h[NUMBER_TEXT];
    out[0] = 0;
    for (int i = 0; values && i < count; i++)
        if (isfinite(values[i])) {
            low = fmin(low, values[i]);
            high = fmax(high, values[i]);
        }
    if (low <= high)
        snprintf(out, 64, "%s %s (%s to %s)", number_3(round(estimate_median(values, count).median / unit), m), name,
                 number_3(round(low / unit), l), number_3(round(high / unit), h));
    return out;
}

/* The state of the GPU while the row was timed: clock, power, and what throttled the clock. */
static void add_clock(struct block *list, const struct row_time *t)
{
    char clock[64], power[64];
    SCOPED_TEXT words = {0}, reasons = {0};
    int64_t bits = 0;
    int rounds = 0;
    if (range(t->clock_hz, t->rounds, 1e6, "MHz", clock)[0])
        text_addf(&words, "%s at its samples; %d repeated because of a lower clock, %d kept at a lower clock", clock, t->retaken,
                  t->kept_low);
    if (range(t->power_w, t->rounds, 1, "W", power)[0])
        text_addf(&words, "%s%s", words.len ? "; " : "", power);
    for (int i = 0; t->throttle && i < t->rounds; i++)
        if (t->throttle[i] > 0 && t->throttle[i] < 0x1p62) {
            SCOPED_TEXT one = {0};
            throttle_text((int64_t)t->throttle[i], &one);
            rounds += one.len > 0;
            bits |= (int64_t)t->throttle[i];
        }
    throttle_text(bits, &reasons);
    if (rounds)
        text_addf(&words, "; throttled in %d of %d rounds: %s", rounds, t->rounds, text_get(&reasons));
    if (words.len)
        block_itemf(list, "clock", NULL, "%s", text_get(&words));
}

/* The same of a row of a judged case, in blocks. */
static void why_document(struct document *d, const struct case_view *c, const struct view *v, bool whole)
{
    struct text words = {0};
    const struct row *row = v->row;
    case_conditions(c, true, &words);
    document_heading(d, 2, row->id, NULL);
    struct block *list = document_prose(d, TONE_PLAIN, DETAIL_ALWAYS);
    block_item(list, NULL, NULL, row->work);
    block_text(list, NULL, NULL, &words);
    list = document_list(d, DETAIL_ALWAYS);
    list->columns = LABEL;
    if (row->status != ROW_OK)
        block_itemf(list, "status", NULL, "%s%s%s", row_status_name(row->status), row->reason ? ": " : "", row->reason ? row->reason : "");
    if (row->status == ROW_FOIL && row->note)
        block_item(list, "note", NULL, row->note);
    why_verdict(list, c, v);
    why_also(list, v);
    why_predicted(list, c, v);
    struct breakdown a = breakdown_of(c, v, 0);
    if (a.known) {
        breakdown_text(&a, &words, "");
        block_itemf(list, "breakdown", NULL, "%s", text_get(&words));
        text_free(&words);
    } else if (v->ranked) {
        block_itemf(list, "breakdown", NULL, "%s, but the ceilings of this machine are unknown: not measured, and not in the chip table",
                    number_time(v->time->median_ns, (char[NUMBER_TEXT]){0}));
    }
    if (v->time)
        add_clock(list, v->time);
    why_roofline(list, c, v, &a);
    add_traffic(list, v);
    why_steps(list, c, v, false);
    case_lines(c, v, list);
    if (c->counts)
        add_against_counts(list, c, v, &a);
    else
        add_against(list, c, v, &a);
    row_source(d, c, v, whole ? SOURCE_WHOLE : SOURCE_BRIEF);
}

void why_of_row(struct document *d, const struct run *run, struct row *const *rows, int count, int index, bool whole)
{
    SCOPED_BY(case_view_free) struct case_view c = {0};
    struct judge judge;
    int first = index, end = case_end(rows, count, index);
    while (first > 0 && case_end(rows, count, first - 1) == end)
        first--;
    disassemble(rows + index, 1);
    judge_open(&judge);
    case_view_make(&c, run, rows + first, end - first);
    case_judge(&c, &judge);
    why_document(d, &c, &c.views[index - first], whole);
    judge_close(&judge);
}

void report_why(struct text *t, const struct run *run, struct row *const *rows, int count, int index, const struct report_style *style)
{
    SCOPED_BY(document_free) struct document d = {0};
    why_of_row(&d, run, rows, count, index, true);
    form_terminal.write(t, &d, style);
}

int why_find(struct row *const *rows, int count, const char *words, struct error *err)
{
    SCOPED struct named *names = xcalloc((size_t)count, sizeof *names);
    for (int i = 0; i < count; i++)
        names[i] = (struct named){rows[i]->id, rows[i]->part_count ? rows[i]->parts[0].variant : rows[i]->variant};
    return named_find(names, count, words, "bench show", err);
}
