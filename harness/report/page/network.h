/* report/page/network: what the networks that the rows name come to, from the rows alone: for each the sum over its layers of runs x time.
 */
#ifndef BENCH_REPORT_NETWORK_H
#define BENCH_REPORT_NETWORK_H

#include "report/form/document.h"
#include "report/view/view.h"

/* Of each network that the rows name (column `networks`), in that order, with two runs at the least and something timed, a line a sum: "x2:
 * cudnn 6.17 ms, the sum of 36 dense layer runs (isolated, cold): head, ..."; then the network run whole. */
void network_document(struct document *d, const struct run *run, struct row *const *rows, int count);
/* An item each: what its layers come to with the fastest verified row of each, beside the library. */
void network_sentences(struct block *list, const struct run *run, struct row *const *rows, int count);
/* An item for each network that was timed whole: its fastest way, and the fastest of each value of the parameter `by`, each with the share
 * that layout changes take of it. */
void network_plans(struct block *list, const struct run *run, struct row *const *rows, int count, const char *by, const char *question);
/* One line for each verified and timed way in which the network was run whole: its time, end-to-end and layer-wise speed-up together, and
 * what lies between it and the sum of its layers. One line in all where nothing was timed. */
void network_chains(struct text *t, const struct run *run, struct row *const *rows, int count, const char *network);

#endif
