/* report/page/run_document: a whole run, in blocks, and as a page. */
#include "base/file.h"
#include "base/spec.h"
#include "base/text.h"
#include "report/source/disassemble.h"
#include "report/break_even/break_even.h"
#include "report/page/case_document.h"
#include "report/view/claims.h"
#include "report/page/first_screen.h"
#include "report/source/fusion.h"
#include "report/page/mask_table.h"
#include "report/page/network.h"
#include "report/page/places.h"
#include "report/view/selector.h"
#include "report/limits.h"
#include "report/page/run_profile.h"
#include "report/view/summary.h"
#include "report/view/tune.h"
#include "report/view/verdict.h"
#include <string.h>

static void add_plots(struct document *d, const struct plots *plots)
{
    const char *section = "";
    for (int i = 0; i < plots->count; i++) {
        const struct plot *p = &plots->items[i];
        if (!p->section || !p->svg)
            continue;
        if (strcmp(p->section, section))
            document_heading(d, 2, p->section, NULL)->detail = DETAIL_FULL;
        section = p->section;
        document_figure(d, p->svg, p->caption, p->small);
    }
    struct block *notices = document_prose(d, TONE_NOTICE, DETAIL_FULL);
    block_item(notices, NULL, NULL, plots->problem);
    block_item(notices, NULL, NULL, plots->left_out);
}

/* ---- the last screen ---- */

static void add_how_to_read(struct document *d, bool counts)
{
    static const struct {
        int device; /* 0: one that keeps time, 1: one that counts, 2: both */
        const char *name, *text;
    } lines[] = {
        {1, NULL,
         "bench interprets the kernel's PTX warp by warp: its counts are the same on every machine, and exact where all blocks ran (column "
         "ran). It measures no time: rows are in the order of times that are stored for the same machine code, then of predicted times."},
        {1, "sect/req", "32-byte sectors per load or store request; in parentheses the fewest that its bytes need."},
        {1, "moved / compulsory",
         "bytes of all moved sectors over the compulsory bytes, which any kernel must move once. 1 is the minimum."},
        {0, "x",
         "speed-up: the baseline's time over the variant's, paired by round; above 1 is faster. It is green when its whole 95 % interval "
         "is above 1."},
        {0, "SOL",
         "speed of light over the measured time. The speed of light is the lowest possible time: arithmetic at peak rate, compulsory bytes "
         "at peak bandwidth, or an empty launch, with the ceilings measured on this machine or, without them, those of the data sheet."},
        {0, "isolated, cold", "one launch at a time, with the caches flushed before each."},
        {0, "A/A", "the A/A control: the baseline compared with itself in the same rounds. A smaller difference is noise."},
        {0, "Relative to the machine's limits",
         "hardware counters from separate launches of several passes, so a share may slightly exceed 100. A row of several kernels shows "
         "sums and means, with its steps below. The section Every counter lists them by group with their meaning."},
        {0, "estimated speed-up",
         "the row's time over its time without this bottleneck, if nothing else changes, by the rule's formula (bench counters GROUP). The "
         "largest comes first."},
        {0, "Time of each row, explained",
         "its bottleneck, and its time as a sum of parts that adds up; the parts by waiting reason say "
         "what the lost time looks like, not what would be gained (docs/reference/reports.md, Why)."},
        {2, "occ %", "theoretical occupancy: resident warps over the chip's maximum, and the limiting resource."},
        {2, "spill", "bytes per thread that spills store to local memory."},
        {2, NULL,
         "A variant whose output is wrong is shown with its reason and is never ranked. "
         "docs/reference/columns.md defines every number."},
    };
    document_heading(d, 2, "How to read this", NULL)->detail = DETAIL_FULL;
    struct block *list = document_list(d, DETAIL_FULL);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        if (lines[i].device == 2 || lines[i].device == counts)
            block_item(list, NULL, lines[i].name, lines[i].text);
}

static void add_provenance(struct document *d, const struct run *run)
{
    struct table *t = table_new();
    table_columns(t, {"fact", "", ALIGN_LEFT}, {"value", "", ALIGN_LEFT});
    for (const struct column *c = columns; c->name; c++) {
        struct column_value v = {.absent = true};
        if (c->group == COLUMN_RUN && c->type != COLUMN_REAL_ZERO && strcmp(c->name, "scenario_text") != 0) /* those: spent_document */
            v = column_get(c, run);
        if (!v.absent) {
            table_row(t, LINE_PLAIN);
            table_cell(t, PAINT_NONE, "%s", c->name);
            if (v.text)
                table_cell(t, PAINT_NONE, "%s", v.text);
            else
                table_cell(t, PAINT_NONE, c->type == COLUMN_UINT64 ? "%llu" : "%lld", (long long)v.integer);
        }
    }
    document_heading(d, 2, "Provenance", NULL);
    document_table(d, t, DETAIL_ALWAYS);
    if (run->scenario_text && run->scenario_text[0]) {
        document_fold(d, "The scenario");
        document_code(d, run->scenario_text, DETAIL_FULL);
        document_end(d);
    }
}

/* ---- parts ---- */

#define BREAK_EVENS "Break-even of sparse and dense"

/* Are there rows for a break-even, on a device without times? */
static bool asked_without_time(struct row *const *rows, int count)
{
    return ANY_OF(i, count, rows[i]->density_in >= 0 && !row_is_network(rows[i]) && spec_is(rows[i]->device, SPEC_COUNTS));
}

static void say_break_evens(struct document *d, const struct break_group *groups, int made, bool asked)
{
    struct text lines = {0};
    for (int i = 0; i < made; i++) {
        break_even_sentence(&groups[i], &lines);
        text_add(&lines, "\n");
    }
    if (!made && asked)
        text_add(&lines, "no answer from times of this run, since emu measures none; its answers by stored times are above\n");
    document_lines(d, BREAK_EVENS, "break-even", &lines);
}

/* A sentence for each of a few groups, else a table; a page always has the table. The plots follow. */
static void tell_break_evens(struct document *d, const struct run *run, struct row *const *rows, int count, bool table)
{
    struct break_group *groups;
    int made = break_even_make(&groups, run, rows, count);
    bool many = made > SHOWN_SENTENCES;
    if (many)
        document_heading(d, 2, BREAK_EVENS, NULL);
    else
        say_break_evens(d, groups, made, asked_without_time(rows, count));
    if (made && (many || table))
        document_table(d, break_even_table(groups, made, many), DETAIL_ALWAYS);
    break_even_free(groups, made);
}

void break_even_document(struct document *d, const struct run *run, struct row *const *rows, int count)
{
    tell_break_evens(d, run, rows, count, false);
}

static void add_break_evens(struct document *d, const struct run *run, struct row *const *rows, int count)
{
    tell_break_evens(d, run, rows, count, true);
}

void report_part(struct text *t, add_part *add, const struct run *run, struct row *const *rows, int count, const struct report_style *style)
{
    SCOPED_BY(document_free) struct document d = {0};
    add(&d, run, rows, count);
    form_terminal.write(t, &d, style);
}

void report_closing(struct text *t, const struct run *run, struct row *const *rows, int count, const struct report_style *style)
{
    add_part *const parts[] = {glance_document, network_document,    selector_document, claims_document,
                               mask_document,   break_even_document, fusion_document};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        report_part(t, parts[i], run, rows, count, style);
}

void report_cases(struct text *t, const struct run *run, struct row *const *rows, int count, const struct report_style *style)
{
    struct judge judge;
    judge_open(&judge);
    for (int i = 0, end; i < count; i = end) {
        SCOPED_BY(document_free) struct document d = {0};
        SCOPED_BY(case_view_free) struct case_view c = {0};
        end = case_end(rows, count, i);
        case_view_make(&c, run, rows + i, end - i);
        case_judge(&c, &judge);
        if (mask_table_holds(&c) && !style->whole)
            case_document_short(&d, &c);
        else
            case_document(&d, &c, NULL);
        form_terminal.write(t, &d, style);
        text_add(t, "\n");
    }
    judge_close(&judge);
}

/* ---- the whole report ---- */

static void add_title(struct document *d, const struct run *run, struct row *const *rows, int count)
{
    const char *const facts[] = {run->device_about, run->compiler, run->started, run->commit};
    struct text line = {0};
    document_heading(d, 1, run->scenario ? run->scenario : "bench", NULL);
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++)
        if (facts[i] && facts[i][0])
            text_addf(&line, "%s%s", line.len ? " · " : "", facts[i]);
    block_text(document_prose(d, TONE_SOFT, DETAIL_FULL), NULL, NULL, &line);
    summary_counts(&line, run, rows, count);
    block_text(document_prose(d, TONE_SOFT, DETAIL_BRIEF), NULL, NULL, &line);
    if (!run->ended[0]) {
        block_item(document_prose(d, TONE_NOTICE, DETAIL_FULL), NULL, NULL,
                   "The run has not ended: it was interrupted or is still running.");
    }
}

static void add_run(struct document *d, const struct run *run, struct row *const *rows, int count, const struct plots *plots,
                    const struct judge *judge)
{
    d->brief = plots->brief;
    add_title(d, run, rows, count);
    first_screen(d, run, rows, count, judge);
    places_document(d, run, rows, count);
    network_document(d, run, rows, count);
    selector_document(d, run, rows, count);
    claims_document(d, run, rows, count);
    tune_document(d, run, rows, count);
    add_break_evens(d, run, rows, count);
    mask_document(d, run, rows, count);
    fusion_document(d, run, rows, count);
    add_plots(d, plots);
    for (struct case_walk w = {.run = run, .rows = rows, .count = count, .judge = judge}; case_next(&w);) {
        if (plots->brief && w.view.rows == rows)
            case_document_common(d, &w.view);
        if (!mask_table_holds(&w.view))
            case_document(d, &w.view, plots);
    }
    add_how_to_read(d, count && spec_is(rows[0]->device, SPEC_COUNTS));
    run_profile_document(d, run, rows, count);
    add_provenance(d, run);
}

/* Options without their absolute folders: "-V my=/home/me/own/a.cu" -> "-V my=a.cu". A relative path stays. */
static char *without_folders(const char *options)
{
    struct text t = {0};
    bool quoted = false, absolute = false;
    size_t from = 0; /* where the last path begins */
    for (const char *c = options; *c; c++) {
        bool ends = *c == '\'' || *c == '=' || (*c == ' ' && !quoted);
        quoted ^= *c == '\'';
        if (absolute && *c == '/') {
            bool last = !c[1] || c[1] == ' ' || c[1] == '\'';
            if (!last)
                t.data[t.len = from] = 0;
            continue;
        }
        absolute = !ends && (absolute || (t.len == from && *c == '/'));
        if (!absolute || *c != '/')
            text_add_bytes(&t, c, 1);
        from = ends ? t.len : from;
    }
    return text_take(&t);
}

bool report_whole(struct text *t, const struct form *form, const struct run *run, struct row *const *rows, int count, const char *dir,
                  struct error *err)
{
    disassemble(rows, count);
    SCOPED_BY(document_free) struct document d = {0};
    SCOPED_BY(plots_free) struct plots plots = {0};
    struct judge judge;
    struct run on_page = *run; /* a page stands beside its database, wherever it is: it names no folder of its author */
    SCOPED char *variants = run->asked_variants ? without_folders(run->asked_variants) : NULL;
    SCOPED char *line = run->argv ? without_folders(run->argv) : NULL;
    on_page.asked_out = NULL;
    on_page.argv = line;
    on_page.asked_variants = variants;
    if (run->scenario_path && run->scenario_path[0] == '/')
        on_page.scenario_path = (char *)(uintptr_t)file_base(run->scenario_path);
    judge_open(&judge);
    if (count <= REPORT_ROWS_WHOLE)
        on_page.views = page_views_keep(rows, count, &judge);
    bool done = !form->full || plots_make(&plots, &on_page, rows, count, dir, err);
    plots.brief = count > REPORT_ROWS_WHOLE;
    if (done) {
        add_run(&d, &on_page, rows, count, &plots, &judge);
        if (form->page)
            done = form->page(t, &d, err);
        else
            form->write(t, &d, &(struct report_style){0});
    }
    page_views_drop(on_page.views);
    judge_close(&judge);
    return done;
}
