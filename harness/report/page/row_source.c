/* report/page/row_source: the source of a row's kernels, line by line, with emu's exact counts, or the samples and counts of the hardware
 * (--source), and the machine code of each line. The text is read from the compiled file if it still exists. */
#include "base/file.h"
#include "base/hash.h"
#include "base/order.h"
#include "report/source/disassemble.h"
#include "report/view/source_lines.h"
#include "report/view/number.h"
#include "report/page/row_document.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SOURCE_MAX_BYTES (16u << 20)
#define LINES_MOST 1000000
#define GAP_FILLED 2 /* lines between two that are shown are shown too, when they are no more */

/* How much of it is shown. */
static const struct extent {
    int lines;         /* of a step, those with most */
    double line_share; /* of all: colder ones are not shown */
    int code;          /* instructions per line, those executed most */
    double code_share; /* of a line that is colder none are shown */
    bool filled;
    int text; /* characters of a line without its indentation; 0: as it is */
} extents[] = {[SOURCE_BRIEF] = {8, 0.02, 3, 0.2, false, 56},
               [SOURCE_PAGE] = {16, 0.01, 8, 0.01, true, 0},
               [SOURCE_WHOLE] = {LINES_MOST, 0, 12, 0.01, false, 90}};

/* A line of the file. */
struct line {
    const struct source_line *did; /* NULL: nothing is known of it */
    double heat, spills;           /* instructions of a warp, or samples */
    bool shown;
};
struct source {
    struct line *lines; /* by number; 0: code without a line */
    int count;
    double heat; /* of all */
    bool sampled;
    const struct row_code **code; /* by line, then the hottest first */
    int code_count;
    const char *language; /* the kind of its code: "ptx", "sass"; NULL: none */
};

/* From emu or the GPU; 0: not known. */
static double either(const struct source_line *l, enum metric emu, enum metric card)
{
    return l ? line_value(l, emu) + line_value(l, card) : 0;
}

static double of_both(const struct source_line *l, enum metric metric)
{
    return line_value(l, metric) + line_value(l, metric + SIDE_STORE);
}

/* Lanes of an average instruction; NaN. */
static double lanes(const struct source_line *l)
{
    return either(l, METRIC_EMU_THREAD_INSTRUCTIONS, METRIC_LINE_LANES) / either(l, METRIC_EMU_INSTRUCTIONS, METRIC_LINE_INSTRUCTIONS);
}

ORDER_POINTERS(by_line_and_heat, struct row_code, x->line != y->line ? ORDER_UP(line) : row_code_order(x, y))

ORDER_POINTERS(by_address, struct row_code, ORDER_UP(address))

static void gather_code(const struct row *row, int step, struct source *s)
{
    s->code = xcalloc((size_t)row->code_count + 1, sizeof(const struct row_code *));
    for (int i = 0; i < row->code_count; i++)
        if (row->code[i].step == step)
            s->code[s->code_count++] = &row->code[i];
    qsort(s->code, (size_t)s->code_count, sizeof *s->code, by_line_and_heat);
    s->language = s->code_count ? s->code[0]->language : NULL;
}

static void forget(struct source *s)
{
    free(s->lines);
    free(s->code);
}

/* From the `found` lines of a step. False: nothing is known by line. */
static bool gather(const struct row *row, int step, const struct source_line *lines, int found, struct source *s)
{
    *s = (struct source){0};
    for (int i = 0; i < found; i++) {
        if (lines[i].line > 0 && lines[i].line < LINES_MOST)
            s->count = lines[i].line + 1;
        s->sampled |= lines[i].samples > 0;
    }
    s->lines = xcalloc((size_t)s->count + 1, sizeof *s->lines);
    for (int i = 0; i < found; i++) {
        const struct source_line *did = &lines[i];
        if (did->line <= 0 || did->line >= s->count)
            continue;
        struct line *l = &s->lines[did->line];
        *l = (struct line){did, s->sampled ? did->samples : either(did, METRIC_EMU_INSTRUCTIONS, METRIC_LINE_INSTRUCTIONS),
                           of_both(did, METRIC_SPILLS), false};
        s->heat += l->heat;
    }
    gather_code(row, step, s);
    return s->heat > 0;
}

/* Marks the lines that cost most; returns how many are left out. */
static int choose(struct source *s, const struct extent *e)
{
    int with = 0, shown = 0, last = 0;
    for (int i = 1; i < s->count; i++)
        with += s->lines[i].heat > 0 || s->lines[i].spills > 0;
    while (shown < e->lines && shown < with) {
        int best = 0;
        for (int i = 1; i < s->count; i++)
            if (!s->lines[i].shown && (s->lines[i].heat > 0 || s->lines[i].spills > 0) && (!best || s->lines[i].heat > s->lines[best].heat))
                best = i;
        if (s->lines[best].heat < e->line_share * s->heat && !(s->lines[best].spills > 0))
            break;
        s->lines[best].shown = true;
        shown++;
    }
    for (int i = 1; i < s->count && e->filled; i++)
        if (s->lines[i].shown) {
            for (int k = last + 1; last && i - last <= GAP_FILLED + 1 && k < i; k++) {
                s->lines[k].shown = true;
                shown += s->lines[k].heat > 0 || s->lines[k].spills > 0;
            }
            last = i;
        }
    return with - shown;
}

/* "12 lanes · 4 sectors a load (1) · 2-way conflict · waits long_scoreboard". */
static void line_facts(const struct source_line *l, struct text *t)
{
    static const char *const sides[] = {"load", "store"};
    char a[NUMBER_TEXT], b[NUMBER_TEXT];
    if (lanes(l) > 0 && lanes(l) < LANES_ALL)
        text_addf(t, "%s lanes", number_short(lanes(l), a));
    for (int k = 0; k < SIDES; k++)
        if (l->values[METRIC_EMU_REQUESTS + k] > 0)
            text_addf(t, "%s%s sectors a %s (%s)", t->len ? " · " : "",
                      number_short(line_value(l, METRIC_EMU_SECTORS + k) / l->values[METRIC_EMU_REQUESTS + k], a), sides[k],
                      number_short(line_value(l, METRIC_EMU_SECTORS_IDEAL + k) / l->values[METRIC_EMU_REQUESTS + k], b));
    if (l->values[METRIC_LINE_SECTORS_IDEAL] > 0)
        text_addf(t, "%s%s x the sectors", t->len ? " · " : "",
                  number_short(line_value(l, METRIC_LINE_SECTORS) / l->values[METRIC_LINE_SECTORS_IDEAL], a));
    double waves = of_both(l, METRIC_EMU_WAVEFRONTS) + line_value(l, METRIC_LINE_WAVEFRONTS),
           ideal = of_both(l, METRIC_EMU_WAVEFRONTS_IDEAL) + line_value(l, METRIC_LINE_WAVEFRONTS_IDEAL);
    if (ideal > 0)
        text_addf(t, "%s%s-way shared", t->len ? " · " : "", number_short(waves / ideal, a));
    if (of_both(l, METRIC_SPILLS) > 0)
        text_addf(t, "%s%s spills", t->len ? " · " : "", number_count(of_both(l, METRIC_SPILLS), a));
    if (l->waits[0])
        text_addf(t, "%s%s %s %%", t->len ? " · " : "", metric_word(l->waits[0], FAMILY_SAMPLES),
                  number_percent(l->waits[0]->value / l->samples, a));
}

/* The most important verdict on a line; NULL: none. */
static const char *said_of(const struct line_findings *said, int step, int line)
{
    for (int i = 0; i < said->count; i++)
        if (said->items[i].step == step && said->items[i].line == line)
            return said->items[i].says;
    return NULL;
}

/* What one instruction did; a memory access with what it moved per execution. */
static void code_facts(const struct row_code *c, const struct source_line *l, struct text *t)
{
    char a[NUMBER_TEXT], b[NUMBER_TEXT];
    double of_code = c->lanes / c->executed;
    if (c->executed > 0 && l && fabs(of_code - lanes(l)) >= 0.5)
        text_addf(t, "%s lanes", number_short(of_code, a));
    if (c->executed > 0 && c->sectors > 0) {
        text_addf(t, "%s%s sectors", t->len ? " · " : "", number_short(c->sectors / c->executed, a));
        if (c->sectors_ideal > 0)
            text_addf(t, " (%s)", number_short(c->sectors_ideal / c->executed, b));
    }
    if (c->wavefronts > 0 && c->wavefronts_ideal > 0)
        text_addf(t, "%s%s-way shared", t->len ? " · " : "", number_short(c->wavefronts / c->wavefronts_ideal, a));
    if (c->wait[0])
        text_addf(t, "%s%s", t->len ? " · " : "", c->wait);
}

static void code_row(struct table *t, const struct source *s, const struct row_code *c)
{
    SCOPED_TEXT facts = {0};
    code_facts(c, s->lines[c->line].did, &facts);
    table_row(t, LINE_CODE);
    table_cell(t, PAINT_DIM, strcmp(c->language, "sass") ? ":%lld" : "%04llx", (long long)c->address);
    table_bar(t, 100 * row_code_heat(c) / s->heat);
    table_cell(t, PAINT_DIM, "%s", c->text[0] ? c->text : "?");
    if (c->inlined[0])
        table_note(t, "%s", c->inlined);
    table_cell(t, PAINT_NONE, "%s", text_get(&facts));
}

/* The instructions of a line, as they follow each other. */
static void code_rows(struct table *t, const struct source *s, int number, const struct extent *e)
{
    int first = 0, count = 0;
    while (first < s->code_count && s->code[first]->line < number)
        first++;
    while (first + count < s->code_count && s->code[first + count]->line == number && count < e->code)
        count++;
    if (s->lines[number].heat < e->code_share * s->heat)
        return;
    qsort(s->code + first, (size_t)count, sizeof *s->code, by_address);
    for (int i = 0; i < count; i++)
        code_row(t, s, s->code[first + i]);
}

/* A line of the file; where it is read at once, without its indentation and cut at a whole character. The caller frees it. */
static char *line_text(const char *text, size_t bytes, int most)
{
    size_t from = most ? strspn(text, " \t") : 0, end = from < bytes ? from : bytes;
    text += end;
    bytes -= end;
    int shown = 0;
    for (end = 0; end < bytes && (!most || shown < most || ((unsigned char)text[end] & 0xc0) == 0x80); end++)
        shown += ((unsigned char)text[end] & 0xc0) != 0x80;
    char *code = xstrndup(text, end), *cut = end < bytes ? text_format("%s…", code) : NULL;
    free(cut ? code : NULL);
    return cut ? cut : code;
}

static void source_row(struct table *t, const struct source *s, int number, char *code, const char *said)
{
    const struct line *l = &s->lines[number];
    SCOPED_TEXT facts = {0};
    if (l->did)
        line_facts(l->did, &facts);
    table_row(t, LINE_PLAIN);
    table_cell(t, PAINT_NONE, "%d", number);
    if (l->heat > 0)
        table_bar(t, 100 * l->heat / s->heat);
    else
        table_absent(t, 1);
    table_cell(t, l->heat > 0 ? PAINT_NONE : PAINT_DIM, "%s", code[0] ? code : " ");
    if (said)
        table_about(t, said);
    table_cell(t, PAINT_NONE, "%s", text_get(&facts));
    free(code);
}

/* A warning about the source text (changed since, missing); NULL: none. The caller frees it. */
static char *doubt(const struct row_step *k, const char *text, size_t bytes, const struct error *err)
{
    char hash[HASH_TEXT] = "";
    if (!text)
        return text_format("The source file no longer exists: %s", err->text);
    hash_bytes(text, bytes, hash);
    return k->file_hash[0] && strcmp(hash, k->file_hash)
               ? xstrdup("The source has changed since it was counted: the line numbers may be wrong.")
               : NULL;
}

static struct table *source_table(const struct source *s)
{
    struct table *t = table_new();
    t->name = "source";
    t->beside = !s->language ? NULL : strcmp(s->language, "sass") ? "PTX" : "SASS";
    table_column(t, "number", "line", ALIGN_RIGHT);
    table_column(t, "heat", s->sampled ? "% samples" : "% executed", ALIGN_RIGHT,
                 .about = s->sampled ? "share of the samples with a warp at this line" : "share of the executed warp instructions");
    table_column(t, "source", "source", ALIGN_LEFT);
    table_column(t, "facts", "memory accesses (ideal)", ALIGN_LEFT, .spare = 1);
    return t;
}

/* The file of a step's lines at its stored path; for a shipped file of another machine's run, the file here. */
static char *source_of(const struct row_step *k, size_t *bytes, struct error *err)
{
    char *text = file_read(k->file, SOURCE_MAX_BYTES, bytes, err);
    const char *shipped = text ? NULL : strstr(k->file, "/kernels/");
    if (shipped) {
        struct error ignored = {0};
        SCOPED char *here = file_share(shipped + 1);
        text = file_read(here, SOURCE_MAX_BYTES, bytes, &ignored);
        error_clear(&ignored);
    }
    return text;
}

static void add_step(struct document *d, const struct row *row, int step, struct source *s, const struct line_findings *said,
                     const struct extent *e)
{
    struct error err = {0};
    const struct row_step *k = &row->steps[step];
    enum detail detail = e == &extents[SOURCE_PAGE] ? DETAIL_FULL : DETAIL_ALWAYS;
    size_t bytes = 0;
    SCOPED char *text = source_of(k, &bytes, &err), *title = text_format("Source: %s", file_base(k->file));
    int rest = choose(s, e), number = 1;
    struct table *t = source_table(s);
    document_heading(d, 4, title, row->step_count > 1 ? k->name : NULL)->detail = detail;
    const char *p = text ? text : "";
    for (; number < s->count; number++) {
        size_t n = strcspn(p, "\n");
        if (s->lines[number].shown) {
            source_row(t, s, number, line_text(p, n, e->text), said_of(said, step, number));
            code_rows(t, s, number, e);
        }
        p += n + (p[n] == '\n');
    }
    document_table(d, t, detail);
    SCOPED char *wrong = doubt(k, text, bytes, &err);
    struct block *b = document_prose(d, TONE_SOFT, detail);
    if (rest)
        block_itemf(b, NULL, NULL, "%d more line%s with a smaller share", rest, text_s(rest));
    block_item(b, NULL, NULL,
               s->code_count && !disassembled(s->code[0])
                   ? "Operations and bytes of the machine code: nvdisasm was not found (ci/setup, or BENCH_NVDISASM)"
                   : NULL);
    block_item(b, NULL, NULL, wrong);
}

void row_source(struct document *d, const struct case_view *c, const struct view *v, enum source_extent extent)
{
    SCOPED_BY(line_findings_free) struct line_findings said = {0};
    SCOPED struct source_line *lines = NULL;
    int steps = row_is_network(v->row) ? 0 : v->row->step_count; /* the layers' own rows have it */
    int count = steps ? source_lines(v->row, EVERY_STEP, &lines) : 0;
    line_findings_add(&said, c, v);
    for (int first = 0, end; first < count; first = end) { /* by step */
        struct source s;
        for (end = first + 1; end < count && lines[end].step == lines[first].step;)
            end++;
        if (lines[first].step < 0 || lines[first].step >= steps)
            continue;
        if (gather(v->row, lines[first].step, lines + first, end - first, &s))
            add_step(d, v->row, lines[first].step, &s, &said, &extents[extent]);
        forget(&s);
    }
}
