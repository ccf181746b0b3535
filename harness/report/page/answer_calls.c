/* report/page/answer_calls: `calls: {}`: what a call costs beside its kernels, as a profiler lists it. */
#include "base/stats/quantile.h"
#include "report/page/answer.h"
#include "report/view/number.h"
#include "report/view/view.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The least and the most of a value over the cases. */
struct span {
    double least, most;
};

static void take_value(struct span *s, double value)
{
    if (isnan(value))
        return;
    s->least = s->most > 0 ? fmin(s->least, value) : value;
    s->most = fmax(s->most, value);
}

static void take_span(struct span *s, const struct span *more)
{
    if (more->most > 0) {
        take_value(s, more->least);
        take_value(s, more->most);
    }
}

enum { CALL_KERNELS, CALL_BACK_TO_BACK, CALL_HOST, CALL_FIRST, CALL_PREPARE, CALL_ALLOC, CALL_MEMORY, CALL_COUNT };

/* One row's name over all cases. */
struct call {
    char *name;
    struct span of[CALL_COUNT];
    int cases, longer; /* longer: the host needs more time than the kernels */
    double *alloc;     /* of each case, us */
    int allocs;
};

static struct call *call_of(struct call **calls, int *count, const char *name)
{
    for (int i = 0; i < *count; i++)
        if (!strcmp((*calls)[i].name, name))
            return &(*calls)[i];
    struct call *c = APPEND(*calls, *count);
    *c = (struct call){.name = xstrdup(name)};
    return c;
}

static void add_call(struct call *c, const struct view *v)
{
    const struct row *r = v->row;
    const double memory[2] = {r->scratch_bytes < 0 ? NAN : (double)r->scratch_bytes,
                              r->workspace_bytes < 0 ? NAN : (double)r->workspace_bytes};
    const double values[CALL_COUNT] = {
        v->time->median_ns / 1e3, view_derived(v, "graph_us"),          r->host_call_ns / 1e3, r->first_call_ns / 1e3, r->prepare_ns / 1e3,
        r->alloc_ns / 1e3,        known_sum(memory[0], memory[1]) / 1e6};
    for (int i = 0; i < CALL_COUNT; i++)
        take_value(&c->of[i], values[i]);
    if (!isnan(r->alloc_ns))
        *APPEND(c->alloc, c->allocs) = r->alloc_ns / 1e3;
    c->longer += r->host_call_ns > v->time->median_ns;
    c->cases++;
}

static int find_calls(const struct ask *ask, struct call **calls)
{
    int count = 0;
    *calls = NULL;
    for (struct case_walk w = ask_walk(ask, false); case_next(&w);)
        for (int i = 0; i < w.view.count; i++) {
            const struct view *v = &w.view.views[w.view.order[i]];
            if (v->ranked && v->row->status == ROW_OK && !isnan(v->row->host_call_ns))
                add_call(call_of(calls, &count, v->row->library ? variant_short(v->row) : v->name), v);
        }
    return count;
}

static void calls_free(struct call *calls, int count)
{
    for (int i = 0; i < count; i++) {
        free(calls[i].name);
        free(calls[i].alloc);
    }
    free(calls);
}

void answer_calls(const struct ask *ask, struct block *list)
{
    struct text t = {0};
    struct call *calls;
    struct span first = {0};
    double *alloc = NULL;
    const struct call *least = NULL, *most = NULL;
    char a[NUMBER_TEXT], b[NUMBER_TEXT], m[NUMBER_TEXT];
    int count = find_calls(ask, &calls), rows = 0, longer = 0, allocs = 0;
    for (int i = 0; i < count; i++) {
        const struct call *c = &calls[i];
        least = !least || c->of[CALL_HOST].least < least->of[CALL_HOST].least ? c : least;
        most = !most || c->of[CALL_HOST].most > most->of[CALL_HOST].most ? c : most;
        take_span(&first, &c->of[CALL_FIRST]);
        for (int k = 0; k < c->allocs; k++)
            *APPEND(alloc, allocs) = c->alloc[k];
        rows += c->cases;
        longer += c->longer;
    }
    if (rows) {
        text_addf(&t, "the host needs %s us (%s) ", number_3(least->of[CALL_HOST].least, a), least->name);
        text_addf(&t, "to %s us (%s) for a call, longer than its kernels in %d of %d rows; ", number_3(most->of[CALL_HOST].most, b),
                  most->name, longer, rows);
        text_addf(&t, "the first call takes %s to %s us, with loading", number_3(first.least, a), number_3(first.most, b));
        if (allocs) {
            number_3(quantile_median(alloc, allocs), m);
            text_addf(&t, "; allocating its output and scratch memory takes %s to %s us (median %s), before it", number_3(alloc[0], a),
                      number_3(alloc[allocs - 1], b), m);
        }
    } else {
        text_add(&t, ask_no_answer(ask, "no answer: no row has a timed call"));
    }
    block_text(list, "answer", "What does a call cost beside its kernels?", &t);
    free(alloc);
    calls_free(calls, count);
}

static void span_cell(struct table *t, const struct span *s)
{
    char a[NUMBER_TEXT], b[NUMBER_TEXT];
    if (!(s->most > 0))
        table_absent(t, 1);
    else if (!strcmp(number_3(s->least, a), number_3(s->most, b)))
        table_cell(t, PAINT_NONE, "%s", a);
    else
        table_cell(t, PAINT_NONE, "%s to %s", a, b);
}

void answer_calls_table(const struct ask *ask, struct document *d)
{
    struct call *calls;
    int count = find_calls(ask, &calls);
    struct table *t = table_new();
    table_column(t, "name", "a call of", ALIGN_LEFT);
    table_column(t, "kernels", "kernels us", ALIGN_RIGHT, .about = "least and most median over the cases");
    table_column(t, "back_to_back", "launch to launch us", ALIGN_RIGHT,
                 .about = "of 10 to 50 runs back to back in a CUDA graph, of short rows");
    table_column(t, "host", "host us", ALIGN_RIGHT, .about = "host time of a call");
    table_column(t, "first", "first call us", ALIGN_RIGHT, .about = "time of the first call, with loading");
    table_column(t, "prepare", "prepare us", ALIGN_RIGHT, .about = "one-time preparation, outside the time");
    table_column(t, "alloc", "allocate us", ALIGN_RIGHT,
                 .about = "host time of allocating the outputs and scratch memory of a call, outside the time");
    table_column(t, "memory", "scratch MB", ALIGN_RIGHT, .about = "scratch memory and workspace, allocated once");
    for (int i = 0; i < count; i++) {
        table_row(t, LINE_PLAIN);
        table_cell(t, PAINT_NONE, "%s", calls[i].name);
        for (int k = 0; k < CALL_COUNT; k++)
            span_cell(t, &calls[i].of[k]);
    }
    if (count)
        document_table(d, t, DETAIL_ALWAYS);
    else
        table_free(t);
    calls_free(calls, count);
}
