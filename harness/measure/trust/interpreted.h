/* measure/trust/interpreted: runs the PTX of a user's GPU row on `emu` as well, which checks each access: a race that gives the right
 * values, reads of memory that was never written, an access out of bounds. CI checks bench's own kernels in the same way when they change.
 *
 * It runs on the layer itself, if that does not take long, and on two small nearby shapes. Compile workers do it while nothing is timed. */
#pragma once

#include "measure/trust/nearby.h"

struct interpreted { /* starts as {0} */
    struct job job;  /* that of the GPU, with emu as its device (NULL: not opened yet) */
    struct data_store data;
    struct vendor_library library;
    struct nearby_shapes shapes;
    struct error lacks;      /* why emu could not be opened */
    const struct row *ahead; /* what a compile worker found of the row in hand; NULL: it did not look */
};
/* True for rows of user's kernels on a GPU, if all of their code is theirs. Not in a search or a comparison of two sides. */
bool interpreted_due(const struct job *job, int index);
/* What emu found, as a new row: OK, or a status with its reason. What it did not check is a note. */
struct row *interpreted_run(struct interpreted *x, const struct job *job, int index, const struct build *build);
/* Lays what emu finds, or has found ahead, over a row that the GPU found right; does nothing for other rows. */
void interpreted_verify(struct interpreted *x, const struct job *job, int index, const struct build *build, struct row *row);
void interpreted_close(struct interpreted *x);
