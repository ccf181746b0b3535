/* report/html_case: one case on the page: table, plot, why, facts of every step. */
#include "report/case_table.h"
#include "report/html.h"
#include "report/number.h"
#include "report/resources.h"
#include "report/verdict.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ADVICE_SHOWN 8

static void cell(struct text *t, const char *class, const char *s)
{
    text_addf(t, "<td class=\"%s\">", class);
    html_text(t, s);
    text_add(t, "</td>");
}

static void number_cell(struct text *t, bool known, const char *s, const char *small)
{
    text_add(t, "<td class=\"n\">");
    if (known) {
        html_text(t, s);
        if (small && small[0]) {
            text_add(t, " <small>");
            html_text(t, small);
            text_add(t, "</small>");
        }
    }
    text_add(t, "</td>");
}

static void facts_cells(struct text *t, const struct row_step *s)
{
    char a[NUMBER_TEXT], b[NUMBER_TEXT];
    bool known = s && s->registers >= 0;
    number_cell(t, known, known ? number_count(s->registers, a) : "", NULL);
    text_addf(t, "<td class=\"n%s\">", known && s->spill_store_bytes > 0 ? " warn" : "");
    if (known && s->spill_store_bytes >= 0) {
        text_add(t, number_count(s->spill_store_bytes, a));
    }
    text_add(t, "</td>");
    bool smem = known && s->static_smem >= 0 && s->dynamic_smem >= 0;
    number_cell(t, smem, smem ? number_short((s->static_smem + s->dynamic_smem) / 1024.0, a) : "", NULL);
    bool occupancy = known && s->occupancy >= 0;
    number_cell(t, occupancy, occupancy ? number_percent(s->occupancy, b) : "", occupancy ? s->limit : NULL);
}

static void name_cell(struct text *t, const struct view *v)
{
    text_add(t, "<td class=\"name\"><b>");
    html_text(t, v->name);
    text_add(t, "</b>");
    if (v->row->what && v->row->what[0]) {
        text_add(t, "<span class=\"what\">");
        html_text(t, v->row->what);
        text_add(t, "</span>");
    }
    text_add(t, "</td>");
}

/* A row that says a sentence: failed or skipped. */
static bool sentence_row(struct text *t, const struct view *v, int span)
{
    struct text text = {0};
    if (!v->failed && v->row->status != ROW_SKIPPED) {
        return false;
    }
    if (v->failed) {
        failure_text(v, &text);
    } else {
        text_add(&text, v->row->reason ? v->row->reason : "skipped");
    }
    text_addf(t, "<tr class=\"%s\"><td class=\"mark\">%s</td>", v->failed ? "failed" : "skipped", v->failed ? "!" : "");
    name_cell(t, v);
    text_addf(t, "<td class=\"reason%s\" colspan=\"%d\"><span class=\"said\">", v->failed ? "" : " soft", span);
    html_text(t, text_get(&text));
    text_add(t, "</span></td></tr>\n");
    text_free(&text);
    return true;
}

/* The verdict's word, its sentence and its advice when pointed at. */
static void verdict_cell(struct text *t, const struct case_view *c, const struct view *v)
{
    struct verdicts all;
    verdicts_of(c, v, &all);
    text_add(t, "<td class=\"mono\"");
    if (all.count) {
        text_add(t, " title=\"");
        html_text(t, all.items[0].says);
        text_add(t, " - try: ");
        html_text(t, all.items[0].remedy);
        text_add(t, "\"");
    }
    text_addf(t, ">%s</td>", all.count ? counter_bind_names[all.items[0].binds] : "");
}

/* With what is known of a library's kernel. */
static void one_step(struct text *t, const struct case_view *c, const struct view *v, int step)
{
    struct row_step s;
    facts_cells(t, resources_step(c, v, step, &s) ? &s : NULL);
}

static void steps_cell(struct text *t, const struct case_view *c, const struct view *v)
{
    if (v->steps > 1) {
        text_addf(t, "<td class=\"n soft\" colspan=\"4\">%d steps</td>", v->steps);
    } else {
        one_step(t, c, v, v->step >= 0 ? v->step : 0);
    }
}

static void timed_row(struct text *t, const struct case_view *c, const struct view *v)
{
    char value[NUMBER_TEXT], half[NUMBER_TEXT], low[NUMBER_TEXT], high[NUMBER_TEXT], spread[4 * NUMBER_TEXT + 48],
        interval[3 * NUMBER_TEXT];
    text_addf(t, "<tr%s><td class=\"mark\">", v->rank == 0 ? " class=\"zero\"" : "");
    if (v->rank >= 0) {
        text_addf(t, "%d", v->rank);
    }
    text_add(t, "</td>");
    name_cell(t, v);
    spread[0] = '\0';
    if (v->ranked) {
        number_pair(v->time->median_ns / 1e3, v->half_ns / 1e3, value, half);
        int n = snprintf(spread, sizeof spread, half[0] ? "±%s" : "%s", half);
        const struct row_time *graph = strcmp(c->load, "isolated") ? NULL : row_time(v->row, "warm", "sustained");
        if (graph) {
            n += snprintf(spread + n, sizeof spread - (size_t)n, "\nin a graph %s", number_3(graph->median_ns / 1e3, low));
        }
        if (isfinite(v->row->prepare_ns)) {
            snprintf(spread + n, sizeof spread - (size_t)n, "\nprepares %s", number_3(v->row->prepare_ns / 1e3, low));
        }
    }
    number_cell(t, true, v->ranked ? value : "not timed", spread);
    bool ratio = v->ranked && v->time->ratio > 0 && v->rank != 0;
    text_addf(t, "<td class=\"n%s\">", ratio && v->time->ratio_low > 1 ? " win" : "");
    if (v->rank == 0) {
        text_add(t, "1");
    } else if (ratio) {
        text_add(t, number_3(v->time->ratio, value));
        if (v->time->ratio_low > 0) {
            snprintf(interval, sizeof interval, "%s–%s", number_3(v->time->ratio_low, low), number_3(v->time->ratio_high, high));
            text_addf(t, " <small>%s</small>", interval);
        }
    }
    text_add(t, "</td>");
    double share = !isnan(c->roof_ns) ? v->roof_share : v->floor_share;
    number_cell(t, !isnan(share), number_percent(share, value), "%");
    steps_cell(t, c, v);
    verdict_cell(t, c, v);
    text_add(t, "</tr>\n");
    for (int s = 0; view_itemises(v) && s < v->row->step_count; s++) {
        const struct row_time *time = step_time(c, v->row, s);
        if (v->row->steps[s].prepare) {
            continue;
        }
        text_add(t, "<tr class=\"step\"><td></td>");
        cell(t, "name", v->row->steps[s].name);
        number_cell(t, time != NULL, time ? number_3(time->median_ns / 1e3, value) : "", NULL);
        text_add(t, "<td></td><td></td>");
        one_step(t, c, v, s);
        text_add(t, "<td></td></tr>\n");
    }
}

static void counted_row(struct text *t, const struct case_view *c, const struct view *v)
{
    char a[NUMBER_TEXT], b[NUMBER_TEXT + 8];
    text_add(t, "<tr><td></td>");
    name_cell(t, v);
    text_add(t, "<td class=\"check good\">ok <small>");
    html_text(t, v->row->check);
    text_add(t, "</small></td>");
    number_cell(t, !isnan(v->moved_over_compulsory), number_3(v->moved_over_compulsory, a), NULL);
    snprintf(b, sizeof b, "(%s)", number_short(v->ld_ideal, a));
    number_cell(t, !isnan(v->ld_sect_req), number_3(v->ld_sect_req, a), isnan(v->ld_ideal) ? "" : b);
    snprintf(b, sizeof b, "(%s)", number_short(v->st_ideal, a));
    text_addf(t, "<td class=\"n%s\">", v->st_sect_req >= 2 * v->st_ideal ? " warn" : "");
    if (!isnan(v->st_sect_req)) {
        text_addf(t, "%s <small>%s</small>", number_3(v->st_sect_req, a), isnan(v->st_ideal) ? "" : b);
    }
    text_add(t, "</td>");
    number_cell(t, !isnan(v->conflicts), number_count(v->conflicts, a), NULL);
    one_step(t, c, v, v->step); /* the longest step; all of them are below */
    number_cell(t, !isnan(v->warp_fma), number_count(v->warp_fma, a), NULL);
    verdict_cell(t, c, v);
    text_add(t, "</tr>\n");
}

static void case_rows(struct text *t, const struct case_view *c)
{
    static const char facts[] =
        "<th class=\"n\">regs</th><th class=\"n\">spill B</th><th class=\"n\">smem KiB</th><th class=\"n\">occ %</th>";
    text_add(t, "<div class=\"scroll\">");
    text_addf(t, "<table%s><thead><tr><th></th><th>variant</th>", c->counts ? " class=\"metrics\"" : "");
    if (c->counts) {
        text_addf(t,
                  "<th>check</th><th class=\"n\">moved / comp.</th><th class=\"n\">ld sect/req</th><th class=\"n\">st sect/req</th>"
                  "<th class=\"n\">bank conflicts</th>%s<th class=\"n\">warp FMA</th>",
                  facts);
    } else {
        text_add(t, "<th class=\"n\">time us</th><th class=\"n\">x ");
        html_text(t, c->zero_name);
        text_addf(t, " <small>95 %%</small></th><th class=\"n\">%s</th>%s", isnan(c->roof_ns) ? "floor" : "roof", facts);
    }
    text_add(t, "<th>binds</th></tr></thead><tbody>\n");
    for (int i = 0; i < c->count; i++) {
        const struct view *v = &c->views[c->order[i]];
        bool usable = v->row->status == ROW_OK || v->row->status == ROW_FOIL;
        if (sentence_row(t, v, c->counts ? 11 : 8) || !usable) {
            continue;
        }
        if (c->counts) {
            counted_row(t, c, v);
        } else {
            timed_row(t, c, v);
        }
    }
    text_add(t, "</tbody></table></div>\n");
}

static void why(struct text *t, const struct case_view *c)
{
    struct advice *advice;
    int count = advise(c, &advice), shown = 0;
    for (int i = 0; i < count && shown < ADVICE_SHOWN; i++) {
        bool said = false;
        for (int j = 0; j < i && advice[i].at_source; j++) {
            said |= strcmp(advice[j].text, advice[i].text) == 0;
        }
        if (said) {
            continue;
        }
        text_add(t, shown++ ? "<li>" : "<ul class=\"why\">\n<li>");
        if (!advice[i].at_source) {
            text_add(t, "<b>");
            html_text(t, advice[i].view->name);
            text_add(t, "</b> ");
        }
        html_text(t, advice[i].text);
        text_add(t, "</li>\n");
    }
    text_add(t, shown ? "</ul>\n" : "");
    free(advice);
}

/* A paragraph for each line "NAME: TEXT". Empties them. */
static void add_named(struct text *t, const char *before, struct text *lines)
{
    char *rest = lines->data;
    for (const char *name, *what; case_next_line(&rest, &name, &what);) {
        text_addf(t, "<p class=\"groups\">%s<b>", before);
        html_text(t, name);
        text_add(t, "</b>: ");
        html_text(t, what);
        text_add(t, "</p>\n");
    }
    text_free(lines);
}

static void reasons(struct text *t, const struct case_view *c)
{
    struct reason_group *groups;
    int count = reason_groups(c, ROW_INFEASIBLE, &groups), planned = 0;
    for (int i = 0; i < count; i++) {
        text_addf(t, "<p class=\"groups\">%d infeasible: <b>", groups[i].count);
        html_text(t, groups[i].reason);
        text_add(t, "</b> <small>");
        html_text(t, text_get(&groups[i].names));
        text_add(t, "</small></p>\n");
    }
    reason_groups_free(groups, count);
    for (int i = 0; i < c->count; i++) {
        planned += c->rows[i]->status == ROW_PLANNED;
    }
    struct text lines = {0};
    case_ablations(c, &lines);
    add_named(t, "", &lines);
    case_notes(c, false, &lines);
    case_notes(c, true, &lines);
    add_named(t, "note, ", &lines);
    if (planned) {
        text_addf(t, "<p class=\"groups\">%d of %d rows were not run yet.</p>\n", planned, c->count);
    }
    struct text modes = {0};
    case_modes(c, &modes);
    if (modes.len) {
        text_add(t, "<p class=\"groups reason\">");
        html_text(t, text_get(&modes));
        text_add(t, "</p>\n");
    }
    text_free(&modes);
}

static void dims(struct text *t, const int64_t d[3])
{
    text_add(t, "<td class=\"n\">");
    if (d[0] >= 0) {
        text_addf(t, "%lld", (long long)d[0]);
        for (int i = 1; i < 3; i++) {
            if (d[i] > 1 || (i == 1 && d[2] > 1)) {
                text_addf(t, " × %lld", (long long)d[i]);
            }
        }
    }
    text_add(t, "</td>");
}

static void pair_cell(struct text *t, int a, int b, const char *between)
{
    char x[NUMBER_TEXT], y[NUMBER_TEXT];
    text_add(t, "<td class=\"n\">");
    if (a >= 0 && b >= 0)
        text_addf(t, "%s%s%s", number_count(a, x), between, number_count(b, y));
    text_add(t, "</td>");
}

#define STEP_COLUMNS 14

static void step_facts(struct text *t, const struct case_view *c, const struct view *v, int index)
{
    struct row_step s;
    char a[NUMBER_TEXT], hash[9];
    if (!resources_step(c, v, index, &s)) /* with what is known of a library's kernel */
        s = v->row->steps[index];
    const int ints[] = {s.constant_bytes, s.code_bytes, s.blocks_per_sm, s.warps_per_sm};
    text_add(t, s.lift[0] ? "<tr class=\"lifted\">" : "<tr>");
    cell(t, "name", v->name);
    text_add(t, "<td class=\"mono step\">");
    html_id(t, s.name);
    text_add(t, s.prepare ? " <small>once, not timed</small></td>" : "</td>");
    dims(t, s.grid);
    dims(t, s.block);
    number_cell(t, s.registers >= 0, number_count(s.registers, a), NULL);
    pair_cell(t, s.spill_store_bytes, s.spill_load_bytes, " / ");
    number_cell(t, s.stack_bytes >= 0, number_count(s.stack_bytes, a), NULL);
    pair_cell(t, s.static_smem, s.dynamic_smem, " + ");
    for (size_t i = 0; i < sizeof ints / sizeof ints[0]; i++)
        number_cell(t, ints[i] >= 0, number_count(ints[i], a), NULL);
    number_cell(t, s.occupancy >= 0, number_percent(s.occupancy, a), s.limit);
    number_cell(t, s.waves >= 0, number_3(s.waves, a), NULL);
    snprintf(hash, sizeof hash, "%.8s", s.sass_hash);
    cell(t, "mono", hash);
    text_add(t, "</tr>\n");
    if (s.lift[0]) {
        text_addf(t, "<tr class=\"step\"><td></td><td colspan=\"%d\">", STEP_COLUMNS);
        html_text(t, s.lift);
        text_add(t, "</td></tr>\n");
    }
}

static void all_steps(struct text *t, const struct case_view *c)
{
    static const char *const heads[] = {"grid",    "block",  "regs",        "spill B st / ld", "stack B", "smem B static + dynamic",
                                        "const B", "code B", "blocks / SM", "warps / SM",      "occ %",   "waves"};
    bool any = false;
    for (int i = 0; i < c->count; i++) {
        const struct view *v = &c->views[c->order[i]];
        for (int s = 0; s < v->row->step_count; s++) {
            if (!any) {
                text_add(t, "<details><summary>Launch, registers and occupancy of every step, and what would lift its limit</summary><div "
                            "class=\"scroll\">"
                            "<table class=\"metrics\"><thead><tr><th>variant</th><th>step</th>");
                for (size_t h = 0; h < sizeof heads / sizeof heads[0]; h++)
                    text_addf(t, "<th class=\"n\">%s</th>", heads[h]);
                text_add(t, "<th title=\"the same hash is the same machine code\">SASS</th></tr></thead><tbody>\n");
                any = true;
            }
            step_facts(t, c, v, s);
        }
    }
    text_add(t, any ? "</tbody></table></div></details>\n" : "");
}

void html_case(struct text *t, const struct case_view *c, const struct plots *plots)
{
    struct text line = {0};
    text_add(t, "<section>\n<h2>");
    html_id(t, c->rows[0]->case_id);
    text_add(t, "</h2>\n<p class=\"mono\">");
    html_text(t, c->rows[0]->work);
    text_add(t, "</p>\n<p class=\"soft\">");
    case_conditions(c, &line);
    html_text(t, text_get(&line));
    text_free(&line);
    case_work(c, &line);
    if (line.len) {
        text_add(t, "<br>");
        html_text(t, text_get(&line));
    }
    text_free(&line);
    case_tiles(c, &line);
    for (const char *p = text_get(&line); *p; p += strcspn(p, "\n") + 1) {
        char *one = xstrndup(p, strcspn(p, "\n"));
        text_add(t, "<br>");
        html_text(t, one);
        free(one);
    }
    text_free(&line);
    text_add(t, "</p>\n");
    case_rows(t, c);
    html_light(t, c);
    for (int i = 0; i < plots->count; i++) {
        if (plots->items[i].case_index == c->rows[0]->case_index &&
            (plots->items[i].kind == PLOT_TIME || plots->items[i].kind == PLOT_COUNTS || plots->items[i].kind == PLOT_ROOFLINE)) {
            html_figure(t, &plots->items[i]);
        }
    }
    why(t, c);
    reasons(t, c);
    html_why(t, c);
    all_steps(t, c);
    html_metrics(t, c);
    text_add(t, "</section>\n");
}
