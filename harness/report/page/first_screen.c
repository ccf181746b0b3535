/* report/page/first_screen: see first_screen.h. */
#include "report/page/first_screen.h"
#include "base/order.h"
#include "base/spec.h"
#include "report/limits.h"
#include "report/view/machine.h"
#include "report/view/number.h"
#include "report/view/predict.h"
#include "report/view/stored.h"
#include "report/page/row_document.h"
#include "report/view/verdict.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- how many rows stand ---- */

#define UNKNOWN_NAMED 3 /* rows without a time */

struct tally {
    int by[ROW_STATUS_COUNT], failed, timed, won, lost, alone; /* alone: without a baseline */
};

static void count_case(struct tally *y, const struct case_view *c)
{
    const struct view *best = c->rows[0]->like_case ? NULL : case_best(c);
    for (int i = 0; i < c->count; i++) {
        y->by[c->rows[i]->status]++;
        y->failed += c->views[i].failed;
    }
    if (!best)
        return;
    const bool alone = !case_baseline(c) || !(best->time->ratio_low > 0);
    y->timed++;
    y->won += !alone && best->time->ratio_low > 1;
    y->lost += !alone && best->time->ratio_high < 1;
    y->alone += alone;
}

static void tally_part(struct text *t, int count, const char *words)
{
    if (count)
        text_addf(t, "%s%d %s", t->len ? ", " : "", count, words);
}

/* Rows that do not apply to their case are not failures. */
static void add_lead(struct document *d, const struct run *run, struct row *const *rows, int count)
{
    struct tally y = {0};
    for (struct case_walk w = {.run = run, .rows = rows, .count = count}; case_next(&w);)
        count_case(&y, &w.view);
    struct text rest = {0};
    tally_part(&rest, y.failed, "failed");
    tally_part(&rest, y.by[ROW_PLANNED], "not run yet");
    tally_part(&rest, y.by[ROW_INFEASIBLE], "not applicable to their case");
    tally_part(&rest, y.by[ROW_SKIPPED], "skipped with a reason");
    tally_part(&rest, y.by[ROW_FOIL], "without verification (reference copies and imported times)");
    SCOPED char *verified = text_format("%d of %d row%s verified", y.by[ROW_OK], count, text_s(count));
    struct block *lead = document_prose(d, TONE_LEAD, DETAIL_FULL);
    block_item(lead, NULL, verified, rest.len ? text_get(&rest) : NULL);
    text_free(&rest);
    if (y.timed) {
        text_addf(&rest, "a variant is significantly faster than the baseline in %d of %d timed cases", y.won, y.timed);
        int close = y.timed - y.won - y.lost - y.alone;
        if (y.lost)
            text_addf(&rest, ", slower in %d", y.lost);
        if (close)
            text_addf(&rest, ", without a significant difference in %d", close);
        if (y.alone)
            text_addf(&rest, ", without a baseline in %d", y.alone);
    } else if (count && spec_is(rows[0]->device, SPEC_COUNTS))
        text_add(&rest, "counted on emu; no time is measured here");
    block_text(lead, NULL, NULL, &rest);
}

/* ---- one line per case ---- */

/* Rows of the case that no sentence covers: "2 failed, 1 not counted". */
static void not_judged(const struct case_view *c, struct text *t)
{
    int failed = 0, close = 0, uncounted = 0, untimed = 0, skipped = 0;
    for (int i = 0; i < c->count; i++) {
        const struct view *v = &c->views[i];
        bool ok = v->row->status == ROW_OK;
        failed += v->failed;
        skipped += v->row->status == ROW_PLANNED;
        untimed += ok && !v->ranked && !c->counts;
        uncounted += ok && v->ranked && !v->verdicts.counted && !v->row->library;
        close += v->ranked && v->rank > 0 && v->time->ratio_low <= 1 && v->time->ratio_high >= 1;
    }
    tally_part(t, failed, "failed");
    tally_part(t, close, "no significant difference from the baseline");
    tally_part(t, untimed, "not timed");
    tally_part(t, uncounted, "not counted");
    tally_part(t, skipped, "not run");
}

/* The first reason: what the slower row does more of, else the winner's bottleneck. */
static void add_reason(struct table *t, const struct case_view *c, const struct view *winner)
{
    SCOPED_TEXT words = {0}, cell = {0};
    const struct view *zero = case_baseline(c), *rival = zero && zero != winner ? zero : why_rival(c, winner);
    bool apart = rival && winner_reason(c, rival, winner, WHY_FIRST, &words);
    if (apart && words.len)
        text_addf(&cell, "%s: %s", rival == zero ? c->zero_name : rival->name, text_get(&words));
    else if (winner->verdicts.count && !words.len)
        text_addf(&cell, "its limit: %s", winner->verdicts.items[0].says);
    else
        text_add(&cell, text_get(&words));
    table_cell(t, PAINT_NONE, "%s", text_get(&cell));
}

static void share_cell(struct table *t, const struct view *v)
{
    double share = !v || !v->ranked ? NAN : isnan(v->roof_share) ? v->floor_share : v->roof_share;
    if (isnan(share))
        table_absent(t, 1);
    else
        table_bar(t, 100 * share);
}

static void glance_timed(struct table *t, const struct case_view *c)
{
    char a[NUMBER_TEXT], b[NUMBER_TEXT];
    const struct view *best = case_best(c), *zero = case_baseline(c), *compared = zero ? best : NULL;
    bool wins = compared && best->time->ratio_low > 1, close = compared && !wins && best->time->ratio_high >= 1;
    const struct view *winner = wins || !zero ? best : zero;
    SCOPED_TEXT name = {0}, open = {0};
    if (winner)
        winner_name(winner, &name);
    SCOPED_TEXT others = {0};
    if (winner && view_other_names(c, winner, &others))
        text_addf(&name, " %s", text_get(&others));
    table_cell(t, wins ? PAINT_BOLD : PAINT_NONE, "%s", winner ? text_get(&name) : "none");
    if (close && zero)
        table_note(t, "%s: no significant difference", best->name);
    else if (winner && winner == zero && best)
        table_note(t, "no variant is faster; %s is next", best->name);
    if (winner) {
        SCOPED char *anchor = row_anchor(winner->row);
        table_target(t, anchor);
    }
    double us = winner ? winner->time->median_ns / 1e3 : NAN, ratio = compared && best->time->ratio > 0 ? best->time->ratio : NAN;
    table_number(t, PAINT_NONE, us, number_3(us, a));
    table_number(t, wins ? PAINT_GOOD : PAINT_NONE, ratio, number_3(ratio, a));
    if (compared && best->time->ratio_low > 0)
        table_note(t, "[%s %s]", number_3(best->time->ratio_low, a), number_3(best->time->ratio_high, b));
    if (winner)
        add_reason(t, c, winner);
    else
        table_absent(t, 1);
    share_cell(t, zero);
    share_cell(t, winner);
    not_judged(c, &open);
    table_cell(t, PAINT_DIM, "%s", text_get(&open));
}

/* "14 of 14; no race or unsafe access was found": emu checks every access of what it verifies. */
static void add_verified(const struct case_view *c, struct text *t)
{
    int ok = 0, unsafe = 0, all = 0;
    for (int i = 0; i < c->count; i++) {
        enum row_status s = c->rows[i]->status;
        ok += s == ROW_OK;
        unsafe += s == ROW_UNSAFE;
        all += s == ROW_OK || c->views[i].failed;
    }
    if (!all)
        return;
    text_addf(t, "%d of %d", ok, all);
    if (unsafe)
        text_addf(t, ", %d with a race or an unsafe access", unsafe);
    else
        text_add(t, ", no race or unsafe access found");
}

/* The first verified row of a case of which no time is predicted; NULL: none. */
static const struct view *unpredicted(const struct case_view *c)
{
    for (int i = 0; i < c->count; i++)
        if (c->rows[i]->status == ROW_OK && c->views[i].predicted.why[0])
            return &c->views[i];
    return NULL;
}

/* Why none of a case's verified rows has a prediction, by the first of them. */
static void add_no_prediction(struct text *t, const struct case_view *c)
{
    const struct view *v = unpredicted(c);
    if (v)
        text_addf(t, "no prediction of %s: %s", v->name, v->predicted.why);
}

/* In us: the row's stored time, else the predicted one. */
static double counted_us(const struct view *v)
{
    return v->stored ? v->stored->us : v->predicted.ns / 1e3;
}

/* The next row by the same kind of time; NULL: there is none. */
static const struct view *counted_next(const struct case_view *c, const struct view *winner)
{
    const struct view *first = winner && winner->same_as ? winner->same_as : winner;
    for (int i = 0; i < c->count && winner; i++) {
        const struct view *v = &c->views[c->order[i]];
        if (v != first && v->same_as != first && (winner->stored ? v->stored != NULL : v->predicted.ns > 0))
            return v;
    }
    return NULL;
}

/* Of two predicted times, may the slower one be the faster? Intervals that overlap decide nothing. */
static const char *next_words(const struct view *winner, const struct view *next)
{
    return !winner->stored && next->predicted.low_ns < winner->predicted.high_ns ? ": intervals overlap" : "";
}

/* "perhaps NAME, predicted 126 us [120 143]": a row whose code has no stored time and whose predicted time is less than the winner's. */
static bool add_perhaps(const struct case_view *c, const struct view *winner, struct text *t)
{
    char ns[3][NUMBER_TEXT];
    const struct view *best = winner && winner->stored ? CASE_LEAST(c, v, !v->stored, v->predicted.ns) : NULL;
    if (!best || best->predicted.ns >= 1e3 * winner->stored->us)
        return false;
    const struct prediction *p = &best->predicted;
    text_add(t, "perhaps ");
    winner_name(best, t);
    text_addf(t, ", predicted %s us [%s %s]", number_3(p->ns / 1e3, ns[0]), number_3(p->low_ns / 1e3, ns[1]),
              number_3(p->high_ns / 1e3, ns[2]));
    return true;
}

/* "no time is known of NAME": verified rows that a rank by stored and predicted times leaves out. */
static bool add_unknown(const struct case_view *c, const struct view *winner, struct text *t)
{
    int count = 0;
    for (int i = 0; i < c->count && winner; i++) {
        if (!predicted_not(&c->views[i]))
            continue;
        if (++count <= UNKNOWN_NAMED)
            text_addf(t, "%s%s", count > 1 ? ", " : "no time is known of ", c->views[i].name);
    }
    if (count > UNKNOWN_NAMED)
        text_addf(t, " and %d more", count - UNKNOWN_NAMED);
    return count > 0;
}

/* What limits the row: its first verdict, and the second where it is open which; else what the prediction says, of a network only about its
 * longest launch; "": neither is known. */
static void counted_limit(const struct view *v, struct text *t)
{
    const struct verdicts *all = &v->verdicts;
    text_add(t, all->count               ? all->items[0].says
                : row_is_network(v->row) ? "see the rows of its layers"
                : v->predicted.ns > 0    ? predict_unit_names[v->predicted.limit]
                                         : "");
    if (all->open && all->count > 1 && all->items[1].close)
        text_addf(t, "; or %s", all->items[1].says);
}

/* Without times: the fastest row by stored times, else by predicted ones; what limits it, and what to try. */
static void glance_counted(struct table *t, const struct case_view *c)
{
    char a[NUMBER_TEXT], b[NUMBER_TEXT];
    const struct view *winner = predicted_winner(c);
    const struct view *next = counted_next(c, winner);
    const struct prediction *p = winner ? &winner->predicted : NULL;
    SCOPED_TEXT name = {0}, verified = {0}, open = {0}, perhaps = {0}, not_known = {0}, limit = {0};
    double us = winner ? counted_us(winner) : NAN, library = c->stored_library ? c->stored_library->us : NAN;
    if (winner)
        winner_name(winner, &name);
    table_cell(t, PAINT_BOLD, "%s", text_get(&name));
    bool may = add_perhaps(c, winner, &perhaps), unknown = add_unknown(c, winner, &not_known);
    if (may || unknown)
        table_note(t, "%s%s%s", text_get(&perhaps), may && unknown ? "; " : "", text_get(&not_known));
    if (winner) {
        SCOPED char *anchor = row_anchor(winner->row);
        table_target(t, anchor);
    }
    table_number(t, PAINT_NONE, us, number_3(us, a));
    if (winner && winner->stored)
        table_note(t, "stored");
    else if (winner)
        table_note(t, "predicted [%s %s]", number_3(p->low_ns / 1e3, a), number_3(p->high_ns / 1e3, b));
    bool measured = winner && winner->stored;
    table_number(t, PAINT_NONE, next ? counted_us(next) / us : NAN, number_3(next ? counted_us(next) / us : NAN, a));
    if (next)
        table_note(t, "%s%s", next->name, next_words(winner, next));
    table_number(t, PAINT_NONE, measured ? library / us : NAN, number_3(library / us, a));
    if (winner)
        counted_limit(winner, &limit);
    else
        add_no_prediction(&limit, c);
    table_cell(t, PAINT_NONE, "%s", text_get(&limit));
    add_verified(c, &verified);
    table_cell(t, PAINT_NONE, "%s", text_get(&verified));
    table_cell(t, PAINT_DIM, "%s", winner && winner->verdicts.count ? winner->verdicts.items[0].remedy : "");
    not_judged(c, &open);
    table_cell(t, PAINT_DIM, "%s", text_get(&open));
}

/* What the baseline is in every case; "baseline" when the cases differ in it. */
static void common_zero(const struct run *run, struct row *const *rows, int count, char out[VARIANT_BASE])
{
    snprintf(out, VARIANT_BASE, "baseline");
    for (struct case_walk w = {.run = run, .rows = rows, .count = count}; case_next(&w);) {
        bool first = w.view.rows == rows, same = first || strcmp(out, w.view.zero_name) == 0;
        snprintf(out, VARIANT_BASE, "%s", same ? w.view.zero_name : "baseline");
        if (!same) {
            case_view_free(&w.view);
            return;
        }
    }
}

static struct table *glance_table(const struct run *run, struct row *const *rows, int count, bool counts)
{
    struct table *t = table_new();
    char zero[VARIANT_BASE];
    common_zero(run, rows, count, zero);
    t->name = "glance";
    table_columns(t, {"name", "case", ALIGN_LEFT}, {"work", "work", ALIGN_LEFT});
    if (counts) {
        table_column(t, "winner", "fastest", ALIGN_LEFT,
                     .about = "by stored times of the same machine code on a GPU; where there are none, by predicted times");
        const struct machine m = machine_of(run, rows[0]);
        SCOPED char *us = text_format("us on %s", m.chip ? m.chip->board : "a GPU");
        table_column(t, "us", us, ALIGN_POINT);
        table_column(t, "next", "x the next", ALIGN_POINT, .about = "the time of the next row over the time of the fastest");
        table_column(t, "ratio", "x library", ALIGN_POINT, .about = "the library's stored time over the stored time of the fastest row");
        table_columns(t, {"because", "its limit", ALIGN_LEFT}, {"verified", "verified", ALIGN_LEFT}, {"try", "what to try", ALIGN_LEFT});
    } else {
        SCOPED char *x = text_format("x %s", zero), *ceiling = text_format("%s, %% of SOL", zero);
        table_columns(t, {"winner", "fastest", ALIGN_LEFT}, {"us", "us", ALIGN_POINT});
        table_column(t, "ratio", x, ALIGN_POINT, .note = "[95 %]",
                     .about = "speed-up: the baseline's time over the time of the fastest variant");
        table_column(t, "because", "because", ALIGN_LEFT);
        table_column(t, "left", ceiling, ALIGN_RIGHT, .about = "share of the speed of light (measured ceilings) that the baseline reaches");
        table_column(t, "roof", "fastest, % of SOL", ALIGN_RIGHT);
    }
    table_column(t, "open", "not judged", ALIGN_LEFT);
    return t;
}

/* A case of the scenario and its line in the table: networks last, the densities of a layer in order. */
struct glance {
    struct row *const *rows;
    int count, layer; /* the place of the first case that is only a density apart */
};

static bool one_density_apart(const struct row *a, const struct row *b)
{
    const char *const texts[][2] = {{a->layer, b->layer}, {a->work, b->work}, {a->mask_pattern, b->mask_pattern}};
    bool same = a->density_in >= 0 && b->density_in >= 0 && a->mask_radius == b->mask_radius && a->mask_seed == b->mask_seed;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        same = same && !strcmp(texts[i][0] ? texts[i][0] : "", texts[i][1] ? texts[i][1] : "");
    return same;
}

ORDER(by_place, struct glance, ORDER_UP(layer) ?: ORDER_UP(rows[0]->density_in) ?: ORDER_UP(rows))

static int glance_order(struct row *const *rows, int count, struct glance **out)
{
    int n = 0;
    for (int i = 0, end; i < count; i = end) {
        int first = row_is_network(rows[i]) ? count + i : i;
        end = case_end(rows, count, i);
        if (rows[i]->like_case)
            continue;
        for (int k = 0; k < n && rows[i]->density_in >= 0; k++)
            if (one_density_apart((*out)[k].rows[0], rows[i]))
                first = (*out)[k].layer;
        struct glance *g = APPEND(*out, n);
        *g = (struct glance){rows + i, end - i, first};
    }
    if (n)
        qsort(*out, (size_t)n, sizeof **out, by_place);
    return n;
}

/* Was a part verified, and the whole counted? */
static bool has_parts(struct row *const *rows, int count)
{
    return ANY_OF(i, count, rows[i]->ran && row_metric(rows[i], -1, METRIC_EMU "blocks"));
}

struct reason {
    const char *words;
    int rows, place;
};

ORDER(by_rows, struct reason, x->rows != y->rows ? ORDER_DOWN(rows) : ORDER_UP(place))

/* "Not run: 29 rows: not on emu: cuDNN needs a GPU." for each reason, the most frequent first. */
static bool add_not_run(struct row *const *rows, int count, struct text *t)
{
    SCOPED struct reason *reasons = NULL;
    int n = 0, left = 0;
    for (int i = 0, k; i < count; i++) {
        if (rows[i]->status != ROW_SKIPPED || !rows[i]->reason || rows[i]->like_case)
            continue;
        for (k = 0; k < n && strcmp(reasons[k].words, rows[i]->reason) != 0; k++)
            ;
        if (k == n)
            *APPEND(reasons, n) = (struct reason){.words = rows[i]->reason, .place = k};
        reasons[k].rows++;
    }
    if (n)
        qsort(reasons, (size_t)n, sizeof *reasons, by_rows);
    for (int i = 0; i < n; i++)
        if (i < SHOWN_REASONS)
            text_addf(t, "%s%d row%s: %s", i ? "; " : "Not run: ", reasons[i].rows, text_s(reasons[i].rows), reasons[i].words);
        else
            left += reasons[i].rows;
    if (left)
        text_addf(t, "; %d more for other reasons, which stand beside each row", left);
    return n;
}

static void add_glance(struct document *d, const struct run *run, struct row *const *rows, int count, const struct judge *judge)
{
    bool counts = count && spec_is(rows[0]->device, SPEC_COUNTS);
    struct table *t = glance_table(run, rows, count, counts);
    SCOPED struct glance *cases = NULL;
    struct predicted_sum sum = {0};
    SCOPED_TEXT sources = {0}, not_run = {0};
    enum detail detail = counts ? DETAIL_ALWAYS : DETAIL_FULL; /* pages of timed runs begin with their answers */
    int case_count = glance_order(rows, count, &cases);
    for (int i = 0; i < case_count; i++) {
        SCOPED_BY(case_view_free) struct case_view c = {0};
        const char *id = cases[i].rows[0]->case_id ? cases[i].rows[0]->case_id : "?";
        case_view_make(&c, run, cases[i].rows, cases[i].count);
        if (judge)
            case_judge(&c, judge);
        table_row(t, LINE_PLAIN);
        table_cell(t, PAINT_BOLD, "%s", case_short(cases[i].rows[0]));
        table_target(t, id);
        table_cell(t, PAINT_DIM, "%s", c.rows[0]->work ? c.rows[0]->work : "");
        if (counts)
            glance_counted(t, &c);
        if (counts)
            predicted_add(&sum, &c);
        if (!counts)
            glance_timed(t, &c);
    }
    document_heading(d, 2, "At a glance", NULL)->detail = detail;
    document_table(d, t, detail);
    if (has_parts(rows, count))
        block_item(document_prose(d, TONE_SOFT, detail), NULL, NULL,
                   "emu verified the values of a part of each larger layer or network, and some of the whole. Counts and predicted times "
                   "are those of the whole.");
    if (predicted_sum_text(&sum, &sources))
        block_text(document_prose(d, TONE_SOFT, detail), NULL, NULL, &sources);
    if (counts && add_not_run(rows, count, &not_run))
        block_text(document_prose(d, TONE_SOFT, detail), NULL, NULL, &not_run);
}

void first_screen(struct document *d, const struct run *run, struct row *const *rows, int count, const struct judge *judge)
{
    answer_document(d, run, rows, count, judge);
    add_lead(d, run, rows, count);
    add_glance(d, run, rows, count, judge);
}

/* "body_1  wgmma_rs (auto) 89.3 us stored, 1.62 x library; the tensor pipe is busy in ...; verified: 14 of 14, ..." */
static void glance_line(const struct case_view *c, struct text *t)
{
    char us[NUMBER_TEXT], ratio[NUMBER_TEXT];
    const struct view *winner = predicted_winner(c);
    const struct view *next = counted_next(c, winner);
    SCOPED_TEXT name = {0}, verified = {0}, limit = {0};
    text_addf(t, "%s: ", case_short(c->rows[0]));
    add_verified(c, &verified);
    if (winner) {
        winner_name(winner, &name);
        text_addf(t, "%s %s us %s", text_get(&name), number_3(counted_us(winner), us), winner->stored ? "stored" : "predicted");
        if (!winner->stored)
            text_addf(t, " [%s %s]", number_3(winner->predicted.low_ns / 1e3, us), number_3(winner->predicted.high_ns / 1e3, ratio));
        if (next)
            text_addf(t, ", %s x %s%s", number_3(counted_us(next) / counted_us(winner), ratio), next->name, next_words(winner, next));
        if (winner->stored && c->stored_library)
            text_addf(t, ", %s x library", number_3(c->stored_library->us / winner->stored->us, ratio));
        text_add(t, "; ");
        if (add_perhaps(c, winner, t))
            text_add(t, "; ");
        if (add_unknown(c, winner, t))
            text_add(t, "; ");
        counted_limit(winner, &limit);
        text_addf(t, "%s%s", text_get(&limit), limit.len ? "; " : "");
    } else {
        add_no_prediction(&limit, c);
        text_addf(t, "%s%s", text_get(&limit), limit.len ? "; " : "");
    }
    text_addf(t, "%s%s\n", verified.len ? "verified " : "no row ran", text_get(&verified));
}

void glance_document(struct document *d, const struct run *run, struct row *const *rows, int count)
{
    SCOPED struct glance *cases = NULL;
    int case_count = count && spec_is(rows[0]->device, SPEC_COUNTS) ? glance_order(rows, count, &cases) : 0;
    struct text lines = {0};
    struct judge judge;
    bool said = false;
    if (!case_count)
        return;
    judge_open(&judge);
    const int shown = case_count < SHOWN_GLANCE ? case_count : SHOWN_GLANCE, left = case_count - shown;
    for (int i = 0; i < shown; i++) {
        SCOPED_BY(case_view_free) struct case_view c = {0};
        case_view_make(&c, run, cases[i].rows, cases[i].count);
        case_judge(&c, &judge);
        const bool has_time = predicted_winner(&c);
        if (case_count < 2 && (has_time || !unpredicted(&c))) /* its table says all of it */
            continue;
        if (!said && has_time && c.machine.chip)
            text_addf(&lines, "times on %s: stored ones of the same machine code, else predicted\n", c.machine.chip->board);
        said = said || has_time;
        glance_line(&c, &lines);
    }
    judge_close(&judge);
    if (left)
        text_addf(&lines, "%d more case%s: the report's page has all of them\n", left, text_s(left));
    document_lines(d, "At a glance", "glance", &lines);
}
