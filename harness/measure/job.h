/* measure/job: what a worker process works on, and how it says what it does and finds. Most functions need only this. */
#pragma once

#include "base/phase.h"
#include "device/device.h"
#include "plan/rows/plan.h"
#include "store/row.h"

/* The receiver of events: in a worker, the parent. */
struct job_events {
    /* Announces the next stage, its row (-1: none), and its time limit. */
    void (*stage)(void *context, int row, const char *stage, double limit_s);
    /* Reports a row's results. */
    void (*row)(void *context, int row, const struct row *found);
    /* A property of the environment, stored with the run. */
    void (*environment)(void *context, const char *name, const char *value);
};
struct job {
    struct device *dev; /* NULL: this process only compiles */
    struct plan plan;
    struct plan_options options;
    struct phase_clock clock; /* ranges: the run, the case and row in hand, the phase */
    double time_limit_s;      /* of one run of a row */
    bool (*open)(const char *spec, struct device **dev, struct error *err);
    bool (*waiting)(void); /* true if a further command has arrived; NULL: not known */
    const struct job_events *events;
    void *context; /* of events */
};

#define DATA_LIMIT_S 600.0 /* to make a layer's data, or to check an output */

void job_stage(const struct job *job, int row, const char *stage, double limit_s);
void job_row(const struct job *job, int row, const struct row *found);
void job_environment(const struct job *job, const char *name, const char *value);
bool job_is_interrupted(const struct job *job); /* a further command waits */
/* True if its device is emu, also where this process only compiles for it. */
bool job_interprets(const struct job *job);
/* Opens emu with the chip of the job's plan, whatever its device is. */
bool job_open_emu(const struct job *job, struct device **dev, struct error *err);
/* The seed of everything that is drawn. Random unless `--seed` sets it, so a kernel cannot foresee it. */
uint64_t job_seed(const struct job *job);

/* The data that a row is timed on. A dense row of a case whose mask marks inputs gets an input without zeros: in real use a dense kernel
 * meets few zeros, and a multiplier fed with zeros draws less power. */
enum data_part job_timed_part(const struct job *job, int row);
/* The data that a row is verified on: the given part, except that a dense row of a network with a mask is compared with the dense network
 * (op/chain/chain.h). */
enum data_part job_verified_part(const struct job *job, int row, enum data_part part);
