/* report/html: the page. Everything is in it: style, tables, plots; no script, no link, nothing to fetch. */
#include "report/html.h"
#include "base/file.h"
#include "report/break_even.h"
#include "report/mask_table.h"
#include "report/network.h"
#include "report/number.h"
#include "report/summary.h"
#include "report/table.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CSS_MAX_BYTES (1 << 20)

void html_text(struct text *t, const char *s)
{
    struct text clean = {0};
    for (; s && *s; s++) {
        unsigned char c = (unsigned char)*s;
        text_add_bytes(&clean, (c < 32 && c != '\n') || c == 127 ? " " : s, 1);
    }
    text_add_html(t, text_get(&clean));
    text_free(&clean);
}

void html_id(struct text *t, const char *s)
{
    while (s && *s) {
        size_t n = strcspn(s, "/[,:_"), with = n + (s[n] != '\0');
        char *piece = xstrndup(s, with);
        html_text(t, piece);
        free(piece);
        s += with;
        text_add(t, *s ? "<wbr>" : "");
    }
}

void html_figure(struct text *t, const struct plot *plot)
{
    if (!plot->svg) {
        return;
    }
    text_add(t, "<figure class=\"plot\">\n");
    text_add(t, plot->svg);
    text_add(t, "\n<figcaption>");
    html_text(t, plot->caption);
    text_add(t, "</figcaption>\n</figure>\n");
}

/* ---- the first screen ---- */

static void lead(struct text *t, const struct run *run, struct row *const *rows, int count)
{
    int ok = 0, failed = 0, won = 0, timed = 0;
    for (int i = 0, end; i < count; i = end) {
        struct case_view c;
        end = case_end(rows, count, i);
        case_view_make(&c, run, rows + i, end - i);
        for (int k = 0; k < c.count; k++) {
            ok += c.views[k].row->status == ROW_OK;
            failed += c.views[k].failed;
        }
        const struct view *best = case_best(&c);
        timed += best != NULL;
        won += best && best->time->ratio_low > 1;
        case_view_free(&c);
    }
    text_addf(t, "<p class=\"lead\"><b>%d of %d rows verified</b>", ok, count);
    if (failed) {
        text_addf(t, ", <b class=\"bad\">%d failed</b>", failed);
    }
    if (timed) {
        text_addf(t, "; a variant beats row 0 on <b class=\"%s\">%d of %d timed cases</b>", won ? "good" : "", won, timed);
    } else if (count && device_counts(rows[0]->device)) {
        text_add(t, "; counted on <b>emu</b>: exact counts, no time, no ranking");
    }
    text_add(t, ".</p>\n<p class=\"soft\">");
    struct text line = {0};
    summary_counts(&line, run, rows, count);
    html_text(t, text_get(&line));
    text_free(&line);
    text_add(t, "</p>\n");
}

static void glance_timed(struct text *t, const struct case_view *c)
{
    char a[NUMBER_TEXT], p[NUMBER_TEXT];
    const struct view *best = case_best(c);
    bool wins = best && best->time->ratio_low > 1;
    bool zero = c->zero && c->zero->ranked;
    text_addf(t, "<td class=\"n\">%s</td><td class=\"name\">", zero ? number_3(c->zero->time->median_ns / 1e3, a) : "");
    html_text(t, best ? best->name : "none");
    text_addf(t, "</td><td class=\"n\">%s</td><td class=\"n%s\">%s</td>", best ? number_3(best->time->median_ns / 1e3, a) : "",
              wins ? " win" : "", best && best->time->ratio > 0 ? number_3(best->time->ratio, p) : "");
    const struct view *fastest = wins ? best : zero ? c->zero : best;
    bool floor = fastest && !isnan(fastest->floor_share);
    text_addf(t, "<td class=\"n\">%s%s</td>", floor ? number_percent(fastest->floor_share, p) : "", floor ? " %" : "");
}

static void glance_counted(struct text *t, const struct case_view *c)
{
    char a[NUMBER_TEXT], b[NUMBER_TEXT];
    int ok = 0, failed = 0, infeasible = 0;
    double least = NAN, most = NAN;
    for (int i = 0; i < c->count; i++) {
        const struct view *v = &c->views[i];
        ok += v->row->status == ROW_OK;
        failed += v->failed;
        infeasible += v->row->status == ROW_INFEASIBLE;
        if (v->row->status == ROW_OK && !isnan(v->moved_over_compulsory)) {
            least = fmin(least, v->moved_over_compulsory); /* fmin, fmax: NaN gives way */
            most = fmax(most, v->moved_over_compulsory);
        }
    }
    text_addf(t, "<td class=\"n good\">%d</td><td class=\"n%s\">%d</td><td class=\"n\">%d</td><td class=\"n\">", ok, failed ? " bad" : "",
              failed, infeasible);
    if (!isnan(least)) {
        text_addf(t, "%s to %s", number_3(least, a), number_3(most, b));
    }
    text_add(t, "</td>");
}

/* What row 0 is in every case; "row 0" when the cases differ in it. */
static void common_zero(const struct run *run, struct row *const *rows, int count, char out[VARIANT_BASE])
{
    snprintf(out, VARIANT_BASE, "row 0");
    for (int i = 0, end; i < count; i = end) {
        struct case_view c;
        end = case_end(rows, count, i);
        case_view_make(&c, run, rows + i, end - i);
        bool same = i == 0 || strcmp(out, c.zero_name) == 0;
        snprintf(out, VARIANT_BASE, "%s", same ? c.zero_name : "row 0");
        case_view_free(&c);
        if (!same) {
            return;
        }
    }
}

static void glance(struct text *t, const struct run *run, struct row *const *rows, int count)
{
    bool counts = count && device_counts(rows[0]->device);
    char zero[VARIANT_BASE];
    common_zero(run, rows, count, zero);
    text_add(t, "<h3>At a glance</h3>\n<div class=\"scroll\"><table><thead><tr><th>case</th><th class=\"work\">work</th>");
    if (counts) {
        text_add(t, "<th class=\"n\">verified</th><th class=\"n\">failed</th><th class=\"n\">infeasible</th><th class=\"n\">moved / "
                    "compulsory</th>");
    } else {
        text_add(t, "<th class=\"n\">");
        html_text(t, zero);
        text_add(t, " us</th><th>fastest of the others</th><th class=\"n\">us</th><th class=\"n\">x ");
        html_text(t, zero);
        text_add(t, "</th><th class=\"n\">floor / fastest</th>");
    }
    text_add(t, "</tr></thead><tbody>\n");
    for (int i = 0, end; i < count; i = end) {
        struct case_view c;
        end = case_end(rows, count, i);
        case_view_make(&c, run, rows + i, end - i);
        const char *id = c.rows[0]->case_id ? c.rows[0]->case_id : "?", *slash = strchr(id, '/');
        text_add(t, "<tr><td class=\"name\"><b>");
        html_id(t, slash ? slash + 1 : id);
        text_add(t, "</b></td><td class=\"work soft\">");
        html_text(t, c.rows[0]->work);
        text_add(t, "</td>");
        if (counts) {
            glance_counted(t, &c);
        } else {
            glance_timed(t, &c);
        }
        text_add(t, "</tr>\n");
        case_view_free(&c);
    }
    text_add(t, "</tbody></table></div>\n");
}

static void networks(struct text *t, const struct run *run, struct row *const *rows, int count)
{
    struct network *made;
    int many = network_list_make(&made, run, rows, count);
    text_add(t, many ? "<h3>Network</h3>\n" : "");
    for (int i = 0; i < many; i++) {
        struct text lines = {0};
        network_lines(&made[i], &lines);
        text_add(t, "<ul class=\"plain\">\n");
        for (const char *p = text_get(&lines); *p;) {
            size_t end = strcspn(p, "\n");
            char *line = xstrndup(p, end);
            text_add(t, "<li>");
            html_text(t, line);
            text_add(t, "</li>\n");
            free(line);
            p += end + (p[end] == '\n');
        }
        text_add(t, "</ul>\n");
        text_free(&lines);
    }
    network_list_free(made, many);
}

/* The sentences, then the table; the plots follow. */
static void break_even(struct text *t, const struct run *run, struct row *const *rows, int count)
{
    struct break_group *groups;
    int made = break_even_make(&groups, run, rows, count);
    text_add(t, made ? "<h3 id=\"break-even\">Break-even of sparse and dense</h3>\n<ul class=\"plain\">\n" : "");
    for (int i = 0; i < made; i++) {
        struct text line = {0};
        break_even_sentence(&groups[i], &line);
        text_add(t, "<li>");
        html_text(t, text_get(&line));
        text_add(t, "</li>\n");
        text_free(&line);
    }
    text_add(t, made ? "</ul>\n" : "");
    if (made) {
        struct table *table = break_even_table(groups, made);
        table_html(table, t);
        table_free(table);
    }
    break_even_free(groups, made);
}

static void mask_tables(struct text *t, const struct run *run, struct row *const *rows, int count)
{
    struct mask_table *tables;
    int made = mask_tables_make(&tables, run, rows, count);
    for (int i = 0; i < made; i++) {
        text_add(t, "<h3>us by mask: ");
        html_text(t, tables[i].title);
        text_add(t, "</h3>\n");
        table_html(tables[i].table, t);
    }
    mask_tables_free(tables, made);
}

static void overview_plots(struct text *t, const struct plots *plots)
{
    static const struct {
        enum plot_kind kind;
        const char *title;
    } kinds[] = {{PLOT_BREAK_EVEN, "Time over density"}, {PLOT_SWEEP, "Over the axes"}, {PLOT_FACTS, "Registers, spills, occupancy"}};
    for (int k = 0; k < 3; k++) {
        bool any = false;
        for (int i = 0; i < plots->count; i++) {
            if (plots->items[i].kind == kinds[k].kind && plots->items[i].svg) {
                if (!any) {
                    text_addf(t, "<h3>%s</h3>\n<div%s>\n", kinds[k].title, kinds[k].kind != PLOT_FACTS ? " class=\"plots\"" : "");
                }
                any = true;
                html_figure(t, &plots->items[i]);
            }
        }
        text_add(t, any ? "</div>\n" : "");
    }
}

/* ---- the last screen ---- */

static void how_to_read(struct text *t, bool counts)
{
    text_add(t, "<section>\n<h2>How to read this</h2>\n<ul class=\"plain\">\n");
    if (counts) {
        text_add(t, "<li>Every count is exact and the same on every machine: the kernel's PTX is interpreted warp by warp. There is no "
                    "time here, so nothing is ranked.</li>\n"
                    "<li><b>sect/req</b>: sectors of 32 bytes that one warp-wide load or store touches; in parentheses what its bytes need "
                    "at the least.</li>\n"
                    "<li><b>moved / compulsory</b>: bytes of all sectors moved over the bytes that any kernel must move once. 1 is the "
                    "least possible.</li>\n");
    } else {
        text_add(t, "<li><b>x</b> is row 0's time over the variant's, paired round by round: above 1 is faster. It is green only when its "
                    "whole 95 % interval is above 1.</li>\n"
                    "<li><b>floor</b>: the time that no kernel can beat on this chip (arithmetic at peak rate, compulsory bytes at peak "
                    "bandwidth, or a launch). "
                    "<b>roof</b>: the same with ceilings measured on this machine. The column is their share of the time.</li>\n"
                    "<li><b>isolated, cold</b>: one launch at a time, caches flushed before each. <b>A/A</b>: row 0 measured against "
                    "itself in the same rounds; a difference below it is "
                    "noise.</li>\n"
                    "<li><b>Against the machine's limits</b>: hardware counters of launches of their own, several passes each, so a share "
                    "may be a little above "
                    "100. A row of several kernels has their sums and means, and its steps below. Behind <b>Every counter</b> they stand "
                    "by group, with what "
                    "they mean.</li>\n"
                    "<li><b>Why each row is as fast as it is</b>: what binds it, and its time as a sum of parts that adds up; the parts by "
                    "waiting reason "
                    "say what the lost time looks like, not what would be gained (METHOD.md, Why).</li>\n");
    }
    text_add(t, "<li><b>occ %</b>: warps that can be resident over the chip's maximum, and what limits them. <b>spill</b>: bytes a thread "
                "stores to local memory "
                "because registers ran out.</li>\n"
                "<li>A variant whose output is wrong is shown with its reason and is never ranked. Every number is defined in "
                "METHOD.md.</li>\n</ul>\n</section>\n");
}

static void provenance(struct text *t, const struct run *run)
{
    text_add(t, "<section>\n<h2>Provenance</h2>\n<dl class=\"facts\">\n");
    for (const struct column *c = columns; c->name; c++) {
        if (c->group != COLUMN_RUN || strcmp(c->name, "scenario_text") == 0) {
            continue;
        }
        struct column_value v = column_get(c, run);
        if (v.absent) {
            continue;
        }
        char number[32];
        snprintf(number, sizeof number, c->type == COLUMN_UINT64 ? "%llu" : "%lld", (long long)v.integer);
        text_addf(t, "<dt>%s</dt><dd>", c->name);
        html_text(t, v.text ? v.text : number);
        text_add(t, "</dd>\n");
    }
    text_add(t, "</dl>\n");
    if (run->scenario_text && run->scenario_text[0]) {
        text_add(t, "<details><summary>The scenario</summary><pre>");
        html_text(t, run->scenario_text);
        text_add(t, "</pre></details>\n");
    }
    text_add(t, "</section>\n");
}

static void page(struct text *t, const struct run *run, struct row *const *rows, int count, const struct plots *plots, const char *css)
{
    text_add(t, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
                "content=\"width=device-width, initial-scale=1\">\n<title>");
    html_text(t, run->scenario ? run->scenario : "bench");
    text_add(t, " · bench</title>\n<style>\n");
    text_add(t, css);
    text_add(t, "</style>\n</head>\n<body>\n<main>\n<header>\n<h1>");
    html_text(t, run->scenario ? run->scenario : "bench");
    text_add(t, "</h1>\n<p class=\"soft\">");
    const char *const facts[] = {run->device_about, run->compiler, run->started, run->commit};
    for (size_t i = 0, shown = 0; i < sizeof facts / sizeof facts[0]; i++) {
        if (facts[i] && facts[i][0]) {
            text_add(t, shown++ ? " · " : "");
            html_text(t, facts[i]);
        }
    }
    text_add(t, "</p>\n");
    lead(t, run, rows, count);
    if (!run->ended[0]) {
        text_add(t, "<p class=\"notice\">The run has not ended: it was interrupted, or is still going on.</p>\n");
    }
    text_add(t, "</header>\n<section>\n");
    glance(t, run, rows, count);
    networks(t, run, rows, count);
    break_even(t, run, rows, count);
    mask_tables(t, run, rows, count);
    overview_plots(t, plots);
    const char *const notices[] = {plots->problem, plots->left_out};
    for (int i = 0; i < 2; i++) {
        if (notices[i]) {
            text_add(t, "<p class=\"notice\">");
            html_text(t, notices[i]);
            text_add(t, "</p>\n");
        }
    }
    text_add(t, "</section>\n");
    for (int i = 0, end; i < count; i = end) {
        struct case_view c;
        end = case_end(rows, count, i);
        case_view_make(&c, run, rows + i, end - i);
        html_case(t, &c, plots);
        case_view_free(&c);
    }
    how_to_read(t, count && device_counts(rows[0]->device));
    provenance(t, run);
    text_add(t, "</main>\n</body>\n</html>\n");
}

bool report_html(struct text *t, const struct run *run, struct row *const *rows, int count, const char *dir, struct error *err)
{
    bool done = false;
    size_t bytes;
    struct plots plots = {0};
    char *path = file_share("plot/page.css"), *css = file_read(path, CSS_MAX_BYTES, &bytes, err);
    if (!css) {
        error_where(err, "this installation is incomplete");
        goto done;
    }
    if (!plots_make(&plots, run, rows, count, dir, err)) {
        goto done;
    }
    page(t, run, rows, count, &plots, css);
    done = true;
done:
    plots_free(&plots);
    free(css);
    free(path);
    return done;
}
