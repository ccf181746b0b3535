/* gate/document: a comparison as a document for every form (report/form/document.h), as JSON, and for CI systems. */
#pragma once

#include "gate/compare.h"
#include "report/form/document.h"

/* `exit_code` of a gate; NULL for a comparison without a decision. */
void gate_document(struct document *d, const struct gate_comparison *c, const int *exit_code);
/* {"schema": "bench.comparison", "version": "1.0.0", ...}: docs/GATE.md. */
void gate_json(struct text *t, const struct gate_comparison *c, const int *exit_code);

/* A row's result in one line, without its name: "SLOWER: emu.global_sectors_ld 1,024 -> 8,192 (+700 %)". */
void gate_sentence(const struct gate_comparison *c, const struct gate_pair *p, struct text *t);
/* The row's place in head's sources, relative to the side's folder if inside it; "" if not known. */
const char *gate_place_file(const struct gate_comparison *c, const struct gate_pair *p, int *line);

/* ::error file=,line=:: for each row that fails, ::warning for rows that pass but need attention. */
void gate_annotations(struct text *t, const struct gate_comparison *c);
/* JUnit's XML: a test case a row, a failure where it does not pass. */
void gate_junit(struct text *t, const struct gate_comparison *c);

/* ---- geometric means ---- */

/* Geometric mean of base over head for a layer, a network or everything: above 1 means less time, or lower counts. NAN: unknown. */
struct gate_mean {
    char *name;
    bool network;
    int rows, changed; /* rows verified on both sides; those whose image differs */
    double time, instructions, sectors;
};
/* By layer, by network, then of all; a network's layers count as often as it runs them. */
int gate_means(const struct gate_comparison *c, struct gate_mean **means);
void gate_means_free(struct gate_mean *means, int count);
