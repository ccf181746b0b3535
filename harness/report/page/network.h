/* report/page/network: the networks that the rows name: for each, the sum over its layers of runs x time. */
#pragma once

#include "report/form/document.h"
#include "report/view/view.h"

/* For each network of the column `networks` with two or more runs and a time, a line per sum: "x2: cudnn 6.17 ms, the sum of 36 dense
 * layer runs (isolated, cold): head, ..."; then the network run whole. */
void network_document(struct document *d, const struct run *run, struct row *const *rows, int count);
/* An item each: the sum with the fastest verified row of each layer, and the library's. */
void network_sentences(struct block *list, const struct run *run, struct row *const *rows, int count);
/* An item for each network that was timed whole: the fastest layout plan, and the fastest for each value of the parameter `by`, each with
 * the share of its time that layout changes take. */
void network_plans(struct block *list, const struct run *run, struct row *const *rows, int count, const char *by, const char *question);
/* A line for each verified and timed way of running the network whole: its time, the end-to-end and layer-wise speed-up, and the
 * difference from the sum of its layers. One line in all if nothing was timed. */
void network_chains(struct text *t, const struct run *run, struct row *const *rows, int count, const char *network);
