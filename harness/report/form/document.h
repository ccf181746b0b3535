/* report/form/document: what a report says, before it has a form. A case, a run, a network become a list of blocks; a form (terminal,
 * Markdown, HTML) writes blocks and knows nothing of cases. To add a form: one .c file with a struct form, and its line in document.c's
 * table. */
#ifndef BENCH_REPORT_DOCUMENT_H
#define BENCH_REPORT_DOCUMENT_H

#include "report/report.h"

/* ---- tables ---- */

enum align { ALIGN_LEFT, ALIGN_RIGHT, ALIGN_POINT /* decimal points below each other */ };
enum paint { PAINT_NONE, PAINT_BOLD, PAINT_DIM, PAINT_GOOD, PAINT_BAD, PAINT_WARN };
/* Which forms show it: all; only those that are read at a glance (a terminal, a comment under a change); only those that show everything.
 */
enum detail { DETAIL_ALWAYS, DETAIL_BRIEF, DETAIL_FULL };

enum cell_kind {
    CELL_ABSENT,
    CELL_TEXT,
    CELL_NUMBER, /* sorts by its value */
    CELL_BAR,    /* a number of per cent, with a bar of that length where a form can draw one */
    CELL_REST    /* a sentence over this and all further columns; it takes no part in the widths */
};
struct cell {
    enum cell_kind kind;
    enum paint paint;
    char *text;   /* as it is shown */
    char *note;   /* what stands small beside it: half of an interval, an interval, a limit, the ideal; NULL */
    char *about;  /* what it is, or all of its digits: a second line, or shown when pointed at; NULL */
    char *target; /* the anchor of a heading or fold that it links to; NULL */
    double value; /* NaN: none */
};
struct table_column {
    const char *key;     /* one word: "time", "registers" */
    const char *heading; /* with the unit: "time us" */
    enum align align;
    const char *note;  /* the heading of the notes: "[95 %]"; NULL */
    const char *about; /* its definition; NULL */
    const char *ncu;   /* the metrics of Nsight Compute that tell it, as `ncu --metrics` takes them; NULL */
    enum detail detail;
    int spare; /* 0: it always stands; the greater, the sooner a narrow terminal leaves it out */
};
enum line_kind {
    LINE_PLAIN,
    LINE_BASELINE,
    LINE_STEP,
    LINE_FAILED,
    LINE_SKIPPED,
    LINE_CODE /* of the plain line before it */
};
struct table {
    struct table_column *columns;
    int column_count;
    struct cell *cells; /* line by line, each of column_count */
    enum line_kind *lines;
    int line_count;
    int next;           /* the cell of the last line that comes next */
    bool wide;          /* a column for each variant: all of them equally wide */
    const char *beside; /* a constant: what its lines of code are, which a form may show beside their plain line; NULL: it has none */
    const char *name;   /* a constant: what tables of two rows are held beside each other by; NULL */
};
struct table *table_new(void);
void table_free(struct table *t);
/* Columns come before lines: table_column(t, "ratio", "x", ALIGN_POINT, .note = "[95 %]"). Texts are copied; an empty one is none. */
void table_add_column(struct table *t, const struct table_column *column);
#define table_column(t, KEY, HEADING, ALIGN, ...) \
    table_add_column(t, &(struct table_column){.key = KEY, .heading = HEADING, .align = ALIGN, __VA_ARGS__})
void table_row(struct table *t, enum line_kind kind);
/* The next cell of the line; an empty text is absent. */
void table_cell(struct table *t, enum paint paint, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Absent where the value is NaN, whatever the text. */
void table_number(struct table *t, enum paint paint, double value, const char *text);
void table_bar(struct table *t, double percent);
void table_absent(struct table *t, int cells);
void table_rest(struct table *t, enum paint paint, const char *text);
/* Of the cell that was made last. */
void table_note(struct table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void table_about(struct table *t, const char *about);
void table_target(struct table *t, const char *anchor);
/* The cell of a line and column. */
const struct cell *table_at(const struct table *t, int line, int column);
/* Is the column shown? Not where it is beyond the form's detail, or where no line has a value; the first two always stand. */
bool table_shows(const struct table *t, int column, bool full);
/* "issue slots %: smsp__issue_active...": the shown columns that have such metrics, joined by semicolons, appended. */
void table_ncu(const struct table *t, bool full, struct text *out);

/* ---- blocks ---- */

enum block_kind {
    BLOCK_HEADING, /* level 1 is the report's title, 2 a case's */
    BLOCK_PROSE,   /* items are sentences, one below the other */
    BLOCK_LIST,    /* items are entries of a list */
    BLOCK_TABLE,
    BLOCK_FIGURE,
    BLOCK_CODE,
    BLOCK_FOLD, /* what follows, up to its BLOCK_END, is folded away under this title */
    BLOCK_END
};
enum tone { TONE_PLAIN, TONE_LEAD, TONE_SOFT, TONE_NOTICE };
/* "why  sparse_tile: says ... (names)": any part may be NULL. */
struct item {
    char *label; /* the kind of thing it is: "why", "infeasible" */
    char *name;  /* whom it is about */
    char *text;
    char *more; /* a list of names behind it, which a narrow form may cut */
    int count;  /* how many names there are */
};
struct block {
    enum block_kind kind;
    enum detail detail;
    enum tone tone;
    int level;                  /* of a heading */
    char *text, *note, *anchor; /* a heading, a fold's title, code; its subtitle; what a link names: NULL, there is none */
    struct item *items;
    int item_count;
    int columns;         /* of a list: where the texts begin behind their labels; 0: as the form has it */
    struct table *table; /* the block's own */
    char *svg, *caption; /* of a figure; svg NULL: it was not drawn */
    bool small;          /* the figure may stand beside others */
};
struct document {
    struct block *blocks;
    int count;
    bool brief; /* of so many rows that a page says once what a name or a column is, and packs even what a row's page begins with */
};
void document_free(struct document *d);
/* Appends a block; it stays where it is until the next one is added. */
struct block *document_heading(struct document *d, int level, const char *text, const char *note);
struct block *document_prose(struct document *d, enum tone tone, enum detail detail);
struct block *document_list(struct document *d, enum detail detail);
struct block *document_table(struct document *d, struct table *table, enum detail detail); /* takes the table */
struct block *document_figure(struct document *d, const char *svg, const char *caption, bool small);
struct block *document_code(struct document *d, const char *text, enum detail detail);
void document_fold(struct document *d, const char *title); /* of a form with all details */
/* One that links name; `note` stands small beside its title. */
void document_fold_at(struct document *d, const char *anchor, const char *title, const char *note);
void document_end(struct document *d);
/* Appends an item; each may be NULL. Without a name and a text there is none. */
void block_item(struct block *b, const char *label, const char *name, const char *text);
void block_itemf(struct block *b, const char *label, const char *name, const char *format, ...) __attribute__((format(printf, 4, 5)));
/* With the text so far, which is empty then. */
void block_text(struct block *b, const char *label, const char *name, struct text *text);
void block_names(struct block *b, const char *names, int count); /* behind the last item */
/* An item for each line of `lines`, under a heading of its own where everything is shown; nothing when there are none. Empties the lines.
 */
void document_lines(struct document *d, const char *heading, const char *label, struct text *lines);

/* ---- forms ---- */

struct form {
    const char *name;
    bool full; /* shows everything: folded parts, figures, columns of detail */
    void (*write)(struct text *t, const struct document *d, const struct report_style *style);
    /* A whole report with what stands around it; NULL: nothing does, and `write` writes it. */
    bool (*page)(struct text *t, const struct document *d, struct error *err);
};
/* The forms of a report; the first is what `bench report` writes unless told otherwise. To add one: its name here and a `struct form
 * form_NAME` in a .c of its own. */
#define FORMS(X) X(markdown) X(html) X(terminal) X(json)
#define FORM_DECLARE(name) extern const struct form form_##name;
FORMS(FORM_DECLARE)
/* bench.document (docs/schema/document.json): what a terminal shows, and what its columns mean, as a json_t. */
struct json_t;
struct json_t *document_json(const struct document *d);
/* By name ("md", "html"); NULL. `names` of all, for a hint. */
const struct form *form_find(const char *name);
void form_names(struct text *t);
/* The next block that a form shows, beginning with *at; NULL behind the last. Blocks without anything in them are passed over. */
const struct block *document_next(const struct document *d, int *at, bool full);
/* What stands between an item's name and its text: a question is followed by its answer. */
const char *item_between(const struct item *item);

#endif
