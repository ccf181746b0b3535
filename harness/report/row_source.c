/* report/row_source: the source of a row's kernels, line by line: emu's exact counts, or the samples and counts that the hardware took
 * (--source). From stored metrics; the text is read from the file that was compiled, where it is still there. */
#include "base/file.h"
#include "report/case_document.h"
#include "report/number.h"
#include "report/row_document.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SOURCE_MAX_BYTES (16u << 20)
#define LINES_MOST 1000000
#define LINES_SHOWN 10  /* of a step, those with most */
#define LINE_SHARE 0.01 /* of all: colder ones are not shown */

/* What a source line did. */
struct source_line {
    double heat;       /* instructions of a warp, or samples */
    double lanes, ran; /* threads' instructions over warps' */
    double requests[SIDES], sectors[SIDES], sectors_ideal[SIDES], waves, waves_ideal;
    const struct row_metric *waits; /* what most of its samples wait for */
    double spills;
    bool shown;
};

struct source {
    struct source_line *lines; /* by number; 0: code without a line */
    int count;
    double heat, most; /* of all, of the hottest */
    bool sampled;
};

static double *counted_at(struct source_line *l, const char *name)
{
    struct {
        int metric;
        double *at;
    } known[] = {{METRIC_EMU_THREAD_INSTRUCTIONS, &l->lanes},
                 {METRIC_LINE_LANES, &l->lanes},
                 {METRIC_EMU_INSTRUCTIONS, &l->ran},
                 {METRIC_LINE_INSTRUCTIONS, &l->ran},
                 {METRIC_EMU_REQUESTS, &l->requests[0]},
                 {METRIC_EMU_REQUESTS + 1, &l->requests[1]},
                 {METRIC_EMU_SECTORS, &l->sectors[0]},
                 {METRIC_EMU_SECTORS + 1, &l->sectors[1]},
                 {METRIC_EMU_SECTORS_IDEAL, &l->sectors_ideal[0]},
                 {METRIC_EMU_SECTORS_IDEAL + 1, &l->sectors_ideal[1]},
                 {METRIC_LINE_SECTORS, &l->sectors[0]},
                 {METRIC_LINE_SECTORS_IDEAL, &l->sectors_ideal[0]},
                 {METRIC_EMU_WAVEFRONTS, &l->waves},
                 {METRIC_EMU_WAVEFRONTS + 1, &l->waves},
                 {METRIC_EMU_WAVEFRONTS_IDEAL, &l->waves_ideal},
                 {METRIC_EMU_WAVEFRONTS_IDEAL + 1, &l->waves_ideal},
                 {METRIC_LINE_WAVEFRONTS, &l->waves},
                 {METRIC_LINE_WAVEFRONTS_IDEAL, &l->waves_ideal},
                 {METRIC_SPILLS, &l->spills},
                 {METRIC_SPILLS + 1, &l->spills}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(name, metric_names[known[i].metric]) == 0)
            return known[i].at;
    return NULL;
}

static bool is_sample(const struct row_metric *m)
{
    return metric_begins(m, METRIC_SAMPLES) && strcmp(m->name, metric_names[METRIC_SAMPLES_DROPPED]) != 0;
}

/* False: nothing is known by line. */
static bool gather(const struct row *row, int step, struct source *s)
{
    *s = (struct source){0};
    for (int i = 0; i < row->metric_count; i++) {
        const struct row_metric *m = &row->metrics[i];
        if (m->step == step && m->line >= s->count && m->line < LINES_MOST && m->line > 0)
            s->count = m->line + 1;
        s->sampled |= m->step == step && is_sample(m);
    }
    s->lines = xcalloc((size_t)s->count + 1, sizeof *s->lines);
    for (int i = 0; i < row->metric_count; i++) {
        const struct row_metric *m = &row->metrics[i];
        if (m->step != step || m->line <= 0 || m->line >= s->count)
            continue;
        struct source_line *l = &s->lines[m->line];
        double *at = counted_at(l, m->name);
        if (at)
            *at += m->value;
        if (is_sample(m)) {
            l->heat += m->value;
            l->waits = !l->waits || m->value > l->waits->value ? m : l->waits;
        }
    }
    for (int i = 1; i < s->count; i++) {
        s->lines[i].heat = s->sampled ? s->lines[i].heat : s->lines[i].ran;
        s->heat += s->lines[i].heat;
        s->most = fmax(s->most, s->lines[i].heat);
    }
    return s->heat > 0;
}

/* Marks those with most; how many are left out. */
static int choose(struct source *s)
{
    int with = 0, shown = 0;
    for (int i = 1; i < s->count; i++)
        with += s->lines[i].heat > 0 || s->lines[i].spills > 0;
    while (shown < LINES_SHOWN && shown < with) {
        int best = 0;
        for (int i = 1; i < s->count; i++)
            if (!s->lines[i].shown && (s->lines[i].heat > 0 || s->lines[i].spills > 0) && (!best || s->lines[i].heat > s->lines[best].heat))
                best = i;
        if (s->lines[best].heat < LINE_SHARE * s->heat && !(s->lines[best].spills > 0))
            break;
        s->lines[best].shown = true;
        shown++;
    }
    return with - shown;
}

/* "12 lanes · 4 sectors a load (1) · 2-way conflict · waits long_scoreboard". */
static void line_facts(const struct source_line *l, struct text *t)
{
    static const char *const sides[] = {"load", "store"};
    char a[NUMBER_TEXT], b[NUMBER_TEXT];
    if (l->ran > 0 && l->lanes > 0 && l->lanes / l->ran < 31.5)
        text_addf(t, "%s lanes", number_short(l->lanes / l->ran, a));
    for (int k = 0; k < SIDES; k++)
        if (l->requests[k] > 0)
            text_addf(t, "%s%s sectors a %s (%s)", t->len ? " · " : "", number_short(l->sectors[k] / l->requests[k], a), sides[k],
                      number_short(l->sectors_ideal[k] / l->requests[k], b));
        else if (l->sectors_ideal[k] > 0)
            text_addf(t, "%s%s x the sectors", t->len ? " · " : "", number_short(l->sectors[k] / l->sectors_ideal[k], a));
    if (l->waves_ideal > 0)
        text_addf(t, "%s%s-way shared", t->len ? " · " : "", number_short(l->waves / l->waves_ideal, a));
    if (l->spills > 0)
        text_addf(t, "%s%s spills", t->len ? " · " : "", number_count(l->spills, a));
    if (l->waits)
        text_addf(t, "%s%s %s %%", t->len ? " · " : "", l->waits->name + strlen(METRIC_SAMPLES),
                  number_percent(l->waits->value / l->heat, a));
}

/* The rules' sentence about a line: behind "file.cu:12  ". */
static const char *said_of(const struct block *said, const char *file, int line)
{
    char *place = text_format("%s:%d  ", file_base(file), line);
    const char *found = NULL;
    for (int i = 0; i < said->item_count && !found; i++)
        if (said->items[i].text && strncmp(said->items[i].text, place, strlen(place)) == 0)
            found = said->items[i].text + strlen(place);
    free(place);
    return found;
}

static void source_row(struct table *t, const struct source *s, int number, const char *text, size_t bytes, const char *said)
{
    const struct source_line *l = &s->lines[number];
    struct text facts = {0};
    char *code = xstrndup(text, bytes);
    line_facts(l, &facts);
    table_row(t, LINE_PLAIN);
    table_cell(t, PAINT_NONE, "%d", number);
    table_bar(t, 100 * l->heat / s->heat);
    table_cell(t, PAINT_NONE, "%s", text_get(&facts));
    table_cell(t, PAINT_NONE, "%s", code[0] ? code : " ");
    if (said)
        table_about(t, said);
    text_free(&facts);
    free(code);
}

static void add_step(struct document *d, const struct row *row, int step, struct source *s, const struct block *said)
{
    struct error err = {0};
    const struct row_step *k = &row->steps[step];
    size_t bytes = 0;
    char *text = file_read(k->file, SOURCE_MAX_BYTES, &bytes, &err);
    int rest = choose(s), number = 1;
    struct table *t = table_new();
    char *title = text_format("Source: %s", file_base(k->file));
    document_heading(d, 4, title, row->step_count > 1 ? k->name : NULL)->detail = DETAIL_FULL;
    t->name = "source";
    table_column(t, "number", "line", ALIGN_RIGHT);
    table_column(t, "heat", s->sampled ? "% of samples" : "% of instructions", ALIGN_RIGHT);
    table_column(t, "facts", "what it does (ideal)", ALIGN_LEFT);
    table_column(t, "source", "source", ALIGN_LEFT);
    const char *p = text ? text : "";
    for (; number < s->count; number++) {
        size_t n = strcspn(p, "\n");
        if (s->lines[number].shown)
            source_row(t, s, number, p, n, said_of(said, k->file, number));
        p += n + (p[n] == '\n');
    }
    document_table(d, t, DETAIL_FULL);
    char *more = text_format("%d further lines take less", rest), *gone = text_format("The source is not here any more: %s", err.text);
    struct block *b = document_prose(d, TONE_SOFT, DETAIL_FULL);
    block_item(b, NULL, NULL, rest ? more : NULL);
    block_item(b, NULL, NULL, text ? NULL : gone);
    free(more);
    free(gone);
    free(title);
    free(text);
}

void row_source(struct document *d, const struct case_view *c, const struct view *v)
{
    struct document said = {0};
    struct block *list = document_list(&said, DETAIL_FULL);
    case_lines(c, v, list);
    for (int step = 0; step < v->row->step_count && !row_is_network(v->row); step++) { /* what is true of its layers stands there */
        struct source s;
        if (gather(v->row, step, &s))
            add_step(d, v->row, step, &s, list);
        free(s.lines);
    }
    document_free(&said);
}
