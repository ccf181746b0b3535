/* run/child/worker: the entry points of a worker process, and of `bench exec` and `bench compile` in the caller's own process. A worker
 * owns the device. It takes commands and answers with events (message/), and never writes the store. */
#pragma once

#include "device/compile/compile.h"
#include "run/message/server.h"
#include "plan/rows/plan.h"

/* The same server inside the caller's own process, for --in-process. */
extern const struct message_server worker_inside;

/* The registers and spills of a kernel when compiled under other launch bounds: for its own block size and 1, 2, ... blocks per SM. */
struct register_point {
    int blocks;  /* the requested number; 0 = the bounds of the source */
    int allowed; /* registers per thread with which this many blocks fit; 0 for the source's own bounds */
    int registers, spill_store_bytes, spill_load_bytes;
    int blocks_per_sm; /* blocks that then fit, including the shared memory of this launch */
    bool failed;       /* the compiler refuses these bounds, so the other fields are unknown */
};
#define REGISTER_POINTS 9
/* For one kernel step of a row; needs the compiler but no GPU. Returns the number of points (the first is the source's own bounds), 0 if
 * the step is not a kernel, -1 + err. */
int worker_registers(const struct plan *plan, int row, int step, const char *compiler, struct register_point points[REGISTER_POINTS],
                     struct error *err);

/* The hidden verb `bench worker`: serves commands on fd 3 until it closes, and ends the process. Returns 2 when there is no fd 3. */
int worker_main(void);
/* Runs one row alone in this process, for `bench exec ROW -- COMMAND`: open, fill the inputs, prepare, `repeat` runs, verify; on emu, for
 * the part of a layer that a run verifies. Writes to `told` also if the row is wrong. `which`: the library's plan as a stored row names it;
 * NULL = the first that its heuristics list. save: a folder for its tensors as .npy files; NULL: none. */
struct library_plan;
struct alone {
    struct text id, says, device; /* of the row; its result; "cuda:0" */
};
bool worker_alone(const struct plan_options *options, const char *row_id, int repeat, const struct library_plan *which, const char *save,
                  struct alone *told, struct error *err);
