/* Times a row with and without one of its parts: compiles it with -DABLATE_..., runs it, never checks its results. */
#include "base/text.h"
#include "measure/time/sample.h"
#include "base/stats/estimate.h"
#include "measure/count/code.h"
#include "run/child/ablate.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 31
#define WARMUP 3
#define LOAD_LIMIT_S 180.0
#define WHOLE ABLATE_COUNT /* index of the row itself */

struct ablated {
    struct program program; /* the row's, but for its units */
    struct unit *units;
    char *define;
    struct build build;
    struct rig *rig; /* NULL: not offered */
};

/* The row's program with one more -D for its own file. */
static void without(struct ablated *a, const struct program *whole, int part)
{
    a->program = *whole;
    a->units = xcalloc((size_t)whole->unit_count, sizeof *a->units);
    memcpy(a->units, whole->units, sizeof *a->units * (size_t)whole->unit_count);
    a->program.units = a->units;
    if (part == WHOLE)
        return;
    struct unit *own = &a->units[0];
    char **defines = xcalloc((size_t)own->define_count + 1, sizeof *defines);
    memcpy(defines, own->defines, sizeof *defines * (size_t)own->define_count);
    a->define = text_format("ABLATE_%s=1", ablation_names[part]);
    for (char *c = a->define; *c != '='; c++)
        *c = (char)toupper((unsigned char)*c);
    defines[own->define_count++] = a->define;
    own->defines = defines;
}

static void forget(struct ablated *a)
{
    if (a->define)
        free(a->units[0].defines);
    free(a->define);
    free(a->units);
    build_free(&a->build);
}

static bool ablate_set_up(const struct ablator *of, int row, struct ablated *a, int part, struct error *err)
{
    struct op_data *data;
    double ns;
    job_stage(of->job, row, "ablate", LOAD_LIMIT_S);
    without(a, plan_verified_program(&of->job->plan, row), part); /* the data are of that work */
    return build_make(of->job, &a->program, &a->build, err) && data_get(of->data, row, job_timed_part(of->job, row), 0, &data, err) &&
           rig_open(of->job->dev, of->library->cudnn, &a->program, a->build.images, false, &a->rig, err) && rig_feed(a->rig, data, err) &&
           rig_prepare(a->rig, &ns, err) && rig_run(a->rig, err) && of->job->dev->ops->sync(of->job->dev, err);
}

/* `what`: ns or instructions. */
static void ablate_put(struct row *row, int part, const char *what, const char *unit, const char *source, double value)
{
    char name[80];
    snprintf(name, sizeof name, "ablate.%s%s_%s", part == WHOLE ? "whole" : "no_", part == WHOLE ? "" : ablation_names[part], what);
    row_add_metric(row, -1, 0, name, unit, source, value);
}

static bool time_parts(const struct ablator *of, int row, struct ablated *parts, struct row *out, struct error *err)
{
    struct rig *rigs[WHOLE + 1];
    int which[WHOLE + 1], count = 0;
    double ns[WHOLE + 1], samples[WHOLE + 1][ROUNDS];
    for (int i = WHOLE; i >= 0; i--) /* the whole row first: it absorbs the untimed first run of each round */
        if (parts[i].rig) {
            which[count] = i;
            rigs[count++] = parts[i].rig;
        }
    for (int r = -WARMUP; r < ROUNDS; r++) {
        job_stage(of->job, row, "ablate", of->job->time_limit_s * (count + 1) + 5);
        if (!sample_round(of->job->dev, rigs, count, r + WARMUP, ns, err))
            return false;
        for (int i = 0; i < count && r >= 0; i++)
            samples[i][r] = ns[i];
    }
    for (int i = 0; i < count; i++)
        ablate_put(out, which[i], "ns", "ns", "events", estimate_median(samples[i], ROUNDS).median);
    return true;
}

static bool count_parts(const struct ablator *of, struct ablated *parts, struct row *out, struct error *err)
{
    for (int i = WHOLE; i >= 0; i--) {
        if (!parts[i].rig)
            continue;
        of->job->dev->ops->clear(of->job->dev);
        if (!rig_run(parts[i].rig, err) || !of->job->dev->ops->sync(of->job->dev, err))
            return false;
        ablate_put(out, i, "instructions", "", "emu", code_instructions(of->job->dev));
    }
    return true;
}

bool ablation_run(const struct ablator *of, int index, struct row *out, struct error *err)
{
    struct ablated parts[WHOLE + 1] = {0};
    const struct program *p = plan_verified_program(&of->job->plan, index);
    bool ok = true;
    for (int i = 0; i <= WHOLE && ok; i++)
        if (i == WHOLE || p->ablations[i])
            ok = ablate_set_up(of, index, &parts[i], i, err);
    ok = ok && (of->job->dev->ops->keeps_time ? time_parts(of, index, parts, out, err)
                                              : !of->job->dev->ops->counters || count_parts(of, parts, out, err));
    for (int i = 0; i <= WHOLE; i++) {
        if (ok)
            rig_close(parts[i].rig); /* otherwise the context may be lost, and this process ends */
        if (parts[i].units)
            forget(&parts[i]);
    }
    return ok;
}
