/* run/child/worker: what a worker process does, and what is done in the caller's own process for `bench exec` and `bench compile`. A worker
 * has the device; it is told what to do by commands and answers with events (message/), and it never writes the store. */
#ifndef BENCH_RUN_CHILD_WORKER_H
#define BENCH_RUN_CHILD_WORKER_H

#include "device/compile/compile.h"
#include "run/message/server.h"
#include "plan/rows/plan.h"

/* The worker's side inside the caller's own process, for --in-process. */
extern const struct message_server worker_inside;

/* The registers and spills that the compiler gives the same kernel under other launch bounds: of its own block size and 1, 2, ... blocks an
 * SM. */
struct register_point {
    int blocks;  /* asked for; 0 = the bounds of the source */
    int allowed; /* registers a thread that so many blocks leave; 0 for the source's own */
    int registers, spill_store_bytes, spill_load_bytes;
    int blocks_per_sm; /* that then fit, with the shared memory of this launch */
    bool failed;       /* the compiler refuses these bounds; the others are not known then */
};
#define REGISTER_POINTS 9
/* Of one kernel step of a row; needs the compiler and no GPU. Count of points (the first is the source's own), 0 when the step is no
 * kernel, -1 + err. */
int worker_registers(const struct plan *plan, int row, int step, const char *compiler, struct register_point points[REGISTER_POINTS],
                     struct error *err);

/* The hidden verb `bench worker`: serves commands on fd 3 until it closes, and ends the process. Returns 2 when there is no fd 3. */
int worker_main(void);
/* Runs one row alone in this process, for `bench exec ROW -- COMMAND`: open, feed, prepare, `repeat` runs, verify. The row's id and what
 * was found of it go to `id` and `says`, also of a row that is wrong. `which`: the library's plan as a stored row names it; NULL = the
 * first that its heuristics list. save: a folder for its tensors as .npy files; NULL: none. */
struct library_plan;
bool worker_alone(const struct plan_options *options, const char *row_id, int repeat, const struct library_plan *which, const char *save,
                  struct text *id, struct text *says, struct error *err);

#endif
