/* report/break_even/break_even: at which density does sparse stop paying? From stored rows alone: for every layer, pattern and what else
 * the cases differ in, the times of each sparse variant over those of a dense one, and where the two curves cross. */
#ifndef BENCH_REPORT_BREAK_EVEN_H
#define BENCH_REPORT_BREAK_EVEN_H

#include "report/form/document.h"
#include "report/view/view.h"

/* One measured density. y: sparse time over dense time, so below 1 sparse wins; low and high are the ends of its 95 % interval. */
struct crossing_point {
    double x, y, low, high;
    int runs; /* cases at this density (other seeds) behind 1 that were merged: y is their mean, the interval holds all of theirs */
    double ns, ns_low, ns_high; /* the row's own time; of the dense row all that there is */
    double floor_ns, waste;     /* of the dense row; (A - E) / A of a sparse one; NaN */
};
enum crossing_kind {
    CROSSING_AT,      /* from winning to losing, between two densities that lie close enough to name one */
    CROSSING_BETWEEN, /* somewhere between two densities, or where densities cannot be told */
    CROSSING_WINS,    /* it wins at every measured density */
    CROSSING_LOSES,   /* it loses at every one */
    CROSSING_FEW      /* fewer than two densities */
};
/* A density is told when the whole interval of y lies on one side of 1. */
struct crossing {
    enum crossing_kind kind;
    double at;        /* CROSSING_AT: on a line between the points inside of the bracket; else NaN */
    double low, high; /* the bracket: the last density that is told to win before the first that is told to lose; NaN: there is none */
    bool back;        /* told densities only turn from losing to winning: the bracket is that turn's */
    int turns;        /* how often neighbouring told densities differ; above 1 the bracket is that of the first turn to losing */
};
/* Points sorted by x, each x once. What the curve does between two of them is not known: the bracket holds the crossing whatever its shape,
 * and nothing is said of what lies outside of it. */
struct crossing crossing_find(const struct crossing_point *points, int count);
/* Where to measure next so that the bracket shrinks to a tenth of the crossing; NaN when it has, when there is none, or when what is inside
 * cannot be told from 1. */
double crossing_next(const struct crossing_point *points, int count);

/* One sparse variant (with its parameters) in a group. */
struct break_line {
    char name[192];
    const struct row *row;         /* the first of its rows */
    struct crossing_point *points; /* by density */
    int count;
    struct crossing crossing;
};
struct break_case { /* whose mask can be drawn at another density */
    double x;
    const struct row *row; /* its first */
};
struct break_group {
    char *title; /* "body_1, blobs24, f16 f16_acc32": what its cases share */
    char against[VARIANT_BASE];
    struct crossing_point *dense; /* of `against` */
    int dense_count;
    struct break_line *lines; /* largest break-even first */
    int line_count;
    struct break_case *cases;
    int case_count;
    const char *rival; /* the dense variant, of a row; */
    bool rival_varies; /* it is whichever dense row is the fastest, as the baseline only moves the bytes */
    bool merges;       /* by the scenario's `by:` cases that differ in more than the density may be on one curve */
};
/* By and against what the scenario's answers say, else the baseline. Groups with two densities or more; their count. */
int break_even_make(struct break_group **out, const struct run *run, struct row *const *rows, int count);
/* Are others told to be faster at both ends of the line's bracket? Nobody asks then where exactly it stops to pay: it is bracketed by what
 * the scenario measures, and by what is added for others. */
bool break_even_beaten(const struct break_group *g, const struct break_line *l);
void break_even_free(struct break_group *groups, int count);
/* Does the scenario ask for one? */
bool break_even_asked(const struct run *run);
/* Cases that a curve does not tell apart are at one density when it is nearly the same: a random mask of another shape has its own. */
bool break_even_one_density(const struct break_group *g, double a, double b);
/* What the scenario's questions want measured yet, a round of bisection: a variant on a case of `rows` at another density of its mask. */
struct break_wish {
    char *case_id; /* malloc'd */
    double density;
    const char *variant, *params; /* of a row; NULL: all, in all its configurations */
};
/* Must all variants run at each density? Networks are made of their layers' rows. */
bool break_even_wants_all(struct row *const *rows, int count);
/* Their count; 0 when all is known as well as it will be, -1 when the scenario asks for no break-even. */
int break_even_more(const struct run *run, struct row *const *rows, int count, struct break_wish **wishes);
/* "body_1, blobs24, f16 f16_acc32: sparse_tile crosses cudnn between 68 and 74 % of inputs changed (about 71); delta_tile ...": what
 * measured densities show, and no more. */
void break_even_sentence(const struct break_group *g, struct text *t);
/* The sentences of all groups. */
void break_even_document(struct document *d, const struct run *run, struct row *const *rows, int count);
/* One line a group and variant; with what a sentence says beyond it, where no sentence is said of each group. */
struct table *break_even_table(const struct break_group *groups, int count, bool remarks);
/* Of very many groups: on how many a variant wins everywhere, loses everywhere, crosses; an item each, most groups first. */
void break_even_sums(struct block *list, const char *label, const char *question, const struct break_group *groups, int count);

#endif
