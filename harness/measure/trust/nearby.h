/* measure/trust/nearby: checks that a row is also right on a few small, randomly drawn shapes that its head accepts. */
#pragma once

#include "measure/rig/build.h"
#include "measure/verify/data.h"
#include "measure/rig/vendor.h"
#include <stdatomic.h>

struct nearby_data {
    char key[HASH_TEXT]; /* of the work */
    struct op_data data;
    struct error why; /* of USAGE: the op has no data for this work */
};
struct nearby_shape { /* number `number` that was drawn for a row */
    int row, number;
    bool any; /* a shape was found: */
    struct work work;
    struct program program;
};
struct nearby_shapes { /* of the rows of one case: their data, and the shapes on which no row has run yet */
    struct job *job;
    struct data_store *data;
    const struct vendor_library *library;
    struct nearby_data *items;
    struct nearby_shape *drawn;
    int count, drawn_count, case_index; /* -1: of none */
    bool interpreted;                   /* of rows that were right on a GPU: emu runs their code */
};
void nearby_open(struct nearby_shapes *n, struct job *job, struct data_store *data, const struct vendor_library *library);
/* Frees the data of a case. */
void nearby_drop(struct nearby_shapes *n);
/* True if all of its code is known, so that it may run on other shapes: a library searches again for each. */
bool nearby_has_code(const struct job *job, int index);
/* Runs the code of a row that was right on a GPU on its own shape if that is small, and on two nearby shapes; their number becomes the
 * metric verify.interpreted. n->job is on emu. What emu cannot run is ROW_SKIPPED. */
bool nearby_interpret(struct nearby_shapes *n, int index, const struct build *build, struct row *row, struct error *err);
/* Runs a verified row's code on its nearby shapes. A row that is wrong on one is wrong, and its reason names the shape. False (err): a
 * failure that is not a row's. */
bool nearby_run(struct nearby_shapes *n, int index, const struct build *build, struct row *row, struct error *err);
/* *touched becomes true if a row wrote to their values. */
bool nearby_guard(struct nearby_shapes *n, bool *touched, struct error *err);
/* Draws a row's nearby shapes and makes their data, until `enough`. Any thread may call it. */
void nearby_draw(struct nearby_shapes *n, int index, const atomic_bool *enough);
/* Compiles the units that those shapes need besides the row's own code. */
void nearby_compile(const struct job *job, int index);
