/* store/row: one row: everything known of one variant, in one configuration, on one case and device.
 *
 * The row owns its strings (malloc'd; NULL or "" = absent). Each number's comment says which value means absent. */
#pragma once

#include "base/hash.h"
#include "base/mode.h"
#include "base/error.h"
#include <stdbool.h>
#include <stdint.h>

/* The column `op` of a sequence of frames: it has no op of its own, its layers have. */
#define ROW_SEQUENCE "sequence"

/* In the order of a run; a row has exactly one. OK and FOIL rows may have a time that is shown; only OK ones, and the baseline, are ranked.
 */
enum row_status {
    ROW_PLANNED,    /* not run yet (an interrupted run) */
    ROW_OK,         /* verified */
    ROW_FOIL,       /* a control (the baseline `copy`): it does not compute the op, so there is nothing to verify */
    ROW_WRONG,      /* verification failed; reason = the verdict's sentence */
    ROW_UNSAFE,     /* right, but wrote outside a buffer, changed an input, or emu reported a safety error */
    ROW_STATEFUL,   /* right, but a launch changed module memory that its code refers to: it may keep results from launch to launch */
    ROW_IMPOSSIBLE, /* right, but faster than any known algorithm can be on this chip */
    ROW_CRASHED,    /* trap, illegal address, worker died */
    ROW_HUNG,       /* watchdog */
    ROW_BROKEN,     /* does not compile, or its head cannot be bound */
    ROW_INFEASIBLE, /* the clause and both values */
    ROW_SKIPPED,    /* not on this device, or a limit of the run */
    ROW_STATUS_COUNT
};
/* The word that is stored and shown: the constant's name in lower case. */
const char *row_status_name(enum row_status s);
enum row_status row_status_parse(const char *name);
/* Was its kernel tried and found at fault? Exit code 4. */
bool row_status_failed(enum row_status s);

/* The C declaration of a field of each type (fields.def). */
#define ROW_TYPE_TEXT char *
#define ROW_TYPE_NAME char *
#define ROW_TYPE_CHARS(size) __typeof__(char[size])
#define ROW_TYPE_INT int
#define ROW_TYPE_INT_NEG int
#define ROW_TYPE_INT64 int64_t
#define ROW_TYPE_INT64_NEG int64_t
#define ROW_TYPE_UINT64 uint64_t
#define ROW_TYPE_BOOL bool
#define ROW_TYPE_REAL double
#define ROW_TYPE_REAL_NEG double
#define ROW_TYPE_REAL_ZERO double
#define ROW_TYPE_REALS double *
#define ROW_TYPE_STATUS enum row_status
#define ROW_MEMBER(type, member, ...) ROW_TYPE_##type member;

/* A number with a name: emu.*, static.*, hw.*, a variant's own column. step -1 = the whole row. line 0 = no source line. */
struct row_metric {
#define METRIC(...) ROW_MEMBER(__VA_ARGS__)
#include "store/fields.def"
};
/* One launch of the row. */
struct row_step {
    int64_t grid[3], block[3]; /* -1 = not known */
#define STEP(...) ROW_MEMBER(__VA_ARGS__)
#include "store/fields.def"
};
/* A time in one mode. step -1 = the row. */
struct row_time {
#define TIME(...) ROW_MEMBER(__VA_ARGS__)
#include "store/fields.def"
};
/* An axis, or a parameter. */
struct row_pair {
#define AXIS(...) ROW_MEMBER(__VA_ARGS__)
#include "store/fields.def"
};
/* A network that the layer is in. */
struct row_network {
#define NETWORK(...) ROW_MEMBER(__VA_ARGS__)
#include "store/fields.def"
};
/* One of the variants that a row consists of. */
struct row_part {
#define PART(...) ROW_MEMBER(__VA_ARGS__)
#include "store/fields.def"
};
/* A warning of the row. */
struct row_note {
#define NOTE(...) ROW_MEMBER(__VA_ARGS__)
#include "store/fields.def"
};
/* A plan of cuDNN's that was tried. */
struct row_plan {
#define PLAN(...) ROW_MEMBER(__VA_ARGS__)
#include "store/fields.def"
};
/* A kernel that one run launched, as CUPTI saw it. */
struct row_launch {
    int64_t grid[3], block[3]; /* -1 = not known */
#define LAUNCH(...) ROW_MEMBER(__VA_ARGS__)
#include "store/fields.def"
};
/* One of the most executed instructions of a kernel; counts are NaN if not counted. */
struct row_code {
#define CODE(...) ROW_MEMBER(__VA_ARGS__)
#include "store/fields.def"
};
struct row {
#define CASE(...) ROW_MEMBER(__VA_ARGS__)
#define RESULT(...) ROW_MEMBER(__VA_ARGS__)
#include "store/fields.def"
    struct row_step *steps;
    struct row_time *times;
    struct row_metric *metrics;
    struct row_pair *axis, *param; /* by name; readers see the texts `axes` and `params` */
    struct row_network *network;
    struct row_part *parts;
    struct row_note *notes; /* readers see the text `note` */
    struct row_plan *plans;
    struct row_launch *launches;
    struct row_code *code;
    int step_count, time_count, metric_count, axis_count, param_count, network_count, part_count, note_count, plan_count, launch_count,
        code_count;
};
struct row *row_new(void); /* every absent-able number absent */
void row_free(struct row *row);
void row_leave(struct row **row); /* for SCOPED_BY */
/* Replaces a malloc'd string field. */
void row_set(char **field, const char *value);
/* The reason of the row's status: the error's text and its place. */
void row_set_reason(struct row *row, const struct error *why);
/* Adds a note to the list and to the joined text ("; " between them), once. An empty note is ignored. */
void row_add_note(struct row *row, const char *format, ...) __attribute__((format(printf, 2, 3)));
struct row_metric *row_add_metric(struct row *row, int step, int line, const char *name, const char *unit, const char *source,
                                  double value);
struct row_step *row_add_step(struct row *row);
struct row_time *row_add_time(struct row *row);
/* Removes the times of the row and of its steps. */
void row_drop_times(struct row *row);
/* Adds an axis or a parameter to the row's list, and to the text that joins all of them; `number` is NaN if the value is a word. */
void row_add_axis(struct row *row, const char *name, const char *value, double number);
void row_add_param(struct row *row, const char *name, const char *value, double number);
void row_add_network(struct row *row, const char *name, int64_t runs);
/* "conv2d/naive", "naive" */
void row_add_part(struct row *row, const char *variant, const char *name);
struct row_plan *row_add_plan(struct row *row);
struct row_launch *row_add_launch(struct row *row);
struct row_code *row_add_code(struct row *row);
/* Samples where warps were sampled, else how often it ran; 0: neither is known. */
double row_code_heat(const struct row_code *code);
/* For qsort: the most executed first; of equally often executed ones (a loop's), memory instructions first, then by address. */
int row_code_order(const struct row_code *x, const struct row_code *y);
/* The pair of that name, NULL if there is none; and its value. */
const struct row_pair *row_pair(const struct row_pair *pairs, int count, const char *name);
const char *row_pair_value(const struct row_pair *pairs, int count, const char *name);
const char *row_axis(const struct row *row, const char *name);
/* The row's time in a mode (step -1), or NULL. */
const struct row_time *row_time(const struct row *row, enum time_mode mode);
/* The mode of one time, which is stored as two words. */
enum time_mode row_time_mode(const struct row_time *t);
void row_time_set_mode(struct row_time *t, enum time_mode mode);
/* The counts are those of a part of the layer: of a cropped case, or of the part that emu verified. */
static inline bool row_counts_part(const struct row *row)
{
    return row->cropped || row->part_because[0];
}
/* emu verified a part of the layer. */
static inline bool row_ran_part(const struct row *row)
{
    return row_counts_part(row) || row->compared >= 0 || row->uncompared;
}
const struct row_metric *row_metric(const struct row *row, int step, const char *name);
/* Its value; NaN where the row has none. */
double row_value(const struct row *row, int step, const char *name);

/* The column table, made from fields.def. It drives the tables of the store, the JSON, the CSV and the messages between processes. To add
 * a column: its line in fields.def, the code that sets it, its paragraph in docs/reference/columns.md. */
enum column_group {
    COLUMN_RUN,     /* struct run: table run */
    COLUMN_CASE,    /* struct row: table case, the work, shared by the rows of a case */
    COLUMN_RESULT,  /* struct row: table result */
    COLUMN_AXIS,    /* struct row_pair: table axis */
    COLUMN_PARAM,   /* struct row_pair: table param */
    COLUMN_NETWORK, /* struct row_network: table network */
    COLUMN_PART,    /* struct row_part: table part */
    COLUMN_NOTE,    /* struct row_note: table note */
    COLUMN_STEP,    /* struct row_step: table kernel */
    COLUMN_TIME,    /* struct row_time: table timing */
    COLUMN_PLAN,    /* struct row_plan: table plan */
    COLUMN_LAUNCH,  /* struct row_launch: table launch */
    COLUMN_METRIC,  /* struct row_metric: table metric */
    COLUMN_CODE,    /* struct row_code: table instruction */
    COLUMN_WISDOM,  /* struct wisdom: table wisdom */
    COLUMN_DERIVED, /* stored nowhere: report/ computes it from the others */
    COLUMN_COUNTER, /* the name of a metric that a table shows */
};
/* How a field is stored, and how it is absent. */
enum column_type {
    COLUMN_NONE,      /* derived and counters: no field */
    COLUMN_TEXT,      /* char *: NULL or "" absent */
    COLUMN_NAME,      /* char *: never NULL; "" absent */
    COLUMN_CHARS,     /* char[size]: "" absent */
    COLUMN_INT,       /* int: never absent */
    COLUMN_INT_NEG,   /* int: negative absent */
    COLUMN_INT64,     /* int64_t: never absent */
    COLUMN_INT64_NEG, /* int64_t: negative absent */
    COLUMN_UINT64,    /* uint64_t: never absent */
    COLUMN_BOOL,
    COLUMN_REAL,      /* double: NaN absent */
    COLUMN_REAL_NEG,  /* double: negative or NaN absent */
    COLUMN_REAL_ZERO, /* double: 0, negative or NaN absent */
    COLUMN_REALS,     /* double *, as many as the struct's `rounds`: NULL absent */
    COLUMN_STATUS,    /* enum row_status, written by name */
};
struct column {
    const char *name, *unit, *what;
    enum column_group group;
    enum column_type type;
    unsigned offset, size; /* of the field in its struct */
};
extern const struct column columns[]; /* by group, in the order of the enum; ends with name NULL */
/* A column's value in its struct (run, row, step, time or metric). At most one of the four is set; none: absent. */
struct column_value {
    bool absent;
    const char *text; /* TEXT, CHARS, STATUS */
    const double *reals;
    int count; /* of reals */
    bool is_real;
    double real;     /* REAL... */
    int64_t integer; /* INT..., BOOL; UINT64: its bits */
};
struct column_value column_get(const struct column *column, const void *base);
/* Sets the field from a value (absent: the type's own absent). Copies text and reals; cuts CHARS to its size. REALS whose count is not
 * the struct's `rounds` are absent. */
void column_set(const struct column *column, void *base, const struct column_value *value);
/* Can a field of this type be absent? */
bool column_may_be_absent(const struct column *column);
/* By name in a group; NULL: there is none. */
const struct column *column_find(enum column_group group, const char *name);
/* The first column of a group, and the next one of it; NULL at the end. */
const struct column *column_first(enum column_group group);
const struct column *column_next(const struct column *column);
/* columns_clear makes every field of a group absent without freeing; columns_free frees what the fields hold. */
void columns_clear(enum column_group group, void *base);
void columns_free(enum column_group group, void *base);

/* What a row has several of: a table of the store, a list of the exports and of the socket. */
struct row_list {
    enum column_group group;
    const char *table, *name;     /* in the store; elsewhere */
    const char *index;            /* the column that numbers them in the store */
    unsigned items, count, bytes; /* of the array and its count in struct row; of one */
    bool anew;                    /* a worker's list replaces this one, else its items are added */
};
extern const struct row_list row_lists[]; /* ends with table NULL */
int row_list_count(const struct row_list *list, const struct row *row);
void *row_list_at(const struct row_list *list, const struct row *row, int i);
/* One more, with everything absent. */
void *row_list_add(const struct row_list *list, struct row *row);
/* Adds what another row has. */
void row_list_copy(const struct row_list *list, struct row *row, const struct row *from);
/* The same, but the other row has them no more. */
void row_list_move(const struct row_list *list, struct row *row, struct row *from);
void row_list_empty(const struct row_list *list, struct row *row);
