/* report/break_even/break_even: from which density on sparse no longer pays, from stored rows: for every layer, pattern and further axis,
 * the times of each sparse variant over those of a dense one, and where the two curves cross. */
#pragma once

#include "report/form/document.h"
#include "report/view/view.h"

/* One measured density. y: sparse time over dense time, so below 1 sparse wins; low and high are the ends of its 95 % interval. */
struct crossing_point {
    double x, y, low, high;
    int runs; /* cases at this density (other seeds) beyond the first that were merged: y is their mean, the interval covers theirs */
    double ns, ns_low, ns_high; /* the row's own time; for the dense row the only value */
    double floor_ns, waste;     /* of the dense row; (A - E) / A of a sparse one; NaN */
};
enum crossing_kind {
    CROSSING_AT,      /* from winning to losing, between two densities close enough to name one */
    CROSSING_BETWEEN, /* between two densities, or within inconclusive ones */
    CROSSING_WINS,    /* it wins at every measured density */
    CROSSING_LOSES,   /* it loses at every one */
    CROSSING_FEW      /* fewer than two densities */
};
/* A density is conclusive (significant) if the whole interval of y lies on one side of 1. */
struct crossing {
    enum crossing_kind kind;
    double at;        /* CROSSING_AT: interpolated inside the bracket; else NaN */
    double low, high; /* the bracket: the last significant win before the first significant loss; NaN: none */
    bool back;        /* significant densities only turn from losing to winning: the bracket is that turn's */
    int turns;        /* how often neighbouring significant densities differ; above 1, the bracket is the first turn to losing */
};
/* Points sorted by x, each x once. The curve between two points is not known: the bracket contains the crossing whatever its shape, and
 * nothing is claimed outside. */
struct crossing crossing_find(const struct crossing_point *points, int count);
/* The next density to measure, until the bracket is at most a tenth of the crossing; NaN: it is, there is no bracket, or densities inside
 * are inconclusive. */
double crossing_next(const struct crossing_point *points, int count);

/* One sparse variant (with its parameters) in a group. */
struct break_line {
    char name[192];
    const struct row *row;         /* the first of its rows */
    char same_as[192];             /* the line whose machine code it has at each density so far; "": it has its own at one */
    bool sparse;                   /* at one density at least it computes less than all */
    struct crossing_point *points; /* by density */
    int count;
    struct crossing crossing;
};
struct break_case { /* whose mask can be drawn at another density */
    double x;
    const struct row *row; /* its first */
};
struct break_group {
    char *title; /* "body_1, blobs24, f16 f16_acc32": what its cases have in common */
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
/* Groups with two densities or more, by the scenario's answers (which axis, against which variant), else against the baseline. Returns
 * how many. */
int break_even_make(struct break_group **out, const struct run *run, struct row *const *rows, int count);
/* True if other variants are significantly faster at both ends of the line's bracket: bench does not refine such a crossing. */
bool break_even_beaten(const struct break_group *g, const struct break_line *l);
void break_even_free(struct break_group *groups, int count);
/* Does the scenario ask for one? */
bool break_even_asked(const struct run *run);
/* True if two cases of one curve count as one density: random masks of another shape differ slightly in density. */
bool break_even_one_density(const struct break_group *g, double a, double b);
/* A measurement that the scenario's questions still need in this round of bisection: a variant on a case of `rows`, at another density of
 * its mask. */
struct break_wish {
    char *case_id; /* malloc'd */
    double density;
    const char *variant, *params; /* of a row; NULL: all, in all its configurations */
};
/* Must all variants run at each density? A whole network consists of its layers' rows. */
bool break_even_wants_all(struct row *const *rows, int count);
/* Returns how many; 0: nothing more can be learnt; -1: the scenario asks for no break-even. */
int break_even_more(const struct run *run, struct row *const *rows, int count, struct break_wish **wishes);
/* "body_1, blobs24, f16 f16_acc32: sparse_tile crosses cudnn between 68 and 74 % of inputs changed (about 71); delta_tile ...": what the
 * measured densities show. */
void break_even_sentence(const struct break_group *g, struct text *t);
/* The sentences of all groups. */
void break_even_document(struct document *d, const struct run *run, struct row *const *rows, int count);
/* One line for each group and variant. `remarks`: with the details that sentences would say, for pages without sentences of the groups. */
struct table *break_even_table(const struct break_group *groups, int count, bool remarks);
/* For very many groups: on how many each variant wins everywhere, loses everywhere, or crosses; the most frequent first. */
void break_even_sums(struct block *list, const char *label, const char *question, const struct break_group *groups, int count);
