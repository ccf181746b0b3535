/* report/page/places: see places.h. */
#include "report/page/places.h"
#include "base/order.h"
#include "base/text.h"
#include "report/view/number.h"
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SPREAD_MAX 60 /* rows of the table of differences, the largest first */

struct place {
    const char *where; /* of its first row */
    int rows, cases, clocked;
    double sm_clock_sum, hottest;
    const json_t *gpu, *part; /* what the environment says of it */
};
struct places {
    struct place *items;
    int count;
    json_t *environment;
};

/* The GPU, and the part of a join that ran there. */
static void find_facts(const struct places *p, struct place *one)
{
    const char *key;
    json_t *value;
    one->gpu = json_object_get(json_object_get(p->environment, "gpus"), one->where);
    json_object_foreach(json_object_get(p->environment, "joined"), key, value)
    {
        const char *where = json_string_value(json_object_get(value, "where"));
        if (!one->part && where && !strcmp(where, one->where))
            one->part = value;
    }
}

static struct place *place_at(struct places *p, const char *where)
{
    for (int i = 0; i < p->count; i++)
        if (!strcmp(p->items[i].where, where))
            return &p->items[i];
    struct place *one = APPEND(p->items, p->count);
    *one = (struct place){.where = where, .hottest = NAN};
    find_facts(p, one);
    return one;
}

static void collect(struct places *p, struct row *const *rows, int count)
{
    int last_case = -1;
    for (int i = 0; i < count; i++) {
        if (!rows[i]->where)
            continue;
        struct place *one = place_at(p, rows[i]->where);
        one->rows++;
        one->cases += rows[i]->case_index != last_case;
        last_case = rows[i]->case_index;
        if (rows[i]->sm_clock_mhz > 0) {
            one->sm_clock_sum += rows[i]->sm_clock_mhz;
            one->clocked++;
        }
        one->hottest = fmax(one->hottest, rows[i]->temperature_c);
    }
}

static const char *fact_of(const struct place *one, const char *key)
{
    const char *text = json_string_value(json_object_get(one->gpu, key));
    return text ? text : json_string_value(json_object_get(one->part, key));
}

/* The text that most places have; NULL: none has one. */
static const char *usual(const struct places *p, const char *key)
{
    const char *best = NULL;
    int most = 0;
    for (int i = 0; i < p->count; i++) {
        const char *text = fact_of(&p->items[i], key);
        int same = 0;
        for (int k = 0; text && k < p->count; k++)
            same += text_same(text, fact_of(&p->items[k], key));
        if (same > most) {
            most = same;
            best = text;
        }
    }
    return best;
}

static void add_rate(struct table *t, const struct place *one, const char *when, const char *name, double scale)
{
    const json_t *value = json_object_get(json_object_get(one->gpu, when), name);
    char number[NUMBER_TEXT];
    double v = value ? json_number_value(value) / scale : NAN;
    table_number(t, PAINT_NONE, v, number_3(v, number));
}

/* A fact that differs from most of the others' is red. */
static void add_fact(struct table *t, const struct places *p, const struct place *one, const char *key)
{
    const char *text = fact_of(one, key), *others = usual(p, key);
    table_cell(t, text && !text_same(text, others) ? PAINT_BAD : PAINT_NONE, "%s", text ? text : "");
}

static void add_places(struct document *d, const struct places *p)
{
    static const char *const facts[] = {"about", "driver", "cudnn", "compiler"};
    struct table *t = table_new();
    char number[NUMBER_TEXT];
    table_columns(t, {"where", "where", ALIGN_LEFT}, {"cases", "cases", ALIGN_RIGHT}, {"rows", "rows", ALIGN_RIGHT},
                  {"health", "health", ALIGN_LEFT});
    table_column(t, "waited_s", "waited s", ALIGN_POINT, .about = "the time in which this GPU had no case to run");
    table_column(t, "sm_clock_mhz", "SM clock MHz", ALIGN_RIGHT, .about = "mean after the timed rounds of its rows");
    table_column(t, "temperature_c", "degrees C", ALIGN_RIGHT, .about = "the highest after the timed rounds of its rows");
    table_column(t, "copy", "copy TB/s", ALIGN_POINT, .about = "of the check before the first row");
    table_column(t, "copy_after", "after", ALIGN_POINT, .about = "of the check after the last row");
    table_column(t, "f16", "f16 TFLOP/s", ALIGN_POINT, .about = "of the check before the first row");
    table_column(t, "f16_after", "after", ALIGN_POINT, .about = "of the check after the last row");
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        table_column(t, facts[i], facts[i], ALIGN_LEFT, .detail = DETAIL_FULL);
    for (int i = 0; i < p->count; i++) {
        const struct place *one = &p->items[i];
        const char *health = fact_of(one, "health"), *why = fact_of(one, "why");
        double clock = one->clocked ? one->sm_clock_sum / one->clocked : NAN;
        table_row(t, LINE_PLAIN);
        table_cell(t, PAINT_NONE, "%s", one->where);
        table_number(t, PAINT_NONE, one->cases, number_count(one->cases, number));
        table_number(t, PAINT_NONE, one->rows, number_count(one->rows, number));
        table_cell(t, why ? PAINT_BAD : PAINT_NONE, "%s%s%s", health ? health : "", why ? ": " : "", why ? why : "");
        add_rate(t, one, "spent_s", "waiting", 1);
        table_number(t, PAINT_NONE, clock, number_3(clock, number));
        table_number(t, PAINT_NONE, one->hottest, number_3(one->hottest, number));
        add_rate(t, one, "before", "copy", 1e12);
        add_rate(t, one, "after", "copy", 1e12);
        add_rate(t, one, "before", "f16_acc32", 1e12);
        add_rate(t, one, "after", "f16_acc32", 1e12);
        for (size_t k = 0; k < sizeof facts / sizeof *facts; k++)
            add_fact(t, p, one, facts[k]);
    }
    document_heading(d, 2, "GPUs of the run", NULL);
    document_table(d, t, DETAIL_ALWAYS);
}

/* ---- the same work at several places ---- */

static const struct row_time *time_of(const struct row *row)
{
    const struct row_time *t = row->status == ROW_OK || row->status == ROW_FOIL ? row_time(row, MODE_COLD) : NULL;
    return t || (row->status != ROW_OK && row->status != ROW_FOIL) ? t : row_time(row, MODE_WARM);
}

static int same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

/* By what is the same everywhere; then by time. */
static int by_work(const void *a, const void *b)
{
    const struct row *x = *(const struct row *const *)a, *y = *(const struct row *const *)b;
    int order = same_text(x->layer, y->layer);
    order = order ? order : same_text(x->work, y->work);
    order = order ? order : same_text(x->variant, y->variant);
    order = order ? order : same_text(x->params, y->params);
    order = order ? order : same_text(x->side, y->side);
    return order;
}

struct spread {
    const struct row *fast, *slow, *first;
    int places;
    double share; /* the slowest over the fastest, less 1 */
    bool apart;   /* their intervals do not overlap */
};

ORDER(widest_first, struct spread, x->apart != y->apart ? y->apart - x->apart : ORDER_DOWN(share))

static int spreads_of(struct row *const *rows, int count, struct spread **out)
{
    SCOPED const struct row **sorted = xcalloc((size_t)count + 1, sizeof *sorted);
    int n = 0, found = 0;
    *out = NULL;
    for (int i = 0; i < count; i++)
        if (rows[i]->where && time_of(rows[i]))
            sorted[n++] = rows[i];
    qsort(sorted, (size_t)n, sizeof *sorted, by_work);
    for (int first = 0, last; first < n; first = last) {
        struct spread s = {sorted[first], sorted[first], sorted[first], 1, 0, false};
        for (last = first + 1; last < n && !by_work(&sorted[first], &sorted[last]); last++) {
            bool known = false;
            for (int k = first; k < last && !known; k++)
                known = text_same(sorted[k]->where, sorted[last]->where);
            s.places += !known;
            s.fast = time_of(sorted[last])->median_ns < time_of(s.fast)->median_ns ? sorted[last] : s.fast;
            s.slow = time_of(sorted[last])->median_ns > time_of(s.slow)->median_ns ? sorted[last] : s.slow;
        }
        if (s.places < 2)
            continue;
        s.share = time_of(s.slow)->median_ns / time_of(s.fast)->median_ns - 1;
        s.apart = time_of(s.slow)->low_ns > time_of(s.fast)->high_ns;
        *APPEND(*out, found) = s;
    }
    if (found)
        qsort(*out, (size_t)found, sizeof **out, widest_first);
    return found;
}

static void add_spreads(struct document *d, struct row *const *rows, int count)
{
    SCOPED struct spread *spreads = NULL;
    int found = spreads_of(rows, count, &spreads), apart = 0;
    char number[NUMBER_TEXT];
    SCOPED_TEXT said = {0};
    if (!found)
        return;
    struct table *t = table_new();
    table_columns(t, {"layer", "layer", ALIGN_LEFT}, {"variant", "variant", ALIGN_LEFT}, {"places", "places", ALIGN_RIGHT});
    table_column(t, "spread", "spread %", ALIGN_POINT, .about = "by how much the slowest place is slower than the fastest");
    table_columns(t, {"fastest", "fastest us", ALIGN_POINT}, {"fastest_where", "where", ALIGN_LEFT}, {"slowest", "slowest us", ALIGN_POINT},
                  {"slowest_where", "where", ALIGN_LEFT});
    for (int i = 0; i < found; i++) {
        const struct spread *s = &spreads[i];
        apart += s->apart;
        if (i >= SPREAD_MAX)
            continue;
        double fast = time_of(s->fast)->median_ns / 1e3, slow = time_of(s->slow)->median_ns / 1e3;
        table_row(t, LINE_PLAIN);
        table_cell(t, PAINT_NONE, "%s", s->first->layer ? s->first->layer : "");
        table_cell(t, PAINT_NONE, "%s%s%s", s->first->variant, s->first->params ? " " : "", s->first->params ? s->first->params : "");
        table_number(t, PAINT_NONE, s->places, number_count(s->places, number));
        table_number(t, s->apart ? PAINT_BAD : PAINT_NONE, 100 * s->share, number_3(100 * s->share, number));
        table_number(t, PAINT_NONE, fast, number_3(fast, number));
        table_cell(t, PAINT_NONE, "%s", s->fast->where);
        table_number(t, PAINT_NONE, slow, number_3(slow, number));
        table_cell(t, PAINT_NONE, "%s", s->slow->where);
    }
    text_addf(&said, "%d of %d rows that ran at several places differ between them by more than their intervals (red)", apart, found);
    document_heading(d, 2, "The same row on several GPUs", NULL);
    block_text(document_prose(d, TONE_PLAIN, DETAIL_ALWAYS), NULL, NULL, &said);
    document_table(d, t, DETAIL_ALWAYS);
}

void places_document(struct document *d, const struct run *run, struct row *const *rows, int count)
{
    struct places p = {.environment = json_loads(run->environment ? run->environment : "{}", 0, NULL)};
    collect(&p, rows, count);
    if (p.count > 1) {
        add_places(d, &p);
        add_spreads(d, rows, count);
    }
    free(p.items);
    json_decref(p.environment);
}
