#include "measure/job.h"
#include <stdlib.h>

void job_stage(const struct job *job, int row, const char *stage, double limit_s)
{
    job->events->stage(job->context, row, stage, limit_s);
}

void job_row(const struct job *job, int row, const struct row *found)
{
    job->events->row(job->context, row, found);
}

void job_environment(const struct job *job, const char *name, const char *value)
{
    job->events->environment(job->context, name, value);
}

bool job_is_interrupted(const struct job *job)
{
    return job->waiting && job->waiting();
}

uint64_t job_seed(const struct job *job)
{
    return job->options.seed ? strtoull(job->options.seed, NULL, 0) : 0;
}

enum data_part job_timed_part(const struct job *job, int row)
{
    const struct program *p = &job->plan.rows[row].program;
    const struct mask *mask = &job->plan.cases[job->plan.rows[row].case_index].work.mask;
    bool full = mask->pattern != MASK_NONE && !mask->marks_output && !p->uses_mask;
    return full ? (enum data_part)(DATA_PART_PRECISION | DATA_FULL) : DATA_PART_PRECISION;
}

enum data_part job_verified_part(const struct job *job, int row, enum data_part part)
{
    bool dense = job_timed_part(job, row) & DATA_FULL;
    return dense && job->plan.rows[row].kind == PLAN_CHAIN ? (enum data_part)(part | DATA_FULL) : part;
}
