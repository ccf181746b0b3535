#include "report/view/counter_list.h"
#include "base/file.h"
#include "base/order.h"
#include "report/view/source_lines.h"
#include "report/view/number.h"
#include "report/limits.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void put_extent(const int64_t extent[3], char out[64])
{
    snprintf(out, 64, "%lldx%lldx%lld", (long long)extent[0], (long long)extent[1], (long long)extent[2]);
}

void report_kernels(struct text *t, const struct row *row)
{
    if (row->launch_count)
        text_addf(t, "kernels  one run, traced by CUPTI in a separate pass\n  %-4s %10s %8s %5s %8s  %-16s %-12s name\n", "step", "time us",
                  "gap us", "regs", "smem B", "grid", "block");
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

ORDER(by_samples, struct source_line, ORDER_DOWN(samples) ?: ORDER_DOWN(values[METRIC_LINE_INSTRUCTIONS]))

/* ", 4.0x sectors": what the line moves over its minimum. */
static void add_excess(struct text *t, double moved, double ideal, const char *what)
{
    char a[NUMBER_TEXT];
    if (ideal > 0 && moved >= SHOWN_EXCESS * ideal)
        text_addf(t, ", %sx the %s", number_3(moved / ideal, a), what);
}

static void add_executed(struct text *t, const struct source_line *l, double all)
{
    char a[NUMBER_TEXT], b[NUMBER_TEXT];
    const double *v = l->values;
    double ran = v[METRIC_LINE_INSTRUCTIONS];
    if (!(ran > 0))
        return;
    text_addf(t, "; ran %s (%s %%)", number_count(ran, a), number_percent(ran / all, b));
    if (v[METRIC_LINE_LANES] / ran < LANES_ALL)
        text_addf(t, ", %s of 32 lanes", number_3(v[METRIC_LINE_LANES] / ran, a));
    add_excess(t, v[METRIC_LINE_SECTORS], v[METRIC_LINE_SECTORS_IDEAL], "sectors");
    add_excess(t, v[METRIC_LINE_WAVEFRONTS], v[METRIC_LINE_WAVEFRONTS_IDEAL], "wavefronts");
    if (v[METRIC_LINE_LOCAL] > 0)
        text_addf(t, ", %s local sectors", number_count(v[METRIC_LINE_LOCAL], a));
}

void report_samples(struct text *t, const struct row *row)
{
    SCOPED struct source_line *lines = NULL;
    double all = 0, instructions = 0;
    char a[NUMBER_TEXT];
    int found = source_lines(row, EVERY_STEP, &lines), count = 0;
    for (int i = 0; i < found; i++) {                                    /* those that the GPU sampled or counted */
        double ran = fmax(lines[i].values[METRIC_LINE_INSTRUCTIONS], 0); /* NaN gives way */
        all += lines[i].samples;
        instructions += ran;
        if (lines[i].samples > 0 || ran > 0)
            lines[count++] = lines[i];
    }
    if (count) {
        qsort(lines, (size_t)count, sizeof *lines, by_samples);
        text_addf(t, "stall samples  share of %s samples, and the stall reason%s\n", number_count(all, a),
                  instructions > 0 ? "; share of the executed warp instructions" : "");
    }
    for (int i = 0; i < count && i < SHOWN_LINES; i++) {
        const struct row_step *step = lines[i].step >= 0 && lines[i].step < row->step_count ? &row->steps[lines[i].step] : NULL;
        SCOPED char *place = lines[i].line ? text_format("%s:%d", step ? file_base(step->file) : "", lines[i].line)
                                           : text_format("%.24s, no line", step ? step->name : "other kernels");
        text_addf(t, "  %5s %%  %-36s", number_percent(all > 0 ? lines[i].samples / all : 0, a), place);
        for (int k = 0; k < LINE_WAITS && lines[i].waits[k]; k++)
            text_addf(t, "%s %s %s %%", k ? "," : "", metric_word(lines[i].waits[k], FAMILY_SAMPLES),
                      number_percent(lines[i].waits[k]->value / lines[i].samples, a));
        add_executed(t, &lines[i], instructions);
        text_add(t, "\n");
    }
}
