/* report/summary: the lines about a whole run, shared by the terminal, Markdown and the page. */
#ifndef BENCH_REPORT_SUMMARY_H
#define BENCH_REPORT_SUMMARY_H

#include "report/view.h"

/* "594 rows: 349 verified, 63 wrong (1 point), 182 infeasible, 0 without a reason". */
void summary_counts(struct text *t, struct row *const *rows, int count);

/* One way to run the whole network, layer by layer. */
struct network_sum {
    char name[96]; /* a variant, or "" for the fastest verified of each layer */
    double ns;
    int layers;         /* of the network's that it covers */
    bool all_zero;      /* row 0 on every one */
    struct text choice; /* "": head cudnn, body reg_tiled, ... */
};
struct network {
    int64_t launches; /* layers x repeat */
    int layers;
    const char *zero;         /* name of row 0 */
    struct network_sum *sums; /* row 0, the fastest of each, then the variants by time; those that miss a layer last */
    int count;
    struct text missing; /* layers without a dense, timed row 0 */
};
/* False when the rows make no network (one layer that runs once) or nothing is timed. */
bool network_make(struct network *n, const struct run *run, struct row *const *rows, int count);
void network_free(struct network *n);
/* One line a sum: "36 layers dense, cudnn: 6.17 ms sum of isolated layers". */
void network_lines(const struct network *n, struct text *t);

#endif
