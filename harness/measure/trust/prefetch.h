/* measure/trust/prefetch: prepares the next case while this one is timed and counted, as far as that needs no device: the images of its
 * rows, the check for degenerate work, the data of its rows' nearby shapes, the CPU's part of its own data. A thread of the lowest
 * priority does it. It calls no driver function and holds no lock that a timed launch needs. Every command except a request for more
 * prefetching ends it first. */
#pragma once

#include "measure/trust/nearby.h"
#include "measure/trust/degenerate.h"

struct prefetch {
    struct job *job;
    struct data_store *data;
    struct build_cache *builds;
    struct nearby_shapes *neighbours;
    struct degenerate *degenerate;
    struct prefetch_thread *thread; /* NULL: none runs */
};
/* Begins with the case of these rows, of which the first `due` are not verified yet. */
void prefetch_begin(struct prefetch *p, const int *rows, int count, int due);
/* The thread may finish what it does, and begins nothing more. */
void prefetch_enough(struct prefetch *p);
/* Ends the thread and takes over its results. */
void prefetch_end(struct prefetch *p);
