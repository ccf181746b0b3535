#include "gate/document.h"
#include "base/text.h"
#include "report/view/number.h"
#include "store/json.h"
#include <math.h>
#include <string.h>

#define CHANGES_BRIEF 4 /* of a row, in forms for a quick overview */

/* ---- sentences ---- */

static const char *fact_text(double value, char out[NUMBER_TEXT])
{
    return value == floor(value) ? number_count(value, out) : number_3(value, out);
}

static void gate_change_sentence(const struct gate_change *x, struct text *t)
{
    char a[NUMBER_TEXT], b[NUMBER_TEXT];
    bool share = !strcmp(x->kind->what, "occupancy");
    text_addf(t, "%s ", x->kind->what);
    if (share)
        text_addf(t, "%s %% -> %s %%", isnan(x->base) ? "?" : number_percent(x->base, a),
                  isnan(x->head) ? "?" : number_percent(x->head, b));
    else
        text_addf(t, "%s -> %s", isnan(x->base) ? "not known" : fact_text(x->base, a),
                  isnan(x->head) ? "not known" : fact_text(x->head, b));
    double by = 100 * (x->head / x->base - 1);
    if (!share && isfinite(by) && fabs(by) < 1e6)
        text_addf(t, " (%s%s %%)", by > 0 ? "+" : "-", number_short(fabs(by), a));
    if (*x->step)
        text_addf(t, " in %s", x->step);
    if (x->waiver)
        text_addf(t, x->waiver->expired ? " [waiver of %s expired %s]" : " [waived by %s until %s: %s]", x->waiver->owner, x->waiver->until,
                  x->waiver->why);
}

static void ratio_sentence(const struct gate_pair *p, struct text *t)
{
    char a[NUMBER_TEXT], b[NUMBER_TEXT], r[NUMBER_TEXT];
    if (p->rounds)
        text_addf(t, "%s x [%s %s] in %d rounds%s", number_3(p->ratio, r), number_3(p->low, a), number_3(p->high, b), p->rounds,
                  p->paired ? "" : ", not paired (two runs)");
}

void gate_sentence(const struct gate_comparison *c, const struct gate_pair *p, struct text *t)
{
    const struct gate_change *x = gate_pair_worst(p);
    SCOPED_TEXT more = {0};
    text_addf(t, "%s by %s", gate_verdict_names[p->verdict], gate_by_names[p->by]);
    ratio_sentence(p, &more);
    if (x && (x->judged || !p->note)) {
        text_add(&more, more.len ? "; " : "");
        gate_change_sentence(x, &more);
    }
    if (p->note)
        text_addf(&more, "%s%s", more.len ? "; " : "", p->note);
    if (more.len)
        text_addf(t, ": %s", text_get(&more));
}

/* ---- places ---- */

static const char *within(const struct gate_side *side, const char *file)
{
    size_t n = side->folder ? strlen(side->folder) : 0;
    return n && !strncmp(file, side->folder, n) ? file + n : file;
}

const char *gate_place_file(const struct gate_comparison *c, const struct gate_pair *p, int *line)
{
    const struct gate_change *x = gate_pair_worst(p);
    const struct row *row = p->head ? p->head->row : NULL;
    *line = p->line;
    if (p->file)
        return within(c->head, p->file);
    if (x && x->file) {
        *line = x->line;
        return within(c->head, x->file);
    }
    for (int i = 0; row && i < row->step_count; i++)
        if (row->steps[i].file[0])
            return within(c->head, row->steps[i].file);
    return "";
}

/* ---- the table ---- */

static const enum paint paints[GATE_VERDICTS] = {
    [GATE_SAME] = PAINT_DIM,  [GATE_SLOWER] = PAINT_BAD,  [GATE_FASTER] = PAINT_GOOD, [GATE_UNDECIDED] = PAINT_WARN,
    [GATE_WRONG] = PAINT_BAD, [GATE_MISSING] = PAINT_BAD, [GATE_NEW] = PAINT_NONE};

static void add_change_cells(struct table *t, const struct gate_comparison *c, const struct gate_change *x)
{
    SCOPED_TEXT what = {0};
    gate_change_sentence(x, &what);
    table_cell(t, x->judged > 0 && !x->waived ? PAINT_BAD : x->judged < 0 ? PAINT_GOOD : PAINT_NONE, "%s", text_get(&what));
    if (x->file && x->line)
        table_cell(t, PAINT_NONE, "%s:%d", within(c->head, x->file), x->line);
    else
        table_cell(t, PAINT_NONE, "%s", x->file ? within(c->head, x->file) : "");
}

static void add_pair_lines(struct table *t, const struct gate_comparison *c, const struct gate_pair *p, int most)
{
    char r[NUMBER_TEXT], a[NUMBER_TEXT], b[NUMBER_TEXT];
    bool failed = !gate_pair_passes(c, p);
    table_row(t, failed ? LINE_FAILED : LINE_PLAIN);
    table_cell(t, p->waived ? PAINT_WARN : paints[p->verdict], "%s%s", gate_verdict_names[p->verdict], p->waived ? " (waived)" : "");
    table_cell(t, PAINT_NONE, "%s", p->head ? p->head->id : p->base->id);
    table_cell(t, PAINT_NONE, "%s", gate_by_names[p->by]);
    table_number(t, PAINT_NONE, p->rounds ? p->ratio : NAN, number_3(p->ratio, r));
    if (p->rounds)
        table_note(t, "[%s %s]", number_3(p->low, a), number_3(p->high, b));
    table_number(t, PAINT_NONE, p->rounds ? p->rounds : NAN, number_count(p->rounds, r));
    if (p->rounds && !p->paired)
        table_note(t, "two runs");
    int shown = p->change_count < most ? p->change_count : most;
    if (shown)
        add_change_cells(t, c, &p->changes[0]);
    else /* a sentence that names its place */
        table_cell(t, PAINT_NONE, "%s", p->note ? p->note : "");
    for (int i = 1; i < shown; i++) {
        table_row(t, LINE_STEP);
        table_absent(t, 5);
        add_change_cells(t, c, &p->changes[i]);
    }
    bool cut = shown < p->change_count;
    if (shown && (p->note || cut)) {
        table_row(t, LINE_STEP);
        table_absent(t, 5);
        table_cell(t, PAINT_DIM, "%s%s%s", p->note ? p->note : "", p->note && cut ? "; " : "",
                   cut ? "--format html or json lists more changed facts" : "");
    }
}

static struct table *rows_table(const struct gate_comparison *c, int most)
{
    struct table *t = table_new();
    table_columns(t, {"verdict", "verdict", ALIGN_LEFT}, {"row", "row", ALIGN_LEFT}, {"by", "by", ALIGN_LEFT});
    table_column(t, "ratio", "ratio", ALIGN_POINT, .note = "[interval]", .about = "speed-up: base's time over head's; above 1 is faster",
                 .detail = DETAIL_ALWAYS);
    table_columns(t, {"rounds", "rounds", ALIGN_RIGHT}, {"changed", "what changed", ALIGN_LEFT}, {"at", "at", ALIGN_LEFT});
    for (int i = 0; i < c->count; i++)
        if (c->pairs[i].verdict != GATE_SAME || c->pairs[i].by != GATE_BY_IMAGE)
            add_pair_lines(t, c, &c->pairs[i], most);
    return t;
}

static struct table *means_table(const struct gate_comparison *c)
{
    struct gate_mean *means;
    int count = gate_means(c, &means);
    char a[NUMBER_TEXT];
    struct table *t = table_new();
    table_columns(t, {"mean", "geometric mean, base / head (below 1 is worse)", ALIGN_LEFT}, {"rows", "rows", ALIGN_RIGHT},
                  {"changed", "changed", ALIGN_RIGHT});
    table_column(t, "time", "time", ALIGN_POINT, .about = "base over head: above 1 is better, below 1 is worse", .detail = DETAIL_ALWAYS);
    table_columns(t, {"instructions", "instructions", ALIGN_POINT}, {"sectors", "sectors", ALIGN_POINT});
    for (int i = 0; i < count; i++) {
        if (!means[i].changed)
            continue;
        table_row(t, LINE_PLAIN);
        table_cell(t, PAINT_NONE, "%s%s", means[i].network ? "network " : "", means[i].name);
        table_number(t, PAINT_NONE, means[i].rows, number_count(means[i].rows, a));
        table_number(t, PAINT_NONE, means[i].changed, number_count(means[i].changed, a));
        table_number(t, PAINT_NONE, means[i].time, number_3(means[i].time, a));
        table_number(t, PAINT_NONE, means[i].instructions, number_3(means[i].instructions, a));
        table_number(t, PAINT_NONE, means[i].sectors, number_3(means[i].sectors, a));
    }
    gate_means_free(means, count);
    return t;
}

/* ---- the rest ---- */

static void add_head(struct document *d, const struct gate_comparison *c)
{
    SCOPED_TEXT title = {0}, made = {0};
    text_addf(&title, "%s -> %s", c->base->name, c->head->name);
    gate_side_describe(c->head, &made);
    document_heading(d, 1, text_get(&title), text_get(&made));
    struct block *b = document_prose(d, TONE_NOTICE, DETAIL_ALWAYS);
    if (c->across)
        block_item(b, "across", NULL, c->across);
    if (c->ops)
        block_itemf(b, "ops", NULL, "%s: %s", c->ops,
                    c->base->kept ? "the rows of the baseline were judged by the former file"
                                  : "both sides were judged by the file that is here");
    if (c->base->bench && c->head->bench && strcmp(c->base->bench, c->head->bench))
        block_itemf(b, "note", NULL, "base was counted with bench %s, head with %s", c->base->bench, c->head->bench);
}

static void add_counts(struct document *d, const struct gate_comparison *c, const int *exit_code)
{
    struct text t = {0};
    for (int i = 0; i < GATE_VERDICTS; i++)
        text_addf(&t, "%s%s %d", i ? " \302\267 " : "", gate_verdict_names[i], c->counts[i]);
    if (c->timed)
        text_addf(&t, " \302\267 %d judged by time, with a %.3g %% chance of any false SLOWER", c->timed, 100 * c->rules->alpha);
    if (c->left_out)
        text_addf(&t, " \302\267 %d row%s run on neither side (infeasible or skipped)", c->left_out, c->left_out == 1 ? " was" : "s were");
    if (c->not_asked)
        text_addf(&t, " \302\267 %d row%s outside the selection", c->not_asked, text_s(c->not_asked));
    struct block *b = document_prose(d, TONE_LEAD, DETAIL_ALWAYS);
    block_text(b, exit_code ? (*exit_code ? "FAIL" : "PASS") : NULL, NULL, &t);
}

/* "2 rows SLOWER, 1 row MISSING, 1 waiver expired": only the failures, those that decide exit code 4 first. */
static void add_failures(struct text *t, const struct gate_comparison *c)
{
    static const enum gate_verdict order[] = {GATE_WRONG, GATE_SLOWER, GATE_MISSING, GATE_FASTER, GATE_NEW, GATE_UNDECIDED};
    int by[GATE_VERDICTS] = {0}, beyond = 0;
    const char *separator = "";
    for (int i = 0; i < c->count; i++) {
        const struct gate_pair *p = &c->pairs[i];
        const struct gate_change *x = gate_pair_worst(p);
        bool fails = !gate_pair_passes(c, p) && !p->disturbed;
        bool count = fails && p->verdict == GATE_UNDECIDED && p->by == GATE_BY_COUNTS && x && x->judged > 0 && !x->waived;
        beyond += count;
        by[p->verdict] += fails && !count;
    }
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (by[order[i]]) {
            text_addf(t, "%s%d row%s %s", separator, by[order[i]], text_s(by[order[i]]), gate_verdict_names[order[i]]);
            separator = ", ";
        }
    if (beyond) {
        text_addf(t, "%s%d row%s UNDECIDED with a count beyond its allowance", separator, beyond, text_s(beyond));
        separator = ", ";
    }
    if (c->expired)
        text_addf(t, "%s%d waiver%s expired", separator, c->expired, text_s(c->expired));
}

static void exit_reason(const struct gate_comparison *c, int exit_code, struct text *t)
{
    if (exit_code)
        text_addf(t, "%d: ", exit_code);
    switch (exit_code) {
    case 3:
    case 4:
    case 6:
        add_failures(t, c);
        if (exit_code == 3 && c->promotable && c->ratchet)
            text_add(t, ": the changes are not in the baseline; to accept them: bench baseline promote");
        if (exit_code == 6)
            text_add(t, ", and the rules ask for a decision");
        break;
    case 5:
        text_add(t, c->verified ? "other processes used the GPU during the timing, so the times cannot be judged"
                                : "no row was verified, so nothing can be judged");
        break;
    default: break;
    }
}

static bool entry_has(const struct gate_entry *e, const char *what)
{
    bool has = text_glob(what, "time") && e->row && row_time(e->row, MODE_COLD);
    for (int i = 0; i < e->fact_count && !has; i++)
        has = text_glob(what, e->facts[i].kind->what);
    return has;
}

/* True if some row of the rule has, on both sides, a fact that the glob matches; also if no row was run because both sides launch the same.
 */
static bool has_fact(const struct gate_comparison *c, const struct gate_rule *rule, const char *what)
{
    bool has = c->unrun == c->count;
    for (int i = 0; i < c->count && !has; i++) {
        const struct gate_entry *a = c->pairs[i].base, *b = c->pairs[i].head;
        has = a && b && glob_list_match(&rule->rows, b->id) && entry_has(a, what) && entry_has(b, what);
    }
    return has;
}

static void add_notes(struct document *d, const struct gate_comparison *c, const int *exit_code)
{
    struct block *list = document_list(d, DETAIL_ALWAYS);
    for (int i = 0; i < c->rules->waiver_count; i++) {
        const struct gate_waiver *w = &c->rules->waivers[i];
        if (!w->expired && w->used)
            continue;
        block_itemf(list, "waiver", NULL, "%s:%d: %s of %s, until %s (%s): %s", c->rules->file, w->line, w->what, w->row, w->until,
                    w->owner, w->expired ? "expired: renew it or delete it" : "it applies to nothing any more: delete it");
    }
    for (int i = 0; i < c->rules->count; i++)
        for (char *const *what = c->rules->items[i].what; *what; what++)
            if (!has_fact(c, &c->rules->items[i], *what))
                block_itemf(list, "note", NULL, "%s:%d: no row has `%s` on both sides, so the rule did not judge it", c->rules->file,
                            c->rules->items[i].line, *what);
    if (exit_code && !*exit_code && c->base->kept && c->counts[GATE_FASTER])
        block_item(list, "note", NULL, "to keep the improvements in the baseline: bench baseline promote");
    SCOPED_TEXT exit = {0};
    if (exit_code)
        exit_reason(c, *exit_code, &exit);
    if (exit_code)
        block_item(list, "exit", NULL, exit.len ? text_get(&exit) : NULL);
}

void gate_document(struct document *d, const struct gate_comparison *c, const int *exit_code)
{
    add_head(d, c);
    add_counts(d, c, exit_code);
    document_table(d, rows_table(c, CHANGES_BRIEF), DETAIL_BRIEF); /* tables without rows are left out */
    document_table(d, rows_table(c, 1 << 20), DETAIL_FULL);
    document_table(d, means_table(c), DETAIL_ALWAYS);
    add_notes(d, c, exit_code);
}

/* ---- JSON ---- */

static json_t *json_change(const struct gate_comparison *c, const struct gate_change *x)
{
    json_t *o = json_pack("{s:s,s:s,s:o,s:o,s:i,s:b}", "step", x->step, "what", x->kind->what, "base", json_finite(x->base), "head",
                          json_finite(x->head), "judged", x->judged, "waived", (int)x->waived);
    if (x->file)
        json_object_set_new(o, "file", json_string(within(c->head, x->file)));
    if (x->file && x->line)
        json_object_set_new(o, "line", json_integer(x->line));
    return o;
}

static json_t *json_pair(const struct gate_comparison *c, const struct gate_pair *p)
{
    json_t *changes = json_array(), *o;
    for (int i = 0; i < p->change_count; i++)
        json_array_append_new(changes, json_change(c, &p->changes[i]));
    o = json_pack("{s:s,s:s,s:s,s:b,s:b,s:o}", "row", p->head ? p->head->id : p->base->id, "verdict", gate_verdict_names[p->verdict], "by",
                  gate_by_names[p->by], "passes", (int)gate_pair_passes(c, p), "waived", (int)p->waived, "changes", changes);
    if (p->rounds)
        json_object_update_new(o, json_pack("{s:o,s:o,s:o,s:i,s:b}", "ratio", json_finite(p->ratio), "ratio_low", json_finite(p->low),
                                            "ratio_high", json_finite(p->high), "rounds", p->rounds, "paired", (int)p->paired));
    if (p->note)
        json_object_set_new(o, "note", json_text(p->note));
    return o;
}

static json_t *json_side(const struct gate_side *s)
{
    return json_pack("{s:s,s:s?,s:s?,s:s?,s:s?,s:s?,s:s?}", "name", s->name, "device", s->device, "chip", s->arch, "compiler", s->compiler,
                     "driver", s->driver, "cudnn", s->library, "bench", s->bench);
}

void gate_json(struct text *t, const struct gate_comparison *c, const int *exit_code)
{
    json_t *counts = json_object(), *rows = json_array(), *means = json_array();
    struct gate_mean *list;
    int mean_count = gate_means(c, &list);
    for (int i = 0; i < GATE_VERDICTS; i++)
        json_object_set_new(counts, gate_verdict_names[i], json_integer(c->counts[i]));
    for (int i = 0; i < c->count; i++)
        json_array_append_new(rows, json_pair(c, &c->pairs[i]));
    for (int i = 0; i < mean_count; i++)
        json_array_append_new(means, json_pack("{s:s,s:b,s:i,s:i,s:o,s:o,s:o}", "name", list[i].name, "network", (int)list[i].network,
                                               "rows", list[i].rows, "changed", list[i].changed, "time", json_finite(list[i].time),
                                               "instructions", json_finite(list[i].instructions), "sectors", json_finite(list[i].sectors)));
    gate_means_free(list, mean_count);
    json_t *o = json_pack("{s:s,s:s,s:o,s:o,s:s?,s:s?,s:o,s:i,s:i,s:i,s:o,s:o}", "schema", "bench.comparison", "version", "1.1.0", "base",
                          json_side(c->base), "head", json_side(c->head), "across", c->across, "ops", c->ops, "counts", counts, "verified",
                          c->verified, "left_out", c->left_out, "not_asked", c->not_asked, "means", means, "rows", rows);
    if (exit_code)
        json_object_set_new(o, "exit", json_integer(*exit_code));
    json_write(t, o);
}
