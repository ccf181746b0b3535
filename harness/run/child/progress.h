/* run/child/progress: what a worker does now, as stages for its parent and as nested ranges: the run, the case and row in hand, the phase.
 */
#ifndef BENCH_RUN_CHILD_PROGRESS_H
#define BENCH_RUN_CHILD_PROGRESS_H

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
    int depth, inside; /* ranges that are open with the stage; and with those that were opened inside it, as by a timed round */
    enum phase phase;
};
void progress_init(struct progress *p, struct job *job, void (*emit)(void *context, json_t *event), void *context);
/* A stage begins: it belongs to a phase by its name, and its ranges replace those of the stage before. */
void progress_stage(struct progress *p, int row, const char *stage, double limit_s);
/* A phase begins without a word to the parent. */
void progress_enter(struct progress *p, int row, enum phase phase, const char *stage);
/* A command ends: closes what an error left open. */
void progress_end(struct progress *p);
/* The device watches for kernels that never end, on behalf of this. */
void progress_watch(struct progress *p);

#endif
