/* run/child/serve: all that one worker process holds, and what it does on each command (run/message/verb.h). */
#ifndef BENCH_RUN_CHILD_SERVE_H
#define BENCH_RUN_CHILD_SERVE_H

#include "run/child/ablate.h"
#include "measure/time/group.h"
#include "run/child/progress.h"
#include "run/child/cache.h"
#include "measure/count/tally.h"
#include "run/message/verb.h"
#include <jansson.h>

struct worker {
    void (*emit)(void *context, json_t *event); /* takes the reference */
    void *context;
    json_t *setup; /* keeps the strings of job.options alive */
    bool planned;
    bool lost; /* the device's context died with a row: this process ends after saying so */
    struct job job;
    struct progress progress;
    struct vendor_library library;
    struct data_store data;
    struct build_cache builds;
    struct nearby_shapes neighbours;
    struct degenerate degenerate;
    struct tried_list tried;
    struct sequence sequence;
    struct first_launches first;
    struct memory memory;
    struct prefetch prefetch;
    struct verifier verifier;
    struct timing_context timing;
    struct counters counters;
    struct ablator ablation;
};

/* A worker that holds nothing yet. Its address stays. Events go to `emit`, which takes the reference. */
void worker_init(struct worker *w, void (*emit)(void *context, json_t *event), void *context);
/* Plan and device are there: the run's range begins, and the device knows whose clock it is on. */
void worker_ready(struct worker *w);
bool worker_handle(struct worker *w, const json_t *command, struct error *err);
void worker_close(struct worker *w);

#endif
