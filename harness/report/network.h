/* report/network: what the networks that the rows name come to, from the rows alone: for each the sum over its layers of runs x time. */
#ifndef BENCH_REPORT_NETWORK_H
#define BENCH_REPORT_NETWORK_H

#include "report/document.h"
#include "report/view.h"

/* Of each network that the rows name (column `networks`), in that order, with two runs at the least and something timed, a line a sum: "x2:
 * cudnn 6.17 ms, the sum of 36 dense layer runs (isolated, cold): head, ..."; then the network run whole. */
void network_document(struct document *d, const struct run *run, struct row *const *rows, int count);
/* One line for each verified and timed way in which the network was run whole: its time, end-to-end and layer-wise speed-up together, and
 * what lies between it and the sum of its layers. One line in all where nothing was timed. */
void network_chains(struct text *t, const struct run *run, struct row *const *rows, int count, const char *network);

#endif
