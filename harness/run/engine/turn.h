/* run/engine/turn: drives a job until its shards are done. */
#pragma once

#include "run/engine/engine.h"

struct job_turn {
    int done, running, pending, lost; /* shards; lost: their tasks are gone and they are not tried again */
    long long rows;                   /* that landed */
    int again;                        /* shards submitted again in this turn */
    const char *why;                  /* a pending reason; NULL: none */
};
/* Submits every shard that is not done. */
bool job_submit(struct job *job, struct error *err);
/* Reads what landed, asks the engine (every second at first, every 15 s in a long job), takes parts out of outputs, submits lost shards
 * again, and takes tasks of shards that are done off the queue. False: only for errors that end the job; an engine that does not answer is
 * told in job->note. */
bool job_turn(struct job *job, struct job_turn *turn, struct error *err);
