/* A run on emu by several processes: emu uses all cores for large launches only, and reads, compiles and compares on one. */
#include "base/pool.h"
#include "base/spec.h"
#include "base/text.h"
#include "plan/rows/shard.h"
#include "run/parent/fleet.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define PARTS_MOST 4
#define WORTH_S 3.0 /* CPU seconds that the other processes take over; each needs a quarter of a second to start */

int session_parts(const struct session *s)
{
    const struct session_options *o = s->options;
    const char *wanted = getenv("BENCH_PARTS");
    long long parts = 0;
    if (spec_is_timed(s->device.spec) || o->inside || o->feed || o->gate || s->asked.tune)
        return 1;
    if (wanted && text_to_int(wanted, &parts) && parts > 0)
        return (int)parts;
    SCOPED double *seconds = xcalloc((size_t)s->plan.case_count + 1, sizeof *seconds);
    SCOPED bool *due = xcalloc((size_t)s->plan.case_count + 1, sizeof *due);
    plan_costs(&s->plan, false, seconds);
    for (int i = 0; i < s->plan.row_count; i++)
        due[s->plan.rows[i].case_index] |= session_due(s, i);
    double sum = 0, most = 0;
    int count = 0;
    for (int c = 0; c < s->plan.case_count; c++) {
        sum += due[c] ? seconds[c] : 0;
        most = due[c] ? fmax(most, seconds[c]) : most;
        count += due[c];
    }
    count = count < PARTS_MOST ? count : PARTS_MOST;
    count = count < pool_threads() ? count : pool_threads();
    return sum - most < WORTH_S || !count ? 1 : count;
}

bool session_split(struct session *s, int count, struct error *err)
{
    struct fleet f = {.s = s, .count = count, .gpus = xcalloc((size_t)count, sizeof *f.gpus), .shared = true};
    child_stop(&s->worker, NULL, 0); /* each process has its own */
    for (int k = 0; k < count; k++) {
        struct gpu *g = &f.gpus[k];
        g->child = CHILD_NONE;
        snprintf(g->spec, sizeof g->spec, "%s", s->device.spec);
        snprintf(g->place, sizeof g->place, "%s", s->device.spec);
        snprintf(g->uuid, sizeof g->uuid, "%s", s->device.uuid);
        g->threads = pool_threads() / count + 1; /* one more than its share: at the end, some have nothing to do */
    }
    bool ok = fleet_run(&f, err);
    fleet_close(&f);
    return ok;
}
