/* gate/side: one side of a comparison: its rows, their facts (exact counts, no times), and what made them. It comes from a stored run, a
 * run made for the comparison, or a baseline file (gate/baseline.h). */
#pragma once

#include "base/error.h"
#include "store/store.h"

/* ---- facts ---- */

/* What more of a fact means for a row. */
enum gate_direction { GATE_NEUTRAL /* nothing by itself */, GATE_MORE_IS_WORSE, GATE_LESS_IS_WORSE };
/* A fact that is compared: a column of a step, or a metric of a row or step. All are exact: equal builds have equal facts. */
struct gate_kind {
    const char *what;              /* "registers", "emu.global_sectors_ld" */
    enum gate_direction direction; /* where no rule says otherwise */
    double allow;                  /* share of the base that may change before it counts, without rules */
    bool brief;                    /* a table at a glance has it */
    bool kept;                     /* a baseline has it */
    const char *head;              /* its heading */
    const char *lines;             /* the metric that has it by source line; NULL: the metric of this name, if any */
    bool whole;                    /* of the row; else of each step */
};
extern const struct gate_kind gate_kinds[]; /* ends with what NULL */
const struct gate_kind *gate_kind_find(const char *what);

/* The step's name among the row's: "conv", "conv#2". Malloc'd. */
char *gate_step_name(const struct row *row, int index);
struct gate_fact {
    char *step; /* the launch that it belongs to, "conv#2" if two launches have one name; "": the whole row */
    const struct gate_kind *kind;
    double value;
};

/* ---- rows ---- */

struct gate_entry {
    char *id, *scenario, *layer;
    enum row_status status;
    char *reason;
    char launch[HASH_TEXT]; /* launch_hash, or its first 16 digits; "" if unknown */
    struct gate_fact *facts;
    int fact_count;
    const struct row *row; /* NULL for a row of a baseline, which stores only the fields above */
    const struct run *run; /* that the row is of; NULL with row */
};
/* True if the row was verified, or is a control. */
bool gate_entry_stands(const struct gate_entry *e);
/* NAN where it is not known. */
double gate_entry_fact(const struct gate_entry *e, const char *step, const char *what);

/* A run and its rows, which a side keeps. */
struct gate_part {
    struct run run;
    struct row **rows;
    int count;
};
/* What the side's tree lacks: a variant of the scenario, or a word of --only, of --layer, or of --scenario. */
enum gate_lack_kind { LACKS_VARIANT, LACKS_LAYER, LACKS_SCENARIO };
struct gate_lack {
    char *name;
    struct error why;
    enum gate_lack_kind kind;
};
/* A file of an op, relative to where bench runs, by whose text a side was judged. */
struct gate_op {
    char *path, sum[HASH_TEXT]; /* of a baseline the first 16 digits */
};
struct gate_side {
    bool kept;    /* it is a baseline file */
    bool stored;  /* it is a run of a database, with all of its rows: --layer and --only did not select them */
    bool timed;   /* the run timed it against the other side and skipped rows with equal launches */
    char *name;   /* "main, 1a2b3c4d5e", "run 12", "ci/baselines/emu-GH100.yaml" */
    char *folder; /* of its sources, absolute, with a slash at the end; NULL: unknown, or several */
    /* What made it (device, compiler, ...). Sides that differ in this are compared only on request (--across). NULL: unknown. */
    char *device, *about, *arch, *compiler, *driver, *library;
    char *bench;                /* the build of bench */
    struct gate_entry *entries; /* by id */
    int count;
    struct gate_part **parts;
    int part_count;
    struct gate_lack *lacks;
    int lack_count;
    struct gate_op *ops; /* of a baseline, or to be written into one */
    int op_count;
};
struct gate_op *gate_side_op(struct gate_side *side, const char *path);
/* Adds a run's rows. `only`: the rows of that side of the run (row side); NULL: rows without a side. Takes ownership of run and rows.
 * False: this part was made on another device, or by another compiler or version, than the earlier parts. */
bool gate_side_take(struct gate_side *side, struct run *run, struct row **rows, int count, const char *only, struct error *err);
/* Adds an entry, which the caller fills in; call gate_side_sort after the last one. */
struct gate_entry *gate_side_add(struct gate_side *side, const char *id);
void gate_entry_add(struct gate_entry *e, const char *step, const struct gate_kind *kind, double value);
/* Sorts the entries; false if two have the same id. */
bool gate_side_sort(struct gate_side *side, struct error *err);
const struct gate_entry *gate_side_find(const struct gate_side *side, const char *id);
void gate_side_free(struct gate_side *side);
/* "emu:GH100 · sm_90a · nvrtc 13.0.88", appended. */
void gate_side_describe(const struct gate_side *side, struct text *t);
/* Appends the differences in what made the two sides: "driver 570.1, not 580.2; ..."; nothing if they are comparable. */
void gate_side_differences(const struct gate_side *base, const struct gate_side *head, struct text *t);
