/* run/child/progress: reports what a worker is doing, as stages to its parent and as nested ranges: the run, the current case and row,
 * the phase. */
#pragma once

#include "base/phase.h"
#include "measure/job.h"
#include <jansson.h>

struct progress {
    struct job *job;
    void (*emit)(void *context, json_t *event); /* takes the reference */
    void *context;
    int range_case, range_row; /* -1: none */
    int row;                   /* the stage that was announced last: */
    char stage[24];
    double limit_s;
    int depth, inside; /* number of open ranges up to the stage; and up to those opened inside it, as by a timed round */
    enum phase phase;
};
void progress_init(struct progress *p, struct job *job, void (*emit)(void *context, json_t *event), void *context);
/* Begins a stage: its name determines the phase, and its ranges replace those of the previous stage. */
void progress_stage(struct progress *p, int row, const char *stage, double limit_s);
/* Begins a phase without a message to the parent. */
void progress_enter(struct progress *p, int row, enum phase phase, const char *stage);
/* Ends a command: closes ranges that an error left open. */
void progress_end(struct progress *p);
/* Makes the device announce kernels that may never end to this progress. */
void progress_watch(struct progress *p);
