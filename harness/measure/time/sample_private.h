/* measure/time/sample_private: declarations shared by the files of sample. */
#pragma once

#include "measure/time/sample.h"

struct timer { /* two events of a device */
    struct device *dev;
    struct device_event *from, *to;
};
bool timer_open(struct timer *timer, struct device *dev, struct error *err);
void timer_close(struct timer *timer);
/* Lets the GPU rest, so that its clock recovers. */
bool sample_rest(struct device *dev, long ns, struct error *err);
/* Blocks the stream until all launches between two events are queued (a stream-blocking kernel); no effect on a device that cannot. */
bool sample_hold(struct device *dev, struct error *err);
void sample_let_go(struct device *dev);
/* Sorts them; NAN of none. */
double sample_median(double *values, int count);

/* The candidates of a measurement. All arrays are indexed by candidate. */
struct sample_group {
    struct device *dev;
    const struct sample_plan *plan;
    struct sample_candidate *candidates;
    int count;
    struct timer *timers;
    const struct sample_watch *watch;
    struct device_graph **graphs;     /* sustained: runs back to back; */
    struct device_graph **rests;      /* the same graph without the runs; NULL: no overhead to subtract */
    double *ns, *host_ns, *hz;        /* of the last round */
    int *order;                       /* ... and the order of the candidates */
    int sets, replicas, set, replica; /* how many, and those of the round */
    uint64_t drawn;                   /* how many random numbers were drawn */
    int turn;                         /* the launch slot of its samples */
    int *ahead, *unseen;              /* by candidate, number of launches: between slot_steer and the sample (-1: unknown); made by a
                                         library within a run */
    bool slots_known;
    double rested_hz; /* the clock of an idle GPU: the highest clock at which a sample began */
    bool warming;     /* during the warm-up, whose first two rounds identify the tail; the tail skips the others */
    double tail_s;    /* spent on samples of the tail */
};
/* A random number below `count`, from the run's seed. */
int sample_draw(struct sample_group *group, int count);
/* Checks a candidate whose output bits differ from its verified launch; a wrong candidate takes no further part. */
bool sample_recheck(struct sample_group *group, int candidate, int set, enum rig_left left, struct error *err);

/* sample_slot.c */
bool slot_learn(struct sample_group *group, int candidate, struct error *err);
bool slot_run(struct sample_group *group, int candidate, bool timed, struct error *err); /* rig_run; timed: rig_run_timed */
bool slot_steer(struct sample_group *group, int candidate, struct error *err);
void slot_met(struct sample_group *group, int candidate);

/* sample_sustained.c */
bool sustained_build(struct sample_group *group, int candidate, struct error *err);
bool sustained_take(struct sample_group *group, int candidate, struct error *err);
