/* The frames of a sequence's rows, timed. */
#include "measure/time/group.h"

/* The rows' frames are not paired samples, so the ratio's interval uses the far ends of both intervals. */
static void compare(const struct timing_group *b)
{
    bool has_zero = b->timing->job->plan.rows[b->index[0]].row_index == 0;
    const struct row_time *of = has_zero ? row_time(b->rows[0], MODE_WARM) : NULL;
    for (int i = 1; of && i < b->count; i++)
        for (int k = 0; k < b->rows[i]->time_count; k++) {
            struct row_time *t = &b->rows[i]->times[k];
            t->ratio = of->median_ns / t->median_ns;
            t->ratio_low = of->low_ns / t->high_ns;
            t->ratio_high = of->high_ns / t->low_ns;
        }
}

static bool time_frames(struct timing_group *b, int i, struct error *err)
{
    struct frames_run r;
    const struct job *job = b->timing->job;
    b->blame = -1;
    if (!sequence_begin(&r, b->timing->sequence, b->index[i], b->rows[i], err))
        return false;
    b->blame = r.index;
    int frames = r.source->q->frames;
    SCOPED double *ns = xcalloc((size_t)frames, sizeof *ns);
    bool ok = build_make(job, r.p->program, &b->builds[i], err) && sequence_open_rig(&r, b->builds[i].images, err);
    b->rigs[i] = r.rig;
    ok = ok && (rig_library_step(r.rig, 0) < 0 || timing_plans(b, i, err));
    ok = ok && ALL_OF(n, frames, sequence_run_frame(&r, n, &ns[n], err));
    if (ok) {
        estimates_add(r.row, -1, MODE_WARM, &(struct estimate_rounds){.ns = ns + 1, .count = frames - 1, .family = 1});
        row_add_metric(r.row, -1, 0, "sequence.frame0_ns", "ns", "measured", ns[0]);
        rig_close(r.rig); /* the next row needs the memory */
        b->rigs[i] = NULL;
    }
    return ok;
}

bool timing_sequence(struct timing_group *b, struct error *err)
{
    if (!ALL_OF(i, b->count, time_frames(b, i, err)))
        return false;
    b->blame = -1;
    compare(b);
    board_report(&b->timing->board, b->rows, b->count);
    return true;
}
