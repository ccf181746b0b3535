/* report/plot: see plot.h. */
#include "report/plot.h"
#include "base/file.h"
#include "report/number.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DRAW_LIMIT_S 10.0 /* one plot takes 0.05 s */
#define DRAW_ALL_LIMIT_S 60.0
#define CASES_DRAWN 24 /* beyond, the tables say it better than another hundred pictures */
#define FACTS_DRAWN 40
#define SVG_MAX_BYTES (4 << 20)
#define WIDTH 620
#define ROW_HEIGHT 24
#define NAME_CHARS 34

/* A name as a cell of a data file: one line, no quote, backslash or format sign that gnuplot could read anything into, and short. */
void plot_add_name(struct text *data, const char *s)
{
    int shown = 0, all = 0;
    for (const char *p = s; *p; p++)
        all += ((unsigned char)*p & 0xc0) != 0x80;
    text_add(data, "\"");
    for (const char *p = s; *p; p++) {
        unsigned char c = (unsigned char)*p;
        bool first = (c & 0xc0) != 0x80;
        shown += first;
        if (all > NAME_CHARS && shown >= NAME_CHARS) {
            if (first)
                text_add(data, "…");
            break;
        }
        text_add_bytes(data, c == '%' ? "/" : c == '"' || c == '`' ? "'" : c == '\\' ? "/" : c < 32 || c == 127 ? " " : p, 1);
    }
    text_add(data, "\"");
}

/* Characters for the labels at the left. */
static int margin_for(int longest)
{
    return longest > NAME_CHARS ? NAME_CHARS + 2 : longest + 2;
}

static int name_chars(const char *s)
{
    int n = 0;
    for (; *s; s++)
        n += ((unsigned char)*s & 0xc0) != 0x80;
    return n;
}

static void add_number(struct text *data, double v)
{
    text_addf(data, isfinite(v) ? "\t%.9g" : "\tNaN", v);
}

bool plot_write(struct plots *p, struct plot_draft *draft, enum plot_kind kind, int case_index, char *caption, const char *dir,
                struct error *err)
{
    static const char *const kinds[] = {"time", "counts", "sweep", "facts", "break_even", "roofline"};
    struct plot plot = {.kind = kind, .case_index = case_index, .caption = caption};
    snprintf(plot.name, sizeof plot.name, "%02d_%s", p->count + 1, kinds[kind]);
    struct text script = {0};
    text_addf(&script, "# gnuplot %s.gp in this folder draws %s.svg\nout = \"%s.svg\"\ndata = \"%s.dat\"\nwidth = %d\nheight = %d\n",
              plot.name, plot.name, plot.name, plot.name, draft->width, draft->height);
    text_add(&script, text_get(&draft->script));
    text_addf(&script, "load \"%s\"\n", draft->base);
    char *data = text_format("%s/%s.dat", dir, plot.name), *gp = text_format("%s/%s.gp", dir, plot.name);
    bool done = file_write(data, text_get(&draft->data), draft->data.len, err) && file_write(gp, text_get(&script), script.len, err);
    free(data);
    free(gp);
    text_free(&script);
    text_free(&draft->data);
    text_free(&draft->script);
    if (!done) {
        free(caption);
        return false;
    }
    *APPEND(p->items, p->count) = plot;
    return true;
}

/* ---- what is drawn ---- */

static bool time_plot(struct plots *p, const struct case_view *c, const char *dir, struct error *err)
{
    struct plot_draft d = {.base = "time.gp", .width = WIDTH};
    int rows = 0, longest = 0;
    double least = 0.5, most = 2, zero = c->zero && c->zero->ranked ? c->zero->time->median_ns : NAN;
    char number[NUMBER_TEXT];
    for (int i = 0; i < c->count; i++) {
        const struct view *v = &c->views[c->order[i]];
        double x = v->ranked ? v->time->median_ns / zero : NAN;
        if (isnan(x))
            continue;
        const struct row_time *t = v->time;
        double low = t->ratio_high > 0 ? 1 / t->ratio_high : x, high = t->ratio_low > 0 ? 1 / t->ratio_low : x;
        int class = v->rank == 0 ? 0 : high < 1 ? 1 : low > 1 ? 2 : 3;
        plot_add_name(&d.data, v->name);
        add_number(&d.data, x);
        add_number(&d.data, v->rank == 0 ? 1 : low);
        add_number(&d.data, v->rank == 0 ? 1 : high);
        text_addf(&d.data, "\t%d\t\"x %s\"\n", class, number_3(t->ratio > 0 ? t->ratio : 1 / x, number));
        longest = name_chars(v->name) > longest ? name_chars(v->name) : longest;
        least = fmin(least, low);
        most = fmax(most, high);
        rows++;
    }
    double floor_ratio = c->rows[0]->floor_ns > 0 ? c->rows[0]->floor_ns / zero : 0;
    if (rows < 2) {
        text_free(&d.data);
        return true;
    }
    least = floor_ratio > 0 ? fmin(least, floor_ratio) : least;
    text_addf(&d.script, "rows = %d\nmargin = %d\nfloor_ratio = %.9g\nleast = %.9g\nmost = %.9g\n", rows, margin_for(longest), floor_ratio,
              least / 1.3, most * 1.6);
    d.height = 70 + ROW_HEIGHT * rows;
    return plot_write(
        p, &d, PLOT_TIME, c->rows[0]->case_index,
        text_format("Time over %s's, %s and %s, with 95 %% intervals. Green is faster, orange slower, grey too close to tell.",
                    c->zero_name, c->load, c->cache),
        dir, err);
}

static bool counts_plot(struct plots *p, const struct case_view *c, const char *dir, struct error *err)
{
    struct plot_draft d = {.base = "counts.gp", .width = WIDTH};
    int rows = 0, longest = 0;
    double most_moved = 1.2, most_sectors = 8;
    for (int i = 0; i < c->count; i++) {
        const struct view *v = &c->views[i];
        if (v->row->status != ROW_OK || (isnan(v->moved_over_compulsory) && isnan(v->sectors_request[SIDE_STORE])))
            continue;
        plot_add_name(&d.data, v->name);
        add_number(&d.data, v->moved_over_compulsory);
        add_number(&d.data, v->sectors_request[SIDE_STORE]);
        add_number(&d.data, v->sectors_ideal[SIDE_STORE]);
        add_number(&d.data, v->sectors_request[SIDE_LOAD]);
        add_number(&d.data, v->sectors_ideal[SIDE_LOAD]);
        text_add(&d.data, "\n");
        longest = name_chars(v->name) > longest ? name_chars(v->name) : longest;
        most_moved = fmax(most_moved, v->moved_over_compulsory);
        most_sectors = fmax(most_sectors, fmax(v->sectors_request[SIDE_STORE], v->sectors_request[SIDE_LOAD]));
        rows++;
    }
    if (rows < 1) {
        text_free(&d.data);
        return true;
    }
    text_addf(&d.script, "rows = %d\nmargin = %d\nmost_moved = %.9g\nmost_sectors = %.9g\n", rows, margin_for(longest), most_moved * 1.05,
              ceil(most_sectors / 8) * 8);
    d.height = 92 + (ROW_HEIGHT + 8) * rows;
    return plot_write(p, &d, PLOT_COUNTS, c->rows[0]->case_index,
                      xstrdup("What moved: bytes through 32-byte sectors over the bytes that must move (1 is the least), and sectors that "
                              "one warp-wide store or load "
                              "touches; the thin tick is what its bytes need."),
                      dir, err);
}

/* One machine code of one variant: its case is named where the variant has several. */
struct code_facts {
    char name[192], where[96];
    const struct row_step *step;
    bool several;
};

/* A library's kernels are not ours to compile; beside one of them our own step is not what the row is about. */
static bool is_own_code(const struct view *v)
{
    bool own = v->step >= 0 && v->row->status != ROW_INFEASIBLE;
    for (int i = 0; i < v->row->step_count; i++)
        own &= v->row->steps[i].prepare || (strcmp(v->row->steps[i].kind, "cudnn") && strcmp(v->row->steps[i].kind, "call"));
    return own;
}

/* The same machine code is taken once, however many cases it ran. Returns how many did not fit. */
static int collect_facts(const struct case_view *c, struct code_facts *out, int *count)
{
    int more = 0;
    for (int k = 0; k < c->count; k++) {
        const struct view *v = &c->views[k];
        if (!is_own_code(v))
            continue;
        const struct row_step *s = &v->row->steps[v->step];
        bool known = false, several = false;
        for (int j = 0; j < *count; j++) {
            const struct row_step *o = out[j].step;
            bool named = !strcmp(out[j].name, v->name);
            known |= named && o->registers == s->registers && o->spill_store_bytes == s->spill_store_bytes &&
                     fabs(o->occupancy - s->occupancy) < 5e-4;
            several |= named;
        }
        if (known || *count == FACTS_DRAWN) {
            more += !known;
            continue;
        }
        for (int j = 0; j < *count; j++)
            out[j].several |= several && !strcmp(out[j].name, v->name);
        struct code_facts *f = &out[(*count)++];
        *f = (struct code_facts){.step = s, .several = several};
        memcpy(f->name, v->name, sizeof f->name);
        const char *id = v->row->case_id ? v->row->case_id : "", *slash = strchr(id, '/');
        snprintf(f->where, sizeof f->where, "%.95s", slash ? slash + 1 : id);
    }
    return more;
}

static bool facts_plot(struct plots *p, const struct run *run, struct row *const *rows, int count, const char *dir, struct error *err)
{
    struct plot_draft d = {.base = "facts.gp", .width = WIDTH};
    struct code_facts *facts = xcalloc(FACTS_DRAWN, sizeof *facts);
    int shown = 0, more = 0, longest = 0;
    double most_spill = 0;
    for (struct case_walk w = {.run = run, .rows = rows, .count = count}; case_next(&w);)
        more += collect_facts(&w.view, facts, &shown);
    for (int i = 0; i < shown; i++) {
        const struct row_step *s = facts[i].step;
        char *label = facts[i].several ? text_format("%s, %s", facts[i].name, facts[i].where) : xstrdup(facts[i].name);
        plot_add_name(&d.data, label);
        add_number(&d.data, s->registers);
        add_number(&d.data, s->spill_store_bytes >= 0 ? s->spill_store_bytes : NAN);
        add_number(&d.data, s->occupancy >= 0 ? s->occupancy * 100 : NAN);
        text_add(&d.data, "\n");
        longest = name_chars(label) > longest ? name_chars(label) : longest;
        most_spill = fmax(most_spill, s->spill_store_bytes);
        free(label);
    }
    free(facts);
    if (shown < 2) {
        text_free(&d.data);
        return true;
    }
    text_addf(&d.script, "rows = %d\nmargin = %d\nmost_spill = %.9g\n", shown, margin_for(longest),
              most_spill > 0 ? pow(2, ceil(log2(fmax(most_spill, 16)))) : 0);
    d.height = 60 + ROW_HEIGHT * shown;
    char rest[64] = "";
    if (more)
        snprintf(rest, sizeof rest, " %d more are in the tables.", more);
    return plot_write(p, &d, PLOT_FACTS, -1,
                      text_format("What the compiler made of the longest step of each variant of ours: registers and spilled bytes a "
                                  "thread, theoretical occupancy. "
                                  "Where a variant has several codes, the case stands behind it.%s%s",
                                  most_spill > 0 ? "" : " Nothing spills.", rest),
                      dir, err);
}

/* ---- drawing ---- */

/* The SVG without what only a file of its own needs: prolog, name spaces, titles that would pop up. NULL when it is not one. */
static char *inline_svg(const char *file)
{
    static const char *const drop[][2] = {
        {"<title>", "</title>"}, {"<desc>", "</desc>"}, {"xmlns=\"", "\""}, {"xmlns:xlink=\"", "\""}, {"<!--", "-->"}};
    const char *p = strstr(file, "<svg");
    struct text t = {0};
    if (!p || !strstr(p, "</svg>") || strstr(p, "<script") || strstr(p, "<image") || strstr(p, "<foreignObject"))
        return NULL;
    while (*p) {
        bool dropped = false;
        for (size_t i = 0; i < sizeof drop / sizeof drop[0]; i++) {
            size_t n = strlen(drop[i][0]);
            const char *end = strncmp(p, drop[i][0], n) == 0 ? strstr(p + n, drop[i][1]) : NULL;
            if (end) {
                p = end + strlen(drop[i][1]);
                dropped = true;
            }
        }
        if (!dropped)
            text_add_bytes(&t, p++, 1);
    }
    return text_take(&t);
}

static void draw(struct plots *p, const char *dir)
{
    double left = DRAW_ALL_LIMIT_S;
    int failed = 0, late = 0, missing = 0;
    for (int i = 0; i < p->count && !missing; i++) {
        char script[80];
        size_t bytes;
        struct error ignored;
        snprintf(script, sizeof script, "%s.gp", p->items[i].name);
        char *svg = text_format("%s/%s.svg", dir, p->items[i].name);
        remove(svg);                                                /* of an earlier run */
        const char *const argv[] = {"gnuplot", "-d", script, NULL}; /* -d: nobody's ~/.gnuplot changes a report */
        int code = left > 0 ? child_run(argv, dir, "gnuplot.log", DRAW_LIMIT_S) : 3;
        missing += code == 2;
        late += code == 3;
        left -= code == 3 ? DRAW_LIMIT_S : 0;
        char *file = code == 0 ? file_read(svg, SVG_MAX_BYTES, &bytes, &ignored) : NULL;
        p->items[i].svg = file ? inline_svg(file) : NULL;
        failed += code == 1 || (code == 0 && !p->items[i].svg);
        free(file);
        free(svg);
    }
    if (missing) {
        p->problem = xstrdup(
            "The plots are not drawn: gnuplot is not installed (Debian: apt install gnuplot-nox). Their data and scripts are in plots/.");
    } else if (failed || late) {
        p->problem = text_format("%d of %d plots are not drawn: gnuplot %s; see plots/gnuplot.log.", failed + late, p->count,
                                 late ? "took too long" : "failed");
    }
}

/* The scripts that draw, and the style, beside the data: the folder is complete without this installation. */
static bool copy_scripts(const char *dir, struct error *err)
{
    static const char *const names[] = {"style.gp", "time.gp", "counts.gp", "sweep.gp", "facts.gp", "break_even.gp", "roofline.gp"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t bytes;
        char *relative = text_format("plot/%s", names[i]), *from = file_share(relative), *to = text_format("%s/%s", dir, names[i]);
        char *script = file_read(from, 1 << 20, &bytes, err);
        bool done = script && file_write(to, script, bytes, err);
        free(script);
        free(relative);
        free(from);
        free(to);
        if (!done)
            return false;
    }
    return true;
}

bool plots_make(struct plots *p, const struct run *run, struct row *const *rows, int count, const char *dir, struct error *err)
{
    *p = (struct plots){0};
    char *folder = text_format("%s/plots", dir), *log = text_format("%s/gnuplot.log", folder);
    int cases = 0, left_out = 0;
    bool done = file_make_dirs(folder, err) && copy_scripts(folder, err);
    remove(log);
    for (int i = 0, end; i < count && done; i = end) {
        struct case_view c;
        end = case_end(rows, count, i);
        if (cases++ >= CASES_DRAWN) {
            left_out++;
            continue;
        }
        case_view_make(&c, run, rows + i, end - i);
        done = c.counts ? counts_plot(p, &c, folder, err) : time_plot(p, &c, folder, err) && roofline_plot(p, &c, folder, err);
        case_view_free(&c);
    }
    done = done && break_evens_plot(p, run, rows, count, folder, err) && sweeps_make(p, run, rows, count, folder, err) &&
           facts_plot(p, run, rows, count, folder, err);
    if (left_out)
        p->left_out = text_format("The first %d cases have a plot of their own; the other %d do not.", CASES_DRAWN, left_out);
    if (done)
        draw(p, folder);
    free(folder);
    free(log);
    return done;
}

void plots_free(struct plots *p)
{
    for (int i = 0; i < p->count; i++) {
        free(p->items[i].caption);
        free(p->items[i].svg);
    }
    free(p->items);
    free(p->problem);
    free(p->left_out);
}
