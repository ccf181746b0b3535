#include "report/listing.h"
#include "base/file.h"
#include "base/hash.h"
#include "counter/group.h"
#include "report/counted.h"
#include "report/metric.h"
#include "report/number.h"
#include "report/terminal.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SOURCE_MAX_BYTES (16u << 20)
#define SOURCE_SHOWN 90 /* characters of a source line */

static void put_number(struct text *t, int width, double value)
{
    char n[NUMBER_TEXT];
    text_addf(t, "%*s", width, isnan(value) ? "" : value == floor(value) ? number_count(value, n) : number_3(value, n));
}

static const struct row_metric *listing_find(const struct row *row, int step, int line, const char *name)
{
    for (int i = 0; i < row->metric_count; i++)
        if (row->metrics[i].step == step && row->metrics[i].line == line && !strcmp(row->metrics[i].name, name))
            return &row->metrics[i];
    return NULL;
}

static void counter_line(struct text *t, const struct row_metric *m, const char *what)
{
    text_addf(t, "  %-28s", m->name);
    put_number(t, 16, m->value);
    text_addf(t, " %-9s %s\n", m->unit, what);
}

static void add_group(struct text *t, const struct counter_groups *groups, int g, const struct row *row, int step)
{
    const struct counter_group *group = groups->items[g];
    bool any = false;
    for (int i = 0; i < group->value_count; i++) {
        char name[140];
        bool again = false;
        for (int k = 0; k < g && !again; k++)
            again = counter_group_value(groups->items[k], group->values[i].name) >= 0;
        snprintf(name, sizeof name, METRIC_HARDWARE "%s", group->values[i].name);
        const struct row_metric *m = listing_find(row, step, 0, name);
        if (!m || again)
            continue;
        if (!any)
            text_addf(t, "%s: %s\n", group->name, group->about);
        any = true;
        counter_line(t, m, group->values[i].what);
    }
}

void listing_counters(struct text *t, const struct row *row, const struct report_style *style)
{
    struct counter_groups groups = {0};
    struct error ignored = {0};
    bool ok = counter_groups_load(NULL, NULL, &groups, &ignored);
    (void)style;
    for (int step = -1; step < row->step_count; step++) {
        bool any = false;
        for (int i = 0; i < row->metric_count; i++)
            any |= row->metrics[i].step == step && !row->metrics[i].line && !strcmp(row->metrics[i].source, "cupti");
        if (any && step >= 0)
            text_addf(t, "step %s\n", row->steps[step].name);
        for (int g = 0; ok && any && g < groups.count; g++)
            add_group(t, &groups, g, row, step);
        bool heading = false;
        for (int i = 0; i < row->metric_count; i++) { /* asked for by name, or of a group that is not shipped */
            const struct row_metric *m = &row->metrics[i];
            bool known = m->step != step || m->line || strcmp(m->source, "cupti") != 0 || metric_begins(m, METRIC_SAMPLES);
            for (int g = 0; g < groups.count && !known; g++)
                known = metric_begins(m, METRIC_HARDWARE) && counter_group_value(groups.items[g], m->name + strlen(METRIC_HARDWARE)) >= 0;
            if (known)
                continue;
            if (!heading)
                text_add(t, "others\n");
            heading = true;
            counter_line(t, m, "");
        }
    }
    if (row->uncounted && row->uncounted[0])
        text_addf(t, "counters  none: %s\n", row->uncounted);
    counter_groups_free(&groups);
}

/* ---- lines ---- */

static double at(const struct row *row, int step, int line, const char *name)
{
    const struct row_metric *m = listing_find(row, step, line, name);
    return m ? m->value : NAN;
}

/* Line numbers with counts, in order. */
static int lines_of(const struct row *row, int step, int **out)
{
    int count = 0, most = 0;
    for (int i = 0; i < row->metric_count; i++)
        if (row->metrics[i].step == step && row->metrics[i].line > most && metric_begins(&row->metrics[i], METRIC_EMU))
            most = row->metrics[i].line;
    if (most > 1000000)
        most = 1000000;
    char *seen = xcalloc((size_t)most + 1, 1);
    for (int i = 0; i < row->metric_count; i++)
        if (row->metrics[i].step == step && row->metrics[i].line > 0 && row->metrics[i].line <= most &&
            metric_begins(&row->metrics[i], METRIC_EMU))
            seen[row->metrics[i].line] = 1;
    *out = xcalloc((size_t)most + 1, sizeof **out);
    for (int i = 1; i <= most; i++)
        if (seen[i])
            (*out)[count++] = i;
    free(seen);
    return count;
}

/* The text of a line, without its indentation beyond the first. */
static void add_source(struct text *t, const char *source, int line, const struct report_style *style)
{
    const char *p = source;
    for (int i = 1; p && i < line; i++) {
        p = strchr(p, '\n');
        p = p ? p + 1 : NULL;
    }
    if (!p)
        return;
    char *text = xstrndup(p, strcspn(p, "\n"));
    int shown = 0;
    for (char *c = text; *c; c++) /* cut at a whole character */
        if (((unsigned char)*c & 0xc0) != 0x80 && ++shown > SOURCE_SHOWN) {
            *c = 0;
            break;
        }
    text_add_plain(t, text, style);
    free(text);
}

static void listing_add_step(struct text *t, const struct row *row, int step, const int *lines, int count, const char *source,
                             const struct report_style *style)
{
    double whole = at(row, step, 0, metric_names[METRIC_EMU_INSTRUCTIONS]);
    text_addf(t, "%6s %6s %8s %15s %15s %18s\n", "line", "inst %", "lanes", "ld sect (least)", "st sect (least)", "wavefronts (least)");
    for (int i = 0; i < count; i++) {
        int n = lines[i];
        char a[NUMBER_TEXT], b[NUMBER_TEXT], pair[3 * NUMBER_TEXT];
        double warps = at(row, step, n, metric_names[METRIC_EMU_INSTRUCTIONS]),
               threads = at(row, step, n, metric_names[METRIC_EMU_THREAD_INSTRUCTIONS]);
        text_addf(t, "%6d %6s %8s", n, warps > 0 && whole > 0 ? number_percent(warps / whole, a) : "",
                  warps > 0 && threads > 0 ? number_short(threads / warps, b) : "");
        for (int k = 0; k < SIDES; k++) {
            const char *sectors = metric_names[METRIC_EMU_SECTORS + k], *ideal = metric_names[METRIC_EMU_SECTORS_IDEAL + k];
            double r = at(row, step, n, metric_names[METRIC_EMU_REQUESTS + k]);
            pair[0] = 0;
            if (r > 0)
                snprintf(pair, sizeof pair, "%s (%s)", number_short(at(row, step, n, sectors) / r, a),
                         number_short(at(row, step, n, ideal) / r, b));
            text_addf(t, " %15s", pair);
        }
        double waves = 0, least = 0;
        for (int k = 0; k < 2; k++) {
            double w = at(row, step, n, metric_names[METRIC_EMU_WAVEFRONTS + k]);
            double d = at(row, step, n, metric_names[METRIC_EMU_WAVEFRONTS_IDEAL + k]);
            waves += isnan(w) ? 0 : w;
            least += isnan(d) ? 0 : d;
        }
        pair[0] = 0;
        if (waves > 0)
            snprintf(pair, sizeof pair, "%s (%s)", number_count(waves, a), number_count(least, b));
        text_addf(t, " %17s  ", pair);
        add_source(t, source, n, style);
        text_add(t, "\n");
    }
}

void listing_lines(struct text *t, const struct row *row, const struct report_style *style)
{
    for (int step = 0; step < row->step_count; step++) {
        int *lines, count = lines_of(row, step, &lines);
        if (count) {
            struct error err = {0};
            char hash[HASH_TEXT] = "";
            size_t bytes = 0;
            char *source = file_read(row->steps[step].file, SOURCE_MAX_BYTES, &bytes, &err);
            if (source)
                hash_bytes(source, bytes, hash);
            text_addf(t, "%s  %s\n", row->steps[step].name, row->steps[step].file);
            if (!source)
                text_addf(t, "the source is not here: %s\n", err.text);
            else if (row->source_hash[0] && row->step_count == 1 && strcmp(hash, row->source_hash))
                text_add(t, "the source changed since it was counted: the lines may be others\n");
            listing_add_step(t, row, step, lines, count, source, style);
            free(source);
        }
        free(lines);
    }
}

void listing_code(struct text *t, const struct row *row, const struct report_style *style)
{
    (void)style;
    for (int step = 0; step < row->step_count; step++) {
        struct text words = {0};
        for (int i = 0; i < row->metric_count; i++) {
            const struct row_metric *m = &row->metrics[i];
            char n[NUMBER_TEXT];
            if (m->step == step && metric_begins(m, METRIC_STATIC) && m->value > 0)
                text_addf(&words, "%s%s %s", words.len ? ", " : "",
                          m->name + strlen(metric_begins(m, METRIC_SASS) ? METRIC_SASS : METRIC_STATIC), number_count(m->value, n));
        }
        if (words.len)
            text_addf(t, "%s: machine instructions by class: %s\n", row->steps[step].name, text_get(&words));
        text_free(&words);
    }
}
