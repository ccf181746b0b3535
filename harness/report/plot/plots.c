/* All plots of a run: made, drawn by gnuplot, and taken into a page as SVG. */
#include "base/file.h"
#include "base/pool.h"
#include "base/process.h"
#include "report/plot/plot.h"
#include "report/limits.h"
#include "report/view/number.h"
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DRAW_LIMIT_S 10.0 /* one plot takes 0.05 s */
#define DRAW_ALL_LIMIT_S 60.0
#define SVG_MAX_BYTES (4 << 20)
#define ROW_HEIGHT 24

static void time_plot(struct plots *p, const struct case_view *c)
{
    struct plot_draft d = {.base = "time.gp", .case_index = c->rows[0]->case_index, .width = PLOT_WIDTH};
    int rows = 0;
    double least = 0.5, most = 2, zero = c->zero && c->zero->ranked ? c->zero->time->median_ns : NAN;
    char number[NUMBER_TEXT];
    for (int i = 0; i < c->count; i++) {
        const struct view *v = &c->views[c->order[i]];
        double x = v->ranked ? zero / v->time->median_ns : NAN;
        if (isnan(x))
            continue;
        const struct row_time *t = v->time;
        x = v->rank == 0 ? 1 : t->ratio > 0 ? t->ratio : x;
        double low = t->ratio_low > 0 ? t->ratio_low : x, high = t->ratio_high > 0 ? t->ratio_high : x;
        int class = v->rank == 0 ? 0 : low > 1 ? 1 : high < 1 ? 2 : 3;
        plot_line(&d, v->name);
        plot_add_number(&d.data, x);
        plot_add_number(&d.data, v->rank == 0 ? 1 : low);
        plot_add_number(&d.data, v->rank == 0 ? 1 : high);
        text_addf(&d.data, "\t%d\t\"x %s\"\t%d\n", class, number_3(x, number), v->rank); /* the number that a roofline has for it */
        least = fmin(least, low);
        most = fmax(most, high);
        rows++;
    }
    double floor_ratio = c->rows[0]->floor_ns > 0 ? zero / c->rows[0]->floor_ns : 0;
    if (rows < 2) {
        text_free(&d.data);
        return;
    }
    most = fmax(most, floor_ratio);
    text_addf(&d.script, "rows = %d\nmargin = %d\nfloor_ratio = %.9g\nleast = %.9g\nmost = %.9g\n", rows, d.longest + 2, floor_ratio,
              least / 1.3, most * 1.3);
    d.height = 76 + ROW_HEIGHT * rows;
    plot_write(p, &d,
               "Speed-up over %s, %s and %s, with 95 %% intervals. Green is faster, orange slower, grey not significant; the number after "
               "a name is its place in the table.",
               c->zero_name, mode_load(c->mode), mode_cache(c->mode));
}

/* Copies one step inside a tag: coordinates keep one decimal, colours are shortened, gnuplot's ids get the plot's number as a prefix,
 * since a page has several plots. Returns the bytes read. */
static size_t copy_in_tag(struct text *t, const char *p, int number)
{
    static const char *const names[] = {" id='", " id=\"", "='#", "=\"#"};
    static const char *const usual[][2] = {{"fill=\"none\" color=\"black\" stroke=\"currentColor\" stroke-width=\"1.00\"", "class=\"g\""},
                                           {"stroke=\"none\" fill=\"black\"", "class=\"t\""}}; /* page.css */
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (strncmp(p, usual[i][0], strlen(usual[i][0])) == 0) {
            text_add(t, usual[i][1]);
            return strlen(usual[i][0]);
        }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(p, names[i], strlen(names[i])) == 0) {
            text_addf(t, "%sp%d-", names[i], number);
            return strlen(names[i]);
        }
    int r, g, b, read = 0;
    if (*p == 'r' && sscanf(p, "rgb(%d,%d,%d)%n", &r, &g, &b, &read) == 3 && read > 0) {
        text_addf(t, "#%02x%02x%02x", r & 255, g & 255, b & 255);
        return (size_t)read;
    }
    size_t digits = *p == '.' ? strspn(p + 1, "0123456789") : 0;
    if (!digits)
        text_add_bytes(t, p, 1);
    else if (p[1] != '0')
        text_add_bytes(t, p, 2);
    return 1 + digits;
}

/* The length of an empty group; 0: it is none. */
static size_t empty_group(const char *p)
{
    const char *end = strncmp(p, "<g", 2) ? NULL : strchr(p, '>');
    end = end ? end + 1 + strspn(end + 1, " \n\t") : NULL;
    return end && !strncmp(end, "</g>", 4) ? (size_t)(end + 4 - p) : 0;
}

/* Is a marker used in the picture, directly or through one that gnuplot builds from it? */
static bool sign_used(const char *picture, const char *sign)
{
    static const char *const made_of[][2] = {{"Pt3", "Pt11"}, {"Pt11", "Pt12"}, {"Pt5", "Pt6"},   {"Pt7", "Pt8"},
                                             {"Pt7", "Pt9"},  {"Pt9", "Pt10"},  {"Pt13", "Pt14"}, {"Pt3", "Pt4"}};
    char use[32];
    snprintf(use, sizeof use, "#gp%s'", sign);
    bool used = strstr(picture, use) != NULL;
    for (size_t i = 0; i < sizeof made_of / sizeof *made_of && !used; i++)
        used = strcmp(made_of[i][0], sign) == 0 && sign_used(picture, made_of[i][1]);
    return used;
}

/* A sign that the picture has no use for: how long its element is; 0: it is none. */
static size_t unused_sign(const char *p, const char *file)
{
    char id[24];
    int read = 0;
    if (sscanf(p, "<%*[a-z] id='gp%16[A-Za-z0-9]'%n", id, &read) != 1 &&
        sscanf(p, "<use xlink:href='#gp%*[A-Za-z0-9]' id='gp%16[A-Za-z0-9]'%n", id, &read) != 1)
        return 0;
    const char *picture = strstr(file, "</defs>"), *end = strstr(p, "/>");
    return read && picture && end && !sign_used(picture, id) ? (size_t)(end + 2 - p) : 0;
}

/* A line of length zero. */
static size_t no_line(const char *p)
{
    int read = 0;
    sscanf(p, "<path stroke='black' d='M%*[0-9.],%*[0-9.] '/>%n", &read);
    return (size_t)read;
}

/* The SVG for embedding: without prolog, name spaces and tooltips, with a text alternative. NULL: it is no SVG. */
static char *inline_svg(const char *file, const struct plot *plot, int number)
{
    static const char *const drop[][2] = {{"<title>", "</title>"},
                                          {"<desc>", "</desc>"},
                                          {"xmlns=\"", "\""},
                                          {"xmlns:xlink=\"", "\""},
                                          {"<!--", "-->"},
                                          {"<filter", "</filter>"},
                                          {" class=\"gridline\"", " "},
                                          {" font-size=\"13.00\"", " "}, /* page.css */
                                          {" stroke-linecap=\"butt\"", "stroke-linejoin=\"miter\""},
                                          {" font-family=\"sans-serif", "\""}}; /* defaults */
    const char *p = strstr(file, "<svg");
    struct text t = {0};
    bool tag = false;
    if (!p || !strstr(p, "</svg>") || strstr(p, "<script") || strstr(p, "<image") || strstr(p, "<foreignObject"))
        return NULL;
    text_add(&t, "<svg role=\"img\" aria-label=\"");
    text_add_html(&t, plot->caption ? plot->caption : plot->name);
    text_add(&t, "\"");
    for (p += strlen("<svg"), tag = true; *p;) {
        bool dropped = false;
        for (size_t i = 0; i < sizeof drop / sizeof drop[0]; i++) {
            size_t n = strlen(drop[i][0]);
            const char *end = strncmp(p, drop[i][0], n) == 0 ? strstr(p + n, drop[i][1]) : NULL;
            if (end) {
                p = end + strlen(drop[i][1]);
                dropped = true;
            }
        }
        size_t empty = *p == '<' ? empty_group(p) + unused_sign(p, file) + no_line(p) : 0;
        p += empty;
        if (dropped || empty)
            continue;
        tag = *p == '<' || (tag && *p != '>');
        if (strspn(p, "\n\t ") > 1)
            p += strspn(p, "\n\t ") - 1;
        if (tag)
            p += copy_in_tag(&t, p, number);
        else
            text_add_bytes(&t, p++, 1);
    }
    return text_take(&t);
}

struct drawing {
    struct plots *p;
    atomic_int failed, late, missing;
};

static void draw(void *context, int64_t i, int thread)
{
    struct drawing *d = context;
    struct plot *plot = &d->p->items[i];
    char script[80];
    size_t bytes;
    struct error ignored;
    if (d->missing)
        return;
    snprintf(script, sizeof script, "%s.gp", plot->name);
    SCOPED char *svg = text_format("%s/%s.svg", d->p->folder, plot->name);
    remove(svg);                                                /* of an earlier run */
    const char *const argv[] = {"gnuplot", "-d", script, NULL}; /* -d: ignore ~/.gnuplot */
    const struct process how = {.folder = d->p->folder, .log = "gnuplot.log", .append = true, .apart = true, .seconds = DRAW_LIMIT_S};
    int code = d->late * DRAW_LIMIT_S < DRAW_ALL_LIMIT_S ? process_run(argv, &how) : PROCESS_LATE;
    d->missing += code == PROCESS_MISSING;
    d->late += code == PROCESS_LATE;
    SCOPED char *file = code == 0 ? file_read(svg, SVG_MAX_BYTES, &bytes, &ignored) : NULL;
    plot->svg = file ? inline_svg(file, plot, (int)i + 1) : NULL;
    d->failed += code > 0 || (code == 0 && !plot->svg);
}

/* Several at a time: each is a process that mostly starts. */
bool plots_draw(struct plots *p, struct error *err)
{
    struct drawing d = {.p = p};
    if (p->broken.kind) {
        *err = p->broken;
        return false;
    }
    pool_for(p->count, 0, draw, &d);
    if (d.missing) {
        p->problem = xstrdup(
            "The plots are not drawn: gnuplot is not installed (Debian: apt install gnuplot-nox). Their data and scripts are in plots/.");
    } else if (d.failed || d.late) {
        p->problem = text_format("%d of %d plots are not drawn: gnuplot %s; see plots/gnuplot.log.", d.failed + d.late, p->count,
                                 d.late ? "took too long" : "failed");
    }
    return true;
}

bool plots_open(struct plots *p, const char *folder, struct error *err)
{
    *p = (struct plots){.folder = xstrdup(folder)};
    SCOPED char *log = file_join(folder, "gnuplot.log");
    bool done = file_make_dirs(folder, err) && plot_files_load(&p->files, folder, err);
    remove(log);
    return done;
}

bool plots_make(struct plots *p, const struct run *run, struct row *const *rows, int count, const char *dir, struct error *err)
{
    SCOPED char *folder = file_join(dir, "plots");
    int cases = 0;
    bool done = plots_open(p, folder, err);
    for (struct case_walk w = {.run = run, .rows = rows, .count = count}; done && case_next(&w);) {
        if (w.view.rows[0]->like_case || cases++ >= SHOWN_CASES)
            continue;
        if (!w.view.counts) {
            time_plot(p, &w.view);
            roofline_plot(p, &w.view);
        }
        case_plots(p, &w.view);
        plot_files_draw(p, run, rows, count, &w.view);
    }
    if (!done)
        return false;
    run_plots(p, run, rows, count);
    break_evens_plot(p, run, rows, count);
    sweeps_make(p, run, rows, count);
    plot_files_draw(p, run, rows, count, NULL);
    if (cases > SHOWN_CASES) {
        free(p->left_out);
        p->left_out =
            text_format("Only the first %d cases have their own plot; %d more cases have none.", SHOWN_CASES, cases - SHOWN_CASES);
    }
    return plots_draw(p, err);
}

void plots_free(struct plots *p)
{
    for (int i = 0; i < p->count; i++)
        FREE_ALL(p->items[i].section, p->items[i].caption, p->items[i].svg);
    plot_files_free(&p->files);
    FREE_ALL(p->folder, p->items, p->problem, p->left_out);
}
