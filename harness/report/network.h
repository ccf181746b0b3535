/* report/network: what the networks that the rows name come to, from the rows alone: for each the sum over its layers of runs x time. */
#ifndef BENCH_REPORT_NETWORK_H
#define BENCH_REPORT_NETWORK_H

#include "report/view.h"

/* A variant that is verified and timed on every layer, under its name before " + ". */
struct network_sum {
    char name[VARIANT_BASE];
    double ns;
};
struct network {
    char *name;
    int64_t runs; /* of all its layers that the rows have */
    int layers;
    bool timed;              /* some layer is */
    struct text members;     /* "head, 16 x body_1, up" */
    struct text missing;     /* layers without a dense, timed baseline: there is no sum then */
    struct text mode;        /* "isolated, cold"; "" when the layers differ in it */
    char zero[VARIANT_BASE]; /* "cudnn" where that is the baseline of every layer, else "baseline" */
    struct text zeros;       /* only then: "cudnn on head, up; copy on shuffle" */
    double zero_ns;
    struct text unverified; /* layers where no row is verified and timed (a foil is not the op): there is no fastest of each then */
    double fastest_ns;
    bool all_zero;            /* the baseline is the fastest on every layer */
    struct text choice;       /* "reg_tiled on head; cudnn on body_1, up" */
    struct network_sum *sums; /* by time; without the baseline */
    int count;
    struct text chains; /* lines: the network run whole, each way it was */
    int partial;        /* variants that are timed on some of its layers only */
};
/* Those that the rows name (column `networks`), in that order, each with two runs at the least and something timed. Returns the count. */
int network_list_make(struct network **out, const struct run *run, struct row *const *rows, int count);
/* One line for each verified and timed way in which the network was run whole: its time, end-to-end and layer-wise speed-up together, and
 * what lies between it and the sum of its layers. One line in all where nothing was timed. */
void network_chains(struct text *t, const struct run *run, struct row *const *rows, int count, const char *network);
void network_list_free(struct network *networks, int count);
/* One line a sum: "x2: cudnn 6.17 ms, the sum of 36 dense layer runs (isolated, cold): head, ...". */
void network_lines(const struct network *n, struct text *t);

#endif
