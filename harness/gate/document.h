/* gate/document: a comparison as a document, which every form of report/form/document.h shows, and as JSON; and what CI systems read. */
#ifndef BENCH_GATE_DOCUMENT_H
#define BENCH_GATE_DOCUMENT_H

#include "gate/compare.h"
#include "report/form/document.h"

/* `exit_code` of a gate; NULL for a comparison that judges nothing. */
void gate_document(struct document *d, const struct gate_comparison *c, const int *exit_code);
/* {"schema": "bench.comparison", "version": "1.0.0", ...}: docs/GATE.md. */
void gate_json(struct text *t, const struct gate_comparison *c, const int *exit_code);

/* "SLOWER: emu.global_sectors_ld 1,024 -> 8,192 (+700 %)": what is to be said of a row in one line, without its name. */
void gate_sentence(const struct gate_comparison *c, const struct gate_pair *p, struct text *t);
/* The row's place in head's sources, relative to the side's folder where it is in there; "" where it is not known. */
const char *gate_place_file(const struct gate_comparison *c, const struct gate_pair *p, int *line);

/* ::error file=,line=:: for each row that does not pass, ::warning for those that are let through but want to be seen. */
void gate_annotations(struct text *t, const struct gate_comparison *c);
/* JUnit's XML: a test case a row, a failure where it does not pass. */
void gate_junit(struct text *t, const struct gate_comparison *c);

/* ---- geometric means ---- */

/* Of a layer, a network or of everything, base over head: above 1 is less time, or fewer of what is counted. NAN: not known. */
struct gate_mean {
    char *name;
    bool network;
    int rows, changed; /* that stand on both sides; that are not SAME by their image */
    double time, instructions, sectors;
};
/* By layer, by network, then of all; a network's layers count as often as it runs them. */
int gate_means(const struct gate_comparison *c, struct gate_mean **means);
void gate_means_free(struct gate_mean *means, int count);

#endif
