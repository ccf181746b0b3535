/* report/plot/plot_file: plots that a script under plot/ defines completely (plot.h). */
#include "base/file.h"
#include "base/node.h"
#include "report/plot/plot.h"
#include "report/limits.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBERS_MOST 16

struct plot_file {
    char *script; /* "counts.gp" */
    struct node *head;
    bool of_run, verified;
    const char *numbers[NUMBERS_MOST], *section, *caption; /* the head's */
    int count;
    int64_t height, row_height;
};

/* The lines that begin with "#:", each at its line number; false: none. */
static bool read_head(const char *script, struct text *head)
{
    bool any = false;
    for (const char *line = script; *line;) {
        size_t n = strcspn(line, "\n");
        bool own = !strncmp(line, "#:", 2);
        text_add(head, own ? "  " : "");
        text_add_bytes(head, line + 2, own ? n - 2 : 0);
        text_add(head, "\n");
        any = any || own;
        line += n + (line[n] == '\n');
    }
    return any;
}

static bool take_numbers(struct plot_file *f, struct error *err)
{
    const struct node *list = node_get(f->head, "numbers");
    if (!list || list->kind != NODE_LIST || !list->count || list->count > NUMBERS_MOST)
        return node_error(list ? list : f->head, err, "numbers: expected a list of 1 to %d columns", NUMBERS_MOST);
    for (; f->count < list->count; f->count++) {
        const char *name = node_text(list->items[f->count], "numbers", err), *near;
        if (!name)
            return false;
        if (!strchr(name, '.') && !view_has_number(name, &near)) { /* only names of metrics contain a point */
            node_error(list->items[f->count], err, "no column '%.80s' holds numbers", name);
            return error_hint(err, near ? "did you mean '%s'? bench list columns" : "bench list columns", near);
        }
        f->numbers[f->count] = name;
    }
    return true;
}

static bool take_head(struct plot_file *f, struct error *err)
{
    static const char *const keys[] = {"of", "rows", "numbers", "height", "row_height", "section", "caption", NULL};
    static const char *const ofs[] = {"case", "run", NULL}, *const rows[] = {"verified", "compiled", NULL};
    if (!node_check_keys(f->head, "a plot", keys, err))
        return false;
    int of = node_word(node_get(f->head, "of"), "of", ofs, err),
        which = of < 0 ? -1 : node_word(node_get(f->head, "rows"), "rows", rows, err);
    f->of_run = of == 1;
    f->verified = which == 0;
    return which >= 0 && take_numbers(f, err) && node_int(node_get(f->head, "height"), "height", 40, 2000, &f->height, err) &&
           node_int(node_get(f->head, "row_height"), "row_height", 0, 200, &f->row_height, err) &&
           (!f->of_run || (f->section = node_text(node_get(f->head, "section"), "section", err))) &&
           (f->caption = node_text(node_get(f->head, "caption"), "caption", err));
}

static bool add_script(struct plot_files *files, const char *from, const char *dir, struct error *err)
{
    size_t bytes;
    SCOPED_TEXT head = {0};
    SCOPED char *script = file_read(from, 1 << 20, &bytes, err), *to = file_join(dir, file_base(from));
    bool done = script && file_write(to, script, bytes, err);
    if (done && read_head(script, &head)) {
        struct plot_file *f = APPEND(files->items, files->count);
        *f = (struct plot_file){.script = xstrdup(file_base(from)), .head = node_parse_text(from, text_get(&head), head.len, 1, 1, err)};
        done = f->head && take_head(f, err);
    }
    return done;
}

bool plot_files_load(struct plot_files *files, const char *dir, struct error *err)
{
    SCOPED char *folder = file_share("plot"), **names = NULL;
    int count = file_list(folder, ".gp", &names, err);
    bool done = count >= 0;
    *files = (struct plot_files){0};
    for (int i = 0; i < count; i++) {
        SCOPED char *from = file_join(folder, names[i]);
        done = done && add_script(files, from, dir, err);
    }
    return done;
}

void plot_files_free(struct plot_files *files)
{
    for (int i = 0; i < files->count; i++) {
        free(files->items[i].script);
        node_free(files->items[i].head);
    }
    free(files->items);
    *files = (struct plot_files){0};
}

/* A line of the data; lines with one name and different numbers also name the case. */
struct line {
    char name[192], where[96];
    double numbers[NUMBERS_MOST];
    bool several;
};
struct lines {
    struct line *items;
    int count, more; /* that found no room */
};

static bool same_numbers(const struct line *a, const struct line *b, int count)
{
    return ALL_OF(i, count, a->numbers[i] == b->numbers[i] || (isnan(a->numbers[i]) && isnan(b->numbers[i])));
}

/* In a run's plot, equal lines (the same machine code in another case) appear once. */
static void add_line(struct lines *lines, const struct plot_file *f, const struct line *line)
{
    bool known = false, several = false;
    for (int i = 0; i < lines->count && f->of_run; i++) {
        bool named = !strcmp(lines->items[i].name, line->name);
        known = known || (named && same_numbers(&lines->items[i], line, f->count));
        several = several || named;
    }
    if (known)
        return;
    if (lines->count == SHOWN_PLOT_LINES) {
        lines->more++;
        return;
    }
    *APPEND(lines->items, lines->count) = *line;
    for (int i = 0; several && i < lines->count; i++)
        lines->items[i].several = lines->items[i].several || !strcmp(lines->items[i].name, line->name);
}

static void add_case(struct lines *lines, const struct plot_file *f, const struct case_view *c)
{
    for (int i = 0; i < c->count; i++) {
        const struct view *v = &c->views[i];
        struct line line = {.several = false};
        bool any = false;
        for (int k = 0; k < f->count; k++) {
            line.numbers[k] = view_number(v, f->numbers[k]);
            any = any || !isnan(line.numbers[k]);
        }
        memcpy(line.name, v->name, sizeof line.name);
        snprintf(line.where, sizeof line.where, "%.95s", case_short(v->row));
        if (any && (f->verified ? v->row->status == ROW_OK : v->row->status != ROW_INFEASIBLE))
            add_line(lines, f, &line);
    }
}

/* The maximum of each column, for the axes: most_spill_store_bytes. */
static void add_most(struct text *script, const struct plot_file *f, const struct lines *lines)
{
    for (int k = 0; k < f->count; k++) {
        double most = 0;
        for (int i = 0; i < lines->count; i++)
            most = fmax(most, lines->items[i].numbers[k]); /* NaN gives way */
        SCOPED char *name = xstrdup(f->numbers[k]);
        for (char *c = name; *c; c++)
            *c = *c == '.' ? '_' : *c;
        text_addf(script, "most_%s = %.9g\n", name, most);
    }
}

static void write_lines(struct plots *p, const struct plot_file *f, struct lines *lines, int case_index)
{
    struct plot_draft d = {.base = f->script, .section = f->section, .case_index = case_index, .width = PLOT_WIDTH};
    for (int i = 0; i < lines->count; i++) {
        const struct line *l = &lines->items[i];
        SCOPED char *label = l->several ? text_format("%s, %s", l->name, l->where) : xstrdup(l->name);
        plot_line(&d, label);
        for (int k = 0; k < f->count; k++)
            plot_add_number(&d.data, l->numbers[k]);
        text_add(&d.data, "\n");
    }
    text_addf(&d.script, "rows = %d\nmargin = %d\n", lines->count, d.longest + 2);
    add_most(&d.script, f, lines);
    d.height = (int)(f->height + f->row_height * lines->count);
    SCOPED char *more = lines->more ? text_format(" %d more are in the tables.", lines->more) : xstrdup("");
    plot_write(p, &d, "%s%s", f->caption, more);
}

void plot_files_draw(struct plots *p, const struct run *run, struct row *const *rows, int count, const struct case_view *c)
{
    for (int i = 0; i < p->files.count; i++) {
        const struct plot_file *f = &p->files.items[i];
        struct lines lines = {0};
        if (f->of_run == (c != NULL))
            continue;
        if (c)
            add_case(&lines, f, c);
        for (struct case_walk w = {.run = run, .rows = rows, .count = count}; !c && case_next(&w);)
            add_case(&lines, f, &w.view);
        if (lines.count > f->of_run)
            write_lines(p, f, &lines, c ? c->rows[0]->case_index : -1);
        free(lines.items);
    }
}
