/* cli/jobs: `bench run --on` and `bench jobs`. */
#pragma once

#include "cli/cli.h"
#include "run/engine/engine.h"

/* What `bench run` was asked for. */
struct run_on {
    const char *on, *out_dir;
    const char *jobs;             /* OUT/jobs */
    const struct option *options; /* of the command, parsed */
    struct plan_arguments *arguments;
    bool wait, print;
};
int cli_run_on(const struct run_on *request, const char *scenario);
/* After it was submitted: waits, or says how to. */
int cli_job_started(struct job *job, const char *out_dir, bool wait);
