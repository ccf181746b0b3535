#include "report/counted.h"
#include "report/metric.h"
#include "report/number.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_extent(const int64_t extent[3], char out[64])
{
    snprintf(out, 64, "%lldx%lldx%lld", (long long)extent[0], (long long)extent[1], (long long)extent[2]);
}

void report_kernels(struct text *t, const struct row *row)
{
    if (row->launch_count)
        text_addf(t, "kernels  one run, as CUPTI saw it in a pass of its own\n  %-4s %10s %8s %5s %8s  %-16s %-12s name\n", "step",
                  "time us", "gap us", "regs", "smem B", "grid", "block");
    for (int i = 0; i < row->launch_count; i++) {
        const struct row_launch *l = &row->launches[i];
        char time[NUMBER_TEXT], gap[NUMBER_TEXT] = "", grid[64], block[64];
        number_3(l->ns / 1e3, time);
        if (!isnan(l->gap_ns))
            number_3(l->gap_ns / 1e3, gap);
        put_extent(l->grid, grid);
        put_extent(l->block, block);
        text_addf(t, "  %-4d %10s %8s %5d %8d  %-16s %-12s %s\n", l->step, time, gap, l->registers, l->static_smem + l->dynamic_smem, grid,
                  block, l->name);
    }
}

#define LINES_SHOWN 20
#define REASONS_SHOWN 3
#define EXCESS_SHOWN 1.05                                           /* of the least possible */
#define LANES_SHOWN 31.5                                            /* fewer lanes that do something */
#define EXECUTED (METRIC_LINE_LOCAL - METRIC_LINE_INSTRUCTIONS + 1) /* metrics of a source line */
/* Where a metric of a source line stands among them. */
#define AT(metric) (METRIC_LINE_##metric - METRIC_LINE_INSTRUCTIONS)

static bool is_sample(const struct row_metric *m)
{
    return metric_begins(m, METRIC_SAMPLES) && strcmp(m->name, metric_names[METRIC_SAMPLES_DROPPED]) != 0;
}

struct sampled {
    int step, line;
    double samples;
    const struct row_metric *top[REASONS_SHOWN]; /* the most frequent first */
    double executed[EXECUTED];                   /* NaN: not counted */
};

static int by_samples(const void *a, const void *b)
{
    const struct sampled *x = a, *y = b;
    if (x->samples != y->samples)
        return x->samples < y->samples ? 1 : -1;
    return (x->executed[AT(INSTRUCTIONS)] < y->executed[AT(INSTRUCTIONS)]) -
           (x->executed[AT(INSTRUCTIONS)] > y->executed[AT(INSTRUCTIONS)]);
}

static void put_reason(struct sampled *s, const struct row_metric *m)
{
    s->samples += m->value;
    for (int k = 0; k < REASONS_SHOWN; k++)
        if (!s->top[k] || m->value > s->top[k]->value) {
            const struct row_metric *next = s->top[k];
            s->top[k] = m;
            m = next;
            if (!m)
                return;
        }
}

/* The line's entry; a new one behind the others. */
static struct sampled *counted_line_of(struct sampled *lines, int *count, const struct row_metric *m)
{
    int at = 0;
    while (at < *count && (lines[at].step != m->step || lines[at].line != m->line))
        at++;
    if (at == *count) {
        lines[(*count)++] = (struct sampled){.step = m->step, .line = m->line};
        for (int k = 0; k < EXECUTED; k++)
            lines[at].executed[k] = NAN;
    }
    return &lines[at];
}

static int gather(const struct row *row, struct sampled *lines, double *samples, double *instructions)
{
    int count = 0;
    *samples = *instructions = 0;
    for (int i = 0; i < row->metric_count; i++) {
        const struct row_metric *m = &row->metrics[i];
        if (is_sample(m)) {
            put_reason(counted_line_of(lines, &count, m), m);
            *samples += m->value;
        }
        for (int k = 0; k < EXECUTED; k++)
            if (!strcmp(m->name, metric_names[METRIC_LINE_INSTRUCTIONS + k])) {
                counted_line_of(lines, &count, m)->executed[k] = m->value;
                *instructions += k == AT(INSTRUCTIONS) ? m->value : 0;
            }
    }
    qsort(lines, (size_t)count, sizeof *lines, by_samples);
    return count;
}

/* ", 4.0x sectors": what the line moves over the least that it could. */
static void add_excess(struct text *t, double moved, double ideal, const char *what)
{
    char a[NUMBER_TEXT];
    if (ideal > 0 && moved >= EXCESS_SHOWN * ideal)
        text_addf(t, ", %sx the %s", number_3(moved / ideal, a), what);
}

static void add_executed(struct text *t, const struct sampled *s, double all)
{
    char a[NUMBER_TEXT], b[NUMBER_TEXT];
    const double *e = s->executed;
    if (!(e[AT(INSTRUCTIONS)] > 0))
        return;
    text_addf(t, "; ran %s (%s %%)", number_count(e[AT(INSTRUCTIONS)], a), number_percent(e[AT(INSTRUCTIONS)] / all, b));
    if (e[AT(LANES)] / e[AT(INSTRUCTIONS)] < LANES_SHOWN)
        text_addf(t, ", %s of 32 lanes", number_3(e[AT(LANES)] / e[AT(INSTRUCTIONS)], a));
    add_excess(t, e[AT(SECTORS)], e[AT(SECTORS_IDEAL)], "sectors");
    add_excess(t, e[AT(WAVEFRONTS)], e[AT(WAVEFRONTS_IDEAL)], "wavefronts");
    if (e[AT(LOCAL)] > 0)
        text_addf(t, ", %s local sectors", number_count(e[AT(LOCAL)], a));
}

void report_samples(struct text *t, const struct row *row)
{
    struct sampled *lines = xcalloc((size_t)row->metric_count + 1, sizeof *lines);
    double all, instructions;
    char a[NUMBER_TEXT];
    int count = gather(row, lines, &all, &instructions);
    if (count)
        text_addf(t, "where the warps stand  share of %s samples, what they wait for there%s\n", number_count(all, a),
                  instructions > 0 ? "; warp instructions that ran, share of all" : "");
    for (int i = 0; i < count && i < LINES_SHOWN; i++) {
        const struct row_step *step = lines[i].step >= 0 && lines[i].step < row->step_count ? &row->steps[lines[i].step] : NULL;
        const char *slash = step ? strrchr(step->file, '/') : NULL, *file = slash ? slash + 1 : step ? step->file : "";
        char *place =
            lines[i].line ? text_format("%s:%d", file, lines[i].line) : text_format("%.24s, no line", step ? step->name : "other kernels");
        text_addf(t, "  %5s %%  %-*s", number_percent(all > 0 ? lines[i].samples / all : 0, a),
                  lines[i].top[0] || lines[i].executed[AT(INSTRUCTIONS)] > 0 ? 36 : 0, place);
        for (int k = 0; k < REASONS_SHOWN && lines[i].top[k]; k++)
            text_addf(t, "%s %s %s %%", k ? "," : "", lines[i].top[k]->name + strlen(METRIC_SAMPLES),
                      number_percent(lines[i].top[k]->value / lines[i].samples, a));
        add_executed(t, &lines[i], instructions);
        text_add(t, "\n");
        free(place);
    }
    free(lines);
}
