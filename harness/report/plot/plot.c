/* report/plot/plot: see plot.h. */
#include "report/plot/plot.h"
#include "base/file.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define NAME_CHARS 38
#define NAME_HEAD 10 /* characters before the cut in a longer name: its parameters, which distinguish rows, are at the end */

/* A name as a cell of a data file: one line, no quote, backslash or format sign that gnuplot could read anything into, and short. */
int plot_add_name(struct text *data, const char *s)
{
    int shown = 0, all = 0;
    for (const char *p = s; *p; p++)
        all += ((unsigned char)*p & 0xc0) != 0x80;
    int tail = all > NAME_CHARS ? all - (NAME_CHARS - NAME_HEAD - 1) : 0; /* the last character that is left out */
    text_add(data, "\"");
    for (const char *p = s; *p; p++) {
        unsigned char c = (unsigned char)*p;
        bool first = (c & 0xc0) != 0x80;
        shown += first;
        if (shown > NAME_HEAD && shown <= tail) {
            text_add(data, first && shown == NAME_HEAD + 1 ? "…" : "");
            continue;
        }
        text_add_bytes(data, c == '%' ? "/" : c == '"' || c == '`' ? "'" : c == '\\' ? "/" : c < 32 || c == 127 ? " " : p, 1);
    }
    text_add(data, "\"");
    return all > NAME_CHARS ? NAME_CHARS : all;
}

void plot_add_number(struct text *data, double v)
{
    text_addf(data, isfinite(v) ? "\t%.9g" : "\tNaN", v);
}

void plot_line(struct plot_draft *draft, const char *name)
{
    int wide = plot_add_name(&draft->data, name);
    draft->longest = wide > draft->longest ? wide : draft->longest;
}

void plot_series(struct text *data, const char *name)
{
    text_add(data, data->len ? "\n\n" : "");
    plot_add_name(data, name);
    text_add(data, "\n");
}

void plot_write(struct plots *p, struct plot_draft *draft, const char *format, ...)
{
    struct plot plot = {.case_index = draft->case_index, .small = draft->width < PLOT_WIDTH, .aside = draft->aside};
    SCOPED_TEXT caption = {0};
    TEXT_ADD_ARGUMENTS(&caption, format);
    snprintf(plot.name, sizeof plot.name, "%02d_%.*s", p->count + 1, (int)strcspn(draft->base, "."), draft->base);
    struct text script = {0};
    text_addf(&script, "# gnuplot %s.gp in this folder draws %s.svg\nout = \"%s.svg\"\ndata = \"%s.dat\"\nwidth = %d\nheight = %d\n",
              plot.name, plot.name, plot.name, plot.name, draft->width, draft->height);
    text_add(&script, text_get(&draft->script));
    text_addf(&script, "load \"%s\"\n", draft->base);
    SCOPED char *data = text_format("%s/%s.dat", p->folder, plot.name), *gp = text_format("%s/%s.gp", p->folder, plot.name);
    if (!p->broken.kind && file_write(data, text_get(&draft->data), draft->data.len, &p->broken) &&
        file_write(gp, text_get(&script), script.len, &p->broken)) {
        plot.section = draft->section ? xstrdup(draft->section) : NULL;
        plot.caption = text_take(&caption);
        *APPEND(p->items, p->count) = plot;
    }
    text_free(&script);
    text_free(&draft->data);
    text_free(&draft->script);
}
