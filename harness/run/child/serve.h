/* run/child/serve: the state of one worker process, and its action on each command (run/message/verb.h). */
#pragma once

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
    json_t *setup;        /* keeps the strings of `asked` and of job.options alive */
    struct message asked; /* the setup */
    bool planned;
    int case_index; /* of the last row that was verified */
    bool lost;      /* a row destroyed the device's context: this process reports that and ends */
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

/* Initialises a worker without plan and device. It must not move in memory. Events go to `emit`, which takes the reference. */
void worker_init(struct worker *w, void (*emit)(void *context, json_t *event), void *context);
/* Call when plan and device are ready: begins the run's range and gives the device its clock. */
void worker_ready(struct worker *w);
bool worker_handle(struct worker *w, const json_t *command, struct error *err);
/* machine.c: UUID, GPUS, PROBE, ROOFS and CHECK. */
bool worker_machine(struct worker *w, enum command what, const struct message *m, struct error *err);
void worker_close(struct worker *w);
