/* measure/emulate/text: the result of an emulation for readers, and as JSON. */
#include "base/file.h"
#include "base/order.h"
#include "measure/emulate/emulate.h"
#include "store/json.h"
#include <inttypes.h>
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

static void text_reports(const struct device_report *list, int count, const char *note, struct text *t)
{
    for (int i = 0; i < count; i++) {
        const struct device_report *p = &list[i];
        if (p->line > 0)
            text_addf(t, "%s%s%d: ", p->file, p->file[0] ? ":" : "line ", p->line);
        text_addf(t, "%s%s: %s", note, p->kind, p->text);
        text_addf(t, p->count == 1 ? "\n" : "  (%" PRIu64 " times)\n", p->count);
    }
}

void emulate_text_reports(const struct emulate_result *r, struct text *t)
{
    text_reports(r->reports, r->report_count, "", t);
}

static void emulate_text_number(struct text *t, double v, int width)
{
    if (v > 0)
        text_addf(t, " %*.0f", width, v);
    else
        text_addf(t, " %*s", width, "");
}

double emulate_counter(const struct emulate_result *r, const char *name)
{
    for (int i = 0; i < r->counter_count; i++)
        if (!strcmp(r->counters[i].name, name))
            return r->counters[i].value;
    return 0;
}

/* `>` marks the dearest line. */
static void emulate_text_lines(const struct emulate_result *r, struct text *t)
{
    SCOPED char *text = r->source[0] ? file_read(r->source, 64u << 20, NULL, NULL) : NULL;
    const char *at = text;
    int line = 1;
    int dearest = 0;
    double all = emulate_counter(r, "emu.warp_instructions");
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
}

/* Whole numbers of 32 bits in full: ten digits. */
static void add_value(struct text *t, double v)
{
    text_addf(t, v >= -2147483648.0 && v <= 4294967295.0 && v == (double)(int64_t)v ? "%.10g" : "%.9g", v);
}

void emulate_text_shown(const struct emulate_result *r, struct text *t)
{
    for (int i = 0; i < r->buffer_count; i++) {
        const struct emulate_buffer *v = &r->buffers[i];
        if (!v->show)
            continue;
        text_addf(t, "%s:", v->name);
        for (int64_t k = 0, run; k < v->show; k += run) {
            for (run = 0; v->unwritten && k + run < v->show && v->unwritten[k + run];)
                run++;
            if (run)
                text_addf(t, " (%" PRId64 " never written)", run);
            else {
                text_add(t, " ");
                add_value(t, dtype_get(v->type, v->after, (size_t)k));
            }
            run += !run;
        }
        text_add(t, "\n");
    }
}

static void emulate_text_expected(const struct emulate_result *r, struct text *t)
{
    for (int i = 0; i < r->buffer_count; i++) {
        const struct emulate_buffer *b = &r->buffers[i];
        const struct emulate_expectation *x = &b->expect;
        if (!x->given)
            continue;
        if (x->wrong) {
            text_addf(t, "%s: WRONG: %" PRId64 " of %" PRId64 ", first [%" PRId64 "]: ", b->name, x->wrong, b->count, x->first);
            if (x->first_unwritten)
                text_add(t, "never written");
            else
                add_value(t, x->got);
            text_add(t, ", expected ");
            add_value(t, x->want);
            text_add(t, "; ");
            if (x->unwritten)
                text_addf(t, "%" PRId64 " never written; ", x->unwritten);
            text_addf(t, "largest error %.2g, tolerance %.2g\n", x->worst, x->tolerance);
        } else
            text_addf(t, "%s: all %" PRId64 " as expected; largest error %.2g, tolerance %.2g\n", b->name, b->count, x->worst,
                      x->tolerance);
    }
}

/* ---- why: what each line wastes, the most first ---- */
#define WHY_MOST 6
struct waste {
    double weight;
    char text[240];
};

ORDER(by_weight, struct waste, ORDER_DOWN(weight))

static void add_wastes(const struct emulate_result *r, const struct emulate_line *l, struct waste **list, int *count)
{
    double all = emulate_counter(r, "emu.warp_instructions"), lanes = l->instructions > 0 ? l->threads / l->instructions : 32;
    const char *file = file_base(r->source);
    if (l->requests > 0 && l->sectors >= 1.5 * l->sectors_ideal && l->sectors_ideal > 0) {
        struct waste *w = APPEND(*list, *count);
        w->weight = l->sectors - l->sectors_ideal;
        snprintf(w->text, sizeof w->text, "%s:%d: %.3g sectors/request (ideal %.3g), %s", file, l->line, l->sectors / l->requests,
                 l->sectors_ideal / l->requests,
                 l->sectors - l->sectors_ideal > l->requests ? "uncoalesced: let adjacent lanes access adjacent addresses"
                                                             : "misaligned: start each warp's access at a multiple of 32 bytes");
    }
    if (l->ideal > 0 && l->wavefronts >= 1.5 * l->ideal) {
        struct waste *w = APPEND(*list, *count);
        w->weight = l->wavefronts - l->ideal;
        snprintf(w->text, sizeof w->text, "%s:%d: %.3g-way bank conflicts: pad or swizzle the rows in shared memory", file, l->line,
                 l->wavefronts / l->ideal);
    }
    if (lanes < 24 && l->instructions > 0.05 * all) {
        struct waste *w = APPEND(*list, *count);
        w->weight = l->instructions * (1 - lanes / 32);
        snprintf(w->text, sizeof w->text, "%s:%d: %.3g of 32 lanes work, in %.0f %% of the instructions", file, l->line, lanes,
                 100 * l->instructions / all);
    }
}

static void emulate_text_why(const struct emulate_result *r, struct text *t)
{
    SCOPED struct waste *list = NULL;
    int count = 0;
    for (int i = 0; i < r->line_count; i++)
        add_wastes(r, &r->lines[i], &list, &count);
    if (count)
        qsort(list, (size_t)count, sizeof *list, by_weight);
    if (count || (r->facts.known && r->facts.spill_bytes))
        text_add(t, "\nwhy\n");
    if (r->facts.known && r->facts.spill_bytes)
        text_addf(t, "%d bytes of registers per thread spill to local memory\n", r->facts.spill_bytes);
    for (int i = 0; i < count && i < WHY_MOST; i++)
        text_addf(t, "%s\n", list[i].text);
}

static void emulate_text_facts(const struct emulate_result *r, struct text *t)
{
    const struct emulate_facts *f = &r->facts;
    if (f->known)
        text_addf(
            t, "\ncompiled\n%d registers per thread, %d bytes spilled, %d bytes of static shared memory, %d bytes of code\noccupancy %s\n",
            f->registers, f->spill_bytes, f->static_smem, f->code_bytes, f->occupancy);
}

void emulate_text_row(const struct emulate_result *r, struct text *t)
{
    if (!r) {
        text_addf(t, "%-28s %-24s %14s %12s %12s %12s  %s\n", "fields", "grid x block", "warp instr", "sectors", "needed", "conflicts",
                  "values, findings");
        return;
    }
    char launch[64];
    const uint32_t *g = r->launch.grid, *b = r->launch.block;
    snprintf(launch, sizeof launch, "%u,%u,%u x %u,%u,%u", g[0], g[1], g[2], b[0], b[1], b[2]);
    double sectors = emulate_counter(r, "emu.global_sectors_ld") + emulate_counter(r, "emu.global_sectors_st");
    double ideal = emulate_counter(r, "emu.global_sectors_ideal_ld") + emulate_counter(r, "emu.global_sectors_ideal_st");
    text_addf(t, "%-28s %-24s %14.0f %12.0f %12.0f %12.0f  ", r->fields, launch, emulate_counter(r, "emu.warp_instructions"), sectors,
              ideal, emulate_counter(r, "emu.shared_bank_conflicts"));
    int64_t wrong = 0;
    for (int i = 0; i < r->buffer_count; i++)
        wrong += r->buffers[i].expect.wrong;
    if (wrong)
        text_addf(t, "WRONG: %" PRId64, wrong);
    else
        text_add(t, ANY_OF(i, r->buffer_count, r->buffers[i].expect.given) ? "right" : "not compared");
    if (r->report_count || !r->finished)
        text_addf(t, ", %s", r->report_count ? r->reports[0].kind : r->why);
    text_add(t, "\n");
}

void emulate_text(const struct emulate_result *r, struct text *t)
{
    const uint32_t *g = r->launch.grid, *b = r->launch.block;
    text_addf(t, "%s  grid %u,%u,%u  block %u,%u,%u", r->kernel, g[0], g[1], g[2], b[0], b[1], b[2]);
    if (r->launch.smem)
        text_addf(t, "  %u bytes of dynamic shared memory", r->launch.smem);
    text_addf(t, "\n%s · exact counts of PTX instructions, no timing\n", r->device);
    if (r->fields[0])
        text_addf(t, "%s\n", r->fields);
    if (ANY_OF(i, r->buffer_count, r->buffers[i].show || r->buffers[i].expect.given))
        text_add(t, "\n");
    emulate_text_shown(r, t);
    emulate_text_expected(r, t);
    text_add(t, "\nsafety\n");
    emulate_text_reports(r, t);
    if (!r->report_count)
        text_add(t, "nothing found\n");
    text_reports(r->notes, r->note_count, "note: ", t);
    if (!r->finished)
        text_add(t, "the kernel did not finish: the counts below cover the part that ran\n");
    emulate_text_facts(r, t);
    emulate_text_why(r, t);
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

static json_t *json_reports(const struct device_report *list, int count)
{
    json_t *reports = json_array();
    for (int i = 0; i < count; i++) {
        const struct device_report *p = &list[i];
        json_array_append_new(reports, json_pack("{s:o, s:o, s:i, s:o, s:I}", "kind", json_text(p->kind), "file", json_text(p->file),
                                                 "line", p->line, "text", json_text(p->text), "count", (json_int_t)p->count));
    }
    return reports;
}

void emulate_json(const struct emulate_result *r, struct text *t)
{
    json_t *counters = json_object(), *buffers = json_object(), *expected = json_object();
    for (int i = 0; i < r->counter_count; i++)
        json_object_set_new(counters, r->counters[i].name, json_number(r->counters[i].value));
    for (int i = 0; i < r->buffer_count; i++) {
        const struct emulate_buffer *b = &r->buffers[i];
        const struct emulate_expectation *x = &b->expect;
        json_t *list = b->show ? json_array() : NULL;
        for (int64_t k = 0; k < b->show; k++)
            json_array_append_new(list,
                                  b->unwritten && b->unwritten[k] ? json_null() : json_number(dtype_get(b->type, b->after, (size_t)k)));
        if (list)
            json_object_set_new(buffers, b->name, list);
        if (x->given)
            json_object_set_new(expected, b->name,
                                json_pack("{s:I, s:I, s:I, s:o, s:o}", "count", (json_int_t)b->count, "wrong", (json_int_t)x->wrong,
                                          "never_written", (json_int_t)x->unwritten, "largest_error", json_number(x->worst), "tolerance",
                                          json_number(x->tolerance)));
    }
    const struct emulate_facts *f = &r->facts;
    json_t *facts = f->known ? json_pack("{s:i, s:i, s:i, s:i, s:s}", "registers", f->registers, "spill_bytes", f->spill_bytes,
                                         "static_smem", f->static_smem, "code_bytes", f->code_bytes, "occupancy", f->occupancy)
                             : json_null();
    json_t *all =
        json_pack("{s:i, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:I, s:b, s:o, s:o, s:o, s:o, s:o, s:o}", "schema", 1, "compiled", facts,
                  "fields", r->fields, "expected", expected, "kernel", json_text(r->kernel), "device", json_text(r->device), "grid",
                  json_three(r->launch.grid), "block", json_three(r->launch.block), "smem", (json_int_t)r->launch.smem, "finished",
                  r->finished, "why", json_text(r->why), "buffers", buffers, "reports", json_reports(r->reports, r->report_count), "notes",
                  json_reports(r->notes, r->note_count), "counters", counters, "lines", json_lines(r));
    json_write(t, all);
}
