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
/* Reads the parts that tasks handed over, asks the engine (every second at first, every 15 s in a long job), extracts parts from outputs,
 * submits lost shards again, and removes tasks of finished shards from the queue. Returns false only for errors that end the job. If the
 * engine does not answer, job->note says so. */
bool job_turn(struct job *job, struct job_turn *turn, struct error *err);
