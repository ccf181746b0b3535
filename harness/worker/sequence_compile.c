/* What the rows of a plan's sequences compile. */
#include "base/text.h"
#include "worker/sequence_private.h"
#include "worker/private.h"
#include <stdlib.h>

static bool compiles_of_job(const struct plan *plan, const struct sequence_job *job, const char *device_kind, sequence_compile take,
                            void *context, struct error *err)
{
    struct sequence_source source = {.q = job->q, .count = job->q->layer_count};
    struct runner r = {.plan = plan, .library = true, .source = &source, .point = job->point, .sparse = job->sparse};
    struct work *works = xcalloc((size_t)source.count, sizeof *works);
    char *why = NULL;
    source.layers = xcalloc((size_t)source.count, sizeof *source.layers);
    bool ok = sequence_works(plan->scenario, job->q, device_kind, works, err);
    for (int i = 0; i < source.count; i++)
        source.layers[i].work = works[i];
    ok = ok && runner_bind(&r, &why, err) && (why || runner_compiles(&r, take, context, err));
    runner_unbind(&r);
    free(why);
    free(source.layers);
    free(works);
    return ok;
}

bool worker_sequence_compiles(const struct plan *plan, const char *device_kind, const char *only, sequence_compile take, void *context,
                              struct error *err)
{
    struct sequence_jobs jobs;
    bool ok = sequence_jobs_make(plan, only, &jobs, err);
    for (int i = 0; ok && i < jobs.count; i++)
        ok = compiles_of_job(plan, &jobs.items[i], device_kind, take, context, err);
    sequence_jobs_free(&jobs);
    return ok;
}
