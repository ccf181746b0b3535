/* report/form/document: the content of a report, without a form. Pages are lists of blocks; a form (terminal, Markdown, HTML, JSON)
 * writes blocks and knows nothing of cases. To add a form: a .c file with a struct form, and its name in FORMS below. */
#pragma once

#include "report/report.h"

/* ---- tables ---- */

enum align { ALIGN_LEFT, ALIGN_RIGHT, ALIGN_POINT /* aligned at the decimal point */ };
enum paint { PAINT_NONE, PAINT_BOLD, PAINT_DIM, PAINT_GOOD, PAINT_BAD, PAINT_WARN };
/* Which forms show it: all; only brief ones (a terminal, a comment on a change); only complete ones. */
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
    char *note;   /* a small note beside it: half of an interval, an interval, a limit, the ideal; NULL */
    char *about;  /* an explanation, or all digits: a second line, or a tooltip; NULL */
    char *target; /* the anchor of a heading or fold that it links to; NULL */
    double value; /* NaN: none */
};
struct table_column {
    const char *key;     /* one word: "time", "registers" */
    const char *heading; /* with the unit: "time us" */
    enum align align;
    const char *note;  /* the heading of the notes: "[95 %]"; NULL */
    const char *about; /* its definition; NULL */
    const char *ncu;   /* the metrics of Nsight Compute with this value, as `ncu --metrics` takes them; NULL */
    enum detail detail;
    int spare; /* 0: always shown; a narrow terminal leaves out greater ones first; -1: with its note, after the notes of the others */
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
    int next;           /* index of the next cell of the last line */
    bool wide;          /* a column for each variant: all of them equally wide */
    const char *beside; /* a string constant: the title of its source lines, which a form may fold; NULL: none */
    const char *name;   /* a string constant by which tables of two rows are put side by side; NULL */
};
struct table *table_new(void);
void table_free(struct table *t);
/* Add columns before lines: table_column(t, "ratio", "x", ALIGN_POINT, .note = "[95 %]"). Copies the texts; an empty text is none. */
void table_add_column(struct table *t, const struct table_column *column);
#define table_column(t, KEY, HEADING, ALIGN, ...) \
    table_add_column(t, &(struct table_column){.key = KEY, .heading = HEADING, .align = ALIGN, __VA_ARGS__})
/* Several plain ones: table_columns(t, {"row", "row", ALIGN_LEFT}, {"us", "us", ALIGN_POINT}). */
struct table_heading {
    const char *key, *heading;
    enum align align;
};
#define table_columns(t, ...) \
    table_add_columns(t, (const struct table_heading[]){__VA_ARGS__}, \
                      sizeof((const struct table_heading[]){__VA_ARGS__}) / sizeof(struct table_heading))
void table_add_columns(struct table *t, const struct table_heading *headings, size_t count);
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
/* Is the column shown? Not if it is beyond the form's detail or no line has a value; the first two always are. */
bool table_shows(const struct table *t, int column, bool full);
/* Appends the ncu metrics of the shown columns: "issue slots %: smsp__issue_active...; ...". */
void table_ncu(const struct table *t, bool full, struct text *out);

/* ---- blocks ---- */

enum block_kind {
    BLOCK_HEADING, /* level 1 is the report's title, 2 a case's */
    BLOCK_PROSE,   /* items are sentences, one below the other */
    BLOCK_LIST,    /* items are entries of a list */
    BLOCK_TABLE,
    BLOCK_FIGURE,
    BLOCK_CODE,
    BLOCK_FOLD, /* the following blocks, up to its BLOCK_END, are folded under this title */
    BLOCK_END
};
enum tone { TONE_PLAIN, TONE_LEAD, TONE_SOFT, TONE_NOTICE };
/* "why  sparse_tile: says ... (names)": each part may be NULL. */
struct item {
    char *label; /* its label: "why", "infeasible" */
    char *name;  /* its subject */
    char *text;
    char *more; /* a list of names after it, which a narrow form may cut */
    int count;  /* how many names there are */
};
struct block {
    enum block_kind kind;
    enum detail detail;
    enum tone tone;
    int level;                  /* of a heading */
    char *text, *note, *anchor; /* a heading, a fold's title, code; its subtitle; the anchor of links (NULL: none) */
    struct item *items;
    int item_count;
    int columns;         /* of a list: the column where texts begin, after their labels; 0: the form decides */
    struct table *table; /* the block's own */
    char *svg, *caption; /* of a figure; svg NULL: it was not drawn */
    bool small;          /* the figure may be placed beside others */
};
struct document {
    struct block *blocks;
    int count;
    bool brief; /* a run with very many rows: the page explains each name and column once and packs folded parts */
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
/* One with an anchor for links; `note` is a small text beside its title. */
void document_fold_at(struct document *d, const char *anchor, const char *title, const char *note);
void document_end(struct document *d);
/* Appends an item; each part may be NULL. Nothing without a name and a text. */
void block_item(struct block *b, const char *label, const char *name, const char *text);
void block_itemf(struct block *b, const char *label, const char *name, const char *format, ...) __attribute__((format(printf, 4, 5)));
/* With the text so far, which is empty then. */
void block_text(struct block *b, const char *label, const char *name, struct text *text);
void block_names(struct block *b, const char *names, int count); /* after the last item */
/* An item for each line of `lines`, under a heading in complete forms; nothing without lines. Empties `lines`. */
void document_lines(struct document *d, const char *heading, const char *label, struct text *lines);

/* ---- forms ---- */

struct form {
    const char *name;
    bool full; /* shows everything: folded parts, figures, columns of detail */
    void (*write)(struct text *t, const struct document *d, const struct report_style *style);
    /* Writes a whole report with its frame; NULL: `write` does all. */
    bool (*page)(struct text *t, const struct document *d, struct error *err);
};
/* The forms of a report; `bench report` writes the first by default. To add one: its name here, and `struct form form_NAME` in a .c file.
 */
#define FORMS(X) X(markdown) X(html) X(terminal) X(json)
#define FORM_DECLARE(name) extern const struct form form_##name;
FORMS(FORM_DECLARE)
/* bench.document (docs/schema/document.json) as a json_t: what a terminal shows, with explanations of the columns. */
struct json_t;
struct json_t *document_json(const struct document *d);
/* By name ("md", "html"); NULL. `names` of all, for a hint. */
const struct form *form_find(const char *name);
void form_names(struct text *t);
/* The next block that a form shows, from *at on; NULL at the end. Skips empty blocks. */
const struct block *document_next(const struct document *d, int *at, bool full);
/* The separator between an item's name and its text: none after a question. */
const char *item_between(const struct item *item);
