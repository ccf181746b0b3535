#include "measure/job.h"
#include "base/spec.h"
#include "base/text.h"
#include <stdlib.h>
#include <string.h>

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

bool job_interprets(const struct job *job)
{
    return job->dev ? !job->dev->ops->keeps_time : job->options.device && !spec_is_timed(job->options.device);
}

bool job_open_emu(const struct job *job, struct device **dev, struct error *err)
{
    int count;
    const struct chip *chips = chip_table(&count);
    char *spec = NULL;
    for (int i = 0; i < count && !spec; i++)
        if (!strcmp(chips[i].arch, job->plan.chip.arch))
            spec = text_format(SPEC_COUNTS ":%s", chips[i].name);
    bool ok = job->open(spec ? spec : SPEC_COUNTS, dev, err);
    free(spec);
    return ok;
}

uint64_t job_seed(const struct job *job)
{
    return job->options.seed ? strtoull(job->options.seed, NULL, 0) : 0;
}

enum data_part job_timed_part(const struct job *job, int row)
{
    const struct program *p = plan_program(&job->plan, row);
    const struct mask *mask = &job->plan.cases[job->plan.rows[row].case_index].work.mask;
    bool full = mask->pattern != MASK_NONE && !mask->marks_output && !p->uses_mask;
    return full ? (enum data_part)(DATA_PART_PRECISION | DATA_FULL) : DATA_PART_PRECISION;
}

enum data_part job_verified_part(const struct job *job, int row, enum data_part part)
{
    bool dense = job_timed_part(job, row) & DATA_FULL;
    return dense && job->plan.rows[row].kind == PLAN_CHAIN ? (enum data_part)(part | DATA_FULL) : part;
}
