/* measure/trust/nearby: a row must also be right on shapes that nobody showed it: a few small works that its head accepts. */
#ifndef BENCH_MEASURE_TRUST_NEARBY_H
#define BENCH_MEASURE_TRUST_NEARBY_H

#include "measure/rig/build.h"
#include "measure/verify/data.h"
#include "measure/rig/vendor.h"
#include <stdatomic.h>

struct neighbour_data {
    char key[HASH_TEXT]; /* of the work */
    struct op_data data;
};
struct neighbour { /* number `number` that was drawn for a row */
    int row, number;
    bool any; /* there is one: */
    struct work work;
    struct program program;
};
struct neighbours { /* of the rows of one case: their data, and those that no row has run on yet */
    struct job *job;
    struct data_store *data;
    const struct vendor_library *library;
    struct neighbour_data *items;
    struct neighbour *drawn;
    int count, drawn_count, case_index; /* -1: of none */
};
void neighbours_open(struct neighbours *n, struct job *job, struct data_store *data, const struct vendor_library *library);
/* Frees what they hold of a case. */
void neighbours_drop(struct neighbours *n);
/* Runs a verified row's code on its neighbours. A row that is wrong on one is wrong, and its reason names the neighbour. False (err): a
 * failure that is no row's. */
bool neighbours_run(struct neighbours *n, int index, const struct build *build, struct row *row, struct error *err);
/* *touched becomes true if a row wrote to their values. */
bool neighbours_guard(struct neighbours *n, bool *touched, struct error *err);
/* Draws a row's neighbours and makes their data, until `enough`. For any thread. */
void neighbours_draw(struct neighbours *n, int index, const atomic_bool *enough);
/* Compiles what those works need besides the row's own code. */
void neighbours_compile(const struct job *job, int index);

#endif
