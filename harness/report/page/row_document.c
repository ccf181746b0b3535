/* report/page/row_document: see row_document.h. Every table has a name, so that a form can put those of two rows side by side. */
#include "report/page/row_document.h"
#include "base/order.h"
#include "report/view/breakdown.h"
#include "report/view/number.h"
#include "report/view/resources.h"
#include "report/source/sketch.h"
#include "report/view/verdict.h"
#include "report/page/why.h"
#include "report/limits.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct table *part_table(struct document *d, const char *name, const char *heading)
{
    struct table *t = table_new();
    document_heading(d, 4, heading, NULL)->detail = DETAIL_FULL;
    t->name = name;
    return t;
}

static void figure(struct document *d, struct text *svg, const char *caption)
{
    if (svg->len)
        document_figure(d, text_get(svg), caption, false);
    text_free(svg);
}

/* ---- speed of light ---- */

struct light {
    const char *side, *what;
    double percent;
};

/* The largest of some shares, and its name. */
static struct light busiest(const struct view *v, const char *side, const char *whole, const char *const (*parts)[2])
{
    struct light l = {side, "share of peak of its busiest unit, as in Nsight Compute", view_hardware(v, -1, whole)};
    for (int i = 0; isnan(view_hardware(v, -1, whole)) && parts[i][0]; i++) {
        double value = view_hardware(v, -1, parts[i][0]);
        if (!isnan(value) && !(l.percent >= value))
            l = (struct light){side, parts[i][1], value};
    }
    return l;
}

static void add_light(struct document *d, const struct view *v, const struct breakdown *a)
{
    static const char *const compute[][2] = {{"tensor_active", "the tensor pipe, the busiest counted unit"},
                                             {"issue_active", "the issue slots, the busiest counted unit"},
                                             {NULL, NULL}},
                             *const memory[][2] = {{"dram_throughput", "DRAM, the busiest counted unit"},
                                                   {"l2_busy", "L2, the busiest counted unit"},
                                                   {"l1_busy", "the L1 data banks, the busiest counted unit"},
                                                   {NULL, NULL}};
    struct light sides[] = {busiest(v, "compute", "sol_compute", compute), busiest(v, "memory", "sol_memory", memory)};
    bool counted = !isnan(sides[0].percent) || !isnan(sides[1].percent);
    if (!counted && a->known) {
        sides[0] = (struct light){"compute", "time of its operations at the peak rate of the pipe, over its time",
                                  100 * a->compute_ns / a->total_ns};
        sides[1] =
            (struct light){"memory", "time of its compulsory bytes at the rate of a copy, over its time", 100 * a->memory_ns / a->total_ns};
    } else if (!counted) {
        return;
    }
    struct table *t = part_table(d, "light", "Speed of light");
    table_columns(t, {"side", "", ALIGN_LEFT}, {"percent", "% of peak", ALIGN_RIGHT}, {"of", "of", ALIGN_LEFT});
    for (int i = 0; i < 2; i++) {
        table_row(t, LINE_PLAIN);
        table_cell(t, PAINT_BOLD, "%s", sides[i].side);
        table_bar(t, sides[i].percent);
        table_cell(t, PAINT_DIM, "%s", sides[i].what);
    }
    document_table(d, t, DETAIL_FULL);
}

/* ---- time ---- */

static double part_of(const struct breakdown *a, const struct breakdown_part *like)
{
    double ns = NAN;
    for (int i = 0; i < a->count; i++)
        if (a->parts[i].kind == like->kind && strcmp(a->parts[i].key, like->key) == 0)
            ns = a->parts[i].ns;
    return ns;
}

static void time_line(struct table *t, const char *what, double ns, double whole, double other, enum paint paint)
{
    char n[NUMBER_TEXT];
    table_row(t, LINE_PLAIN);
    table_cell(t, paint, "%s", what);
    table_number(t, paint, ns / 1e3, number_3(ns / 1e3, n));
    table_bar(t, 100 * ns / whole);
    table_number(t, PAINT_NONE, other / 1e3, number_3(other / 1e3, n));
}

static void add_time(struct document *d, const struct case_view *c, const struct view *v, const struct breakdown *a)
{
    const struct view *rival = v->ranked ? why_rival(c, v) : NULL;
    if (!a->known)
        return;
    struct breakdown b = {0};
    if (rival)
        b = breakdown_of(c, rival, a->unit_ns);
    struct table *t = part_table(d, "time", "Where its time goes");
    SCOPED char *heading = text_format("us of %s", rival ? rival->name : "");
    table_columns(t, {"part", "", ALIGN_LEFT}, {"us", "us", ALIGN_POINT}, {"share", "%", ALIGN_RIGHT});
    table_column(t, "rival", heading, ALIGN_POINT, .about = "the fastest row of the case; for the fastest row, the next one");
    for (int i = 0; i < a->count; i++) {
        SCOPED_TEXT what = {0};
        text_add(&what, a->parts[i].what);
        for (int k = 0; k < a->parts[i].place_count; k++) {
            char n[NUMBER_TEXT];
            text_addf(&what, "%s%s us at %s", k ? ", " : "; ", number_3(a->parts[i].places[k].ns / 1e3, n), a->parts[i].places[k].where);
        }
        time_line(t, text_get(&what), a->parts[i].ns, a->total_ns, part_of(&b, &a->parts[i]), PAINT_NONE);
    }
    for (int i = 0; i < b.count; i++) /* what only the other has */
        if (isnan(part_of(a, &b.parts[i])))
            time_line(t, b.parts[i].what, NAN, a->total_ns, b.parts[i].ns, PAINT_DIM);
    time_line(t, "all", a->total_ns, a->total_ns, b.known ? b.total_ns : NAN, PAINT_BOLD);
    document_table(d, t, DETAIL_FULL);
    struct text words = {0};
    if (rival) {
        why_against(&words, c, v, rival, WHY_NAMED);
        SCOPED char *name = text_format("beside %s", rival->name);
        block_text(document_prose(d, TONE_PLAIN, DETAIL_FULL), NULL, words.len ? name : NULL, &words);
    }
}

/* Without a time: the traffic. */
static void add_traffic(struct document *d, const struct view *v)
{
    double parts[WHY_TRAFFIC];
    char n[NUMBER_TEXT];
    if (!why_traffic(v, parts))
        return;
    struct table *t = part_table(d, "traffic", "Where its bytes go");
    table_columns(t, {"part", "", ALIGN_LEFT}, {"bytes", "B", ALIGN_RIGHT}, {"share", "%", ALIGN_RIGHT});
    for (int i = 0; i <= WHY_TRAFFIC; i++) {
        double bytes = i < WHY_TRAFFIC ? parts[i] : v->moved_bytes;
        table_row(t, LINE_PLAIN);
        table_cell(t, PAINT_NONE, "%s", i < WHY_TRAFFIC ? why_traffic_word(i, bytes) : "requested from memory");
        table_number(t, PAINT_NONE, bytes, number_count(bytes, n));
        table_bar(t, 100 * bytes / v->moved_bytes);
    }
    document_table(d, t, DETAIL_FULL);
}

/* ---- memory, occupancy ---- */

static void add_memory(struct document *d, const struct case_view *c, const struct view *v)
{
    struct text svg = {0};
    sketch_memory(&svg, c, v);
    if (svg.len)
        document_heading(d, 4, "Memory", NULL)->detail = DETAIL_FULL;
    figure(d, &svg, NULL);
    row_levels(d, c, v);
}

static void add_resources(struct document *d, const struct case_view *c, const struct view *v, const struct breakdown *a)
{
    struct text svg = {0};
    struct row_step s;
    document_heading(d, 4, "Occupancy and resources", NULL)->detail = DETAIL_FULL;
    if (resources_step(c, v, a->step >= 0 ? a->step : v->step, &s))
        sketch_occupancy(&svg, c, &s);
    figure(d, &svg, "Warps per SM over registers, shared memory and block size, with the other two unchanged. The dot is this row.");
    struct block *list = document_list(d, DETAIL_FULL);
    why_steps(list, c, v, true);
    if (!list->item_count)
        block_item(list, NULL, NULL, "its launch configuration is unknown");
}

/* ---- what warps wait for ---- */

ORDER_POINTERS(by_value, struct row_metric, ORDER_DOWN(value))

/* The metrics of a step (the row's where it has them) of a family, the largest first. */
static int metrics_of(const struct view *v, int step, enum metric_family family, const struct row_metric ***out)
{
    int count = 0;
    *out = NULL;
    for (int at = -1; at <= step && !count; at += step + 1 > 0 ? step + 1 : 1)
        for (int i = 0; i < v->row->metric_count; i++) {
            const struct row_metric *m = &v->row->metrics[i];
            if (m->step == at && m->line == 0 && metric_is(m, family) && m->value > 0)
                *APPEND(*out, count) = m;
        }
    if (count)
        qsort(*out, (size_t)count, sizeof **out, by_value);
    return count;
}

static void add_states(struct document *d, const struct view *v, const struct breakdown *a)
{
    SCOPED const struct row_metric **states = NULL;
    int count = metrics_of(v, v->step, FAMILY_STALL, &states), shown = 0;
    double waiting = 0, shares = 0;
    char n[NUMBER_TEXT];
    for (int i = 0; i < a->count; i++)
        waiting += a->parts[i].kind == BREAKDOWN_STALL ? a->parts[i].ns : 0;
    for (int i = 0; i < count; i++)
        shares += metric_is_wait(states[i]) ? states[i]->value : 0;
    struct table *t = count ? part_table(d, "states", "Warp states") : NULL;
    if (t) {
        table_columns(t, {"state", "state", ALIGN_LEFT}, {"share", "% of a warp's time", ALIGN_RIGHT});
        table_column(t, "lost", "us lost", ALIGN_POINT,
                     .about = "share of the cycles without an issued instruction; a wait that other warps hide costs nothing");
    }
    for (int i = 0; i < count && shown < SHOWN_STATES && states[i]->value >= SHOWN_SMALL_PERCENT; i++, shown++) {
        double lost = metric_is_wait(states[i]) && shares > 0 && waiting > 0 ? waiting * states[i]->value / shares : NAN;
        table_row(t, LINE_PLAIN);
        table_cell(t, PAINT_NONE, "%s", metric_word(states[i], FAMILY_STALL));
        table_bar(t, states[i]->value);
        table_number(t, PAINT_NONE, lost / 1e3, number_3(lost / 1e3, n));
    }
    if (t)
        document_table(d, t, DETAIL_FULL);
}

/* ---- instructions ---- */

static bool is_mix(const struct row_metric *m, enum metric_family family, double whole)
{
    return m->value < whole && m->value >= 2 * whole * SHOWN_SMALL_PERCENT / 100 && (family != FAMILY_SASS || m->value > 0);
}

static void add_mix(struct document *d, const struct case_view *c, const struct view *v)
{
    enum metric_family family = c->counts ? FAMILY_WARP : FAMILY_SASS;
    const char *all = c->counts ? "instructions" : "total";
    SCOPED const struct row_metric **mix = NULL;
    int step = v->step, count = metrics_of(v, step, family, &mix), shown = 0;
    double whole = 0;
    char n[NUMBER_TEXT];
    for (int i = 0; i < count; i++)
        whole = strcmp(metric_word(mix[i], family), all) == 0 ? mix[i]->value : whole;
    struct table *t = NULL;
    for (int i = 0; i < count && shown < SHOWN_MIX; i++) {
        if (!is_mix(mix[i], family, whole))
            continue;
        if (!shown++) {
            t = part_table(d, "mix", c->counts ? "Instructions executed" : "Instructions in the machine code");
            table_columns(t, {"kind", c->counts ? "by a whole warp" : "an instruction in a loop counts once", ALIGN_LEFT},
                          {"count", "", ALIGN_RIGHT}, {"share", "%", ALIGN_RIGHT});
        }
        table_row(t, LINE_PLAIN);
        table_cell(t, PAINT_NONE, "%s", metric_word(mix[i], family));
        table_number(t, PAINT_NONE, mix[i]->value, number_count(mix[i]->value, n));
        table_bar(t, 100 * mix[i]->value / whole);
    }
    if (t)
        document_table(d, t, DETAIL_FULL);
}

/* ---- roofline, rounds ---- */

static void add_roofline(struct document *d, const struct case_view *c, const struct view *v, const struct breakdown *a)
{
    struct text svg = {0};
    sketch_roofline(&svg, c, v, a);
    if (svg.len)
        document_heading(d, 4, "Roofline", NULL)->detail = DETAIL_FULL;
    figure(d, &svg, NULL);
    why_roofline(document_list(d, DETAIL_FULL), c, v, a);
}

static void add_rounds(struct document *d, const struct view *v)
{
    struct text svg = {0}, words = {0};
    char a[NUMBER_TEXT], b[NUMBER_TEXT];
    if (!v->ranked)
        return;
    document_heading(d, 4, "Rounds", NULL)->detail = DETAIL_FULL;
    sketch_rounds(&svg, v->time);
    figure(d, &svg, NULL);
    text_addf(&words, "%d rounds, %s and %s; 95 %% interval of the median %s to ", v->time->rounds, v->time->load, v->time->cache,
              number_time(v->time->low_ns, a));
    text_addf(&words, "%s; of the rounds 5 %% below %s, 5 %% above %s", number_time(v->time->high_ns, a), number_time(v->time->p05_ns, b),
              number_time(v->time->p95_ns, a));
    if (v->row->sm_clock_mhz > 0)
        text_addf(&words, "; SM clock %s MHz before them", number_count(v->row->sm_clock_mhz, a));
    if (v->row->temperature_c > 0)
        text_addf(&words, ", the GPU at %.0f degrees C", v->row->temperature_c);
    block_text(document_prose(d, TONE_SOFT, DETAIL_FULL), NULL, NULL, &words);
}

/* ---- the page ---- */

/* "12.3 us, memory"; of a row without a time its verdict or its status. */
static char *row_title(const struct view *v)
{
    struct text t = {0};
    char n[NUMBER_TEXT];
    if (v->row->status != ROW_OK && v->row->status != ROW_FOIL)
        text_add(&t, row_status_name(v->row->status));
    else if (v->ranked)
        text_add(&t, number_time(v->time->median_ns, n));
    text_add(&t, t.len && v->verdicts.count ? " · " : "");
    verdict_words(v, &t);
    return text_take(&t);
}

static void add_command(struct document *d, const struct view *v)
{
    SCOPED_TEXT t = {0};
    text_add(&t, "bench why ");
    text_add_word(&t, v->row->id);
    document_code(d, text_get(&t), DETAIL_FULL);
}

static void add_whole(struct document *d, const struct case_view *c, const struct view *v)
{
    struct breakdown a = breakdown_of(c, v, 0);
    add_light(d, v, &a);
    if (c->counts)
        add_traffic(d, v);
    else
        add_time(d, c, v, &a);
    row_pipes(d, v);
    add_memory(d, c, v);
    row_schedulers(d, c, v);
    add_states(d, v, &a);
    add_roofline(d, c, v, &a);
    add_resources(d, c, v, &a);
    add_mix(d, c, v);
    row_source(d, c, v, SOURCE_PAGE);
    add_rounds(d, v);
}

void row_document(struct document *d, const struct case_view *c, const struct view *v, bool brief)
{
    const struct row *row = v->row;
    bool usable = row->status == ROW_OK || row->status == ROW_FOIL;
    SCOPED char *title = row_title(v), *anchor = row_anchor(row);
    document_fold_at(d, anchor, v->name, title);
    struct block *list = document_list(d, DETAIL_FULL);
    if (!usable)
        block_item(list, row_status_name(row->status), NULL, row->reason && row->reason[0] ? row->reason : "without a reason");
    else if (!row->library || v->verdicts.count)
        why_verdict(list, c, v);
    if (!brief) {
        list = document_list(d, DETAIL_FULL);
        if (usable)
            why_also(list, v);
        why_predicted(list, c, v);
        for (int counters = 0; counters < 2; counters++)
            block_item(list, "note", NULL, row_note(row, counters));
        if (usable)
            add_whole(d, c, v);
        add_command(d, v);
    }
    document_end(d);
}
