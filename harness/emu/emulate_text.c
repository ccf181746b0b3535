/* emu/emulate_text: the result of an emulation for readers, and as JSON. */
#include "base/file.h"
#include "emu/emulate.h"
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void emulate_text_counters(const struct emulate_result *r, struct text *t)
{
    for (int i = 0; i < r->counter_count; i++)
        if (r->counters[i].value != 0)
            text_addf(t, "%-34s %16.0f %s\n", r->counters[i].name, r->counters[i].value, r->counters[i].unit);
}

void emulate_text_reports(const struct emulate_result *r, struct text *t)
{
    for (int i = 0; i < r->report_count; i++) {
        const struct device_report *p = &r->reports[i];
        if (p->line > 0)
            text_addf(t, "%s%s%d: ", p->file, p->file[0] ? ":" : "line ", p->line);
        text_addf(t, "%s: %s", p->kind, p->text);
        text_addf(t, p->count == 1 ? "\n" : "  (%" PRIu64 " times)\n", p->count);
    }
}

static void emulate_text_number(struct text *t, double v, int width)
{
    if (v > 0)
        text_addf(t, " %*.0f", width, v);
    else
        text_addf(t, " %*s", width, "");
}

static double all_instructions(const struct emulate_result *r)
{
    for (int i = 0; i < r->counter_count; i++)
        if (!strcmp(r->counters[i].name, "emu.warp_instructions"))
            return r->counters[i].value;
    return 0;
}

/* `>` marks the dearest line. */
static void emulate_text_lines(const struct emulate_result *r, struct text *t)
{
    char *text = r->source[0] ? file_read(r->source, 64u << 20, NULL, NULL) : NULL;
    const char *at = text;
    int line = 1;
    int dearest = 0;
    double all = all_instructions(r);
    for (int i = 0; i < r->line_count; i++)
        dearest = r->lines[i].instructions > r->lines[dearest].instructions ? i : dearest;
    text_add(t, "   line  warp instr      %  lanes  requests   sectors  wavefronts   ideal  source\n");
    for (int i = 0; i < r->line_count; i++) {
        const struct emulate_line *c = &r->lines[i];
        text_addf(t, "%c %5d  %10.0f  %5.1f  %5.1f", i == dearest ? '>' : ' ', c->line, c->instructions,
                  all > 0 ? 100 * c->instructions / all : 0, c->instructions > 0 ? c->threads / c->instructions : 0);
        emulate_text_number(t, c->requests, 9);
        emulate_text_number(t, c->sectors, 9);
        emulate_text_number(t, c->wavefronts, 11);
        emulate_text_number(t, c->ideal, 7);
        while (at && *at && line < c->line)
            line += *at++ == '\n';
        if (at && line == c->line) {
            text_add(t, "  ");
            text_add_bytes(t, at, strcspn(at, "\r\n"));
        }
        while (t->len && t->data[t->len - 1] == ' ')
            t->data[--t->len] = 0;
        text_add(t, "\n");
    }
    free(text);
}

void emulate_text_shown(const struct emulate_result *r, struct text *t)
{
    for (int i = 0; i < r->shown_count; i++) {
        const struct emulate_values *v = &r->shown[i];
        text_addf(t, "%s:", v->name);
        for (int64_t k = 0; k < v->count; k++)
            text_addf(t, " %.9g", dtype_get(v->type, v->values, (size_t)k));
        text_add(t, "\n");
    }
}

void emulate_text(const struct emulate_result *r, struct text *t)
{
    const uint32_t *g = r->launch.grid, *b = r->launch.block;
    text_addf(t, "%s  grid %u,%u,%u  block %u,%u,%u", r->kernel, g[0], g[1], g[2], b[0], b[1], b[2]);
    if (r->launch.smem)
        text_addf(t, "  %u bytes of dynamic shared memory", r->launch.smem);
    text_addf(t, "\n%s · counts are exact and of PTX; there is no time\n", r->device);
    if (r->shown_count)
        text_add(t, "\n");
    emulate_text_shown(r, t);
    text_add(t, "\nsafety\n");
    emulate_text_reports(r, t);
    if (!r->report_count)
        text_add(t, "nothing found\n");
    if (!r->finished)
        text_add(t, "the kernel did not finish: the counts below are of what ran\n");
    text_add(t, "\ncounters\n");
    emulate_text_counters(r, t);
    text_add(t, "\nlines\n");
    emulate_text_lines(r, t);
}

/* ---- JSON ---- */
static json_t *json_number(double v)
{
    if (!isfinite(v))
        return json_string(isnan(v) ? "NaN" : v < 0 ? "-Infinity" : "Infinity");
    return v == floor(v) && fabs(v) < 9e15 ? json_integer((json_int_t)v) : json_real(v);
}

static json_t *json_three(const uint32_t v[3])
{
    return json_pack("[I, I, I]", (json_int_t)v[0], (json_int_t)v[1], (json_int_t)v[2]);
}

static json_t *json_lines(const struct emulate_result *r)
{
    json_t *lines = json_array();
    for (int i = 0; i < r->line_count; i++) {
        const struct emulate_line *c = &r->lines[i];
        json_array_append_new(lines,
                              json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "line", c->line, "warp_instructions",
                                        json_number(c->instructions), "thread_instructions", json_number(c->threads), "global_requests",
                                        json_number(c->requests), "global_sectors", json_number(c->sectors), "shared_wavefronts",
                                        json_number(c->wavefronts), "shared_wavefronts_ideal", json_number(c->ideal)));
    }
    return lines;
}

/* Bytes that are no UTF-8 (names in hostile PTX) would make a string NULL. */
static json_t *json_text(const char *s)
{
    json_t *v = json_string(s);
    return v ? v : json_string("(not UTF-8)");
}

void emulate_json(const struct emulate_result *r, struct text *t)
{
    json_t *counters = json_object(), *reports = json_array(), *buffers = json_object();
    for (int i = 0; i < r->counter_count; i++)
        json_object_set_new(counters, r->counters[i].name, json_number(r->counters[i].value));
    for (int i = 0; i < r->report_count; i++) {
        const struct device_report *p = &r->reports[i];
        json_array_append_new(reports, json_pack("{s:o, s:o, s:i, s:o, s:I}", "kind", json_text(p->kind), "file", json_text(p->file),
                                                 "line", p->line, "text", json_text(p->text), "count", (json_int_t)p->count));
    }
    for (int i = 0; i < r->shown_count; i++) {
        const struct emulate_values *v = &r->shown[i];
        json_t *list = json_array();
        for (int64_t k = 0; k < v->count; k++)
            json_array_append_new(list, json_number(dtype_get(v->type, v->values, (size_t)k)));
        json_object_set_new(buffers, v->name, list);
    }
    json_t *all = json_pack("{s:i, s:o, s:o, s:o, s:o, s:I, s:b, s:o, s:o, s:o, s:o, s:o}", "schema", 1, "kernel", json_text(r->kernel),
                            "device", json_text(r->device), "grid", json_three(r->launch.grid), "block", json_three(r->launch.block),
                            "smem", (json_int_t)r->launch.smem, "finished", r->finished, "why", json_text(r->why), "buffers", buffers,
                            "reports", reports, "counters", counters, "lines", json_lines(r));
    char *s = json_dumps(all, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
    text_add(t, s ? s : "{}");
    text_add(t, "\n");
    free(s);
    json_decref(all);
}
