/* plan/sequence: the rows that the sequences of a scenario come to: layers run over frames, by sparse variants with state kept from frame
 * to frame, and by dense ones.
 *
 * Frame 0 is computed whole. From then on a frame's changes go through the layers: a pixel that changed by more than the threshold is sent
 * on, each layer adds what arrives to its sums, and behind each activation a pixel's change is sent on when its norm is above the
 * truncation. What is held back stays in the difference between the sum and what was sent (kernels/sequence/delta.cu). */
#ifndef BENCH_PLAN_SEQUENCE_H
#define BENCH_PLAN_SEQUENCE_H

#include "plan/plan.h"

#define SEQUENCE_HOST_LIMIT_S 600.0 /* weights, a frame, the dense result of one in double */

/* A row to come: one variant at one point on one sequence. Parent and worker make the same list of the same plan. */
struct sequence_job {
    const struct scenario_sequence *q;
    int sequence, row_index; /* dense variants first, so that row 0 of a sequence is one of them */
    const struct variant *variant;
    const struct variant_point *point;
    bool sparse;
};
struct sequence_jobs {
    struct sequence_job *items;
    int count;
    struct variant_point **points; /* what the items point into */
    int *point_counts;
    int list_count;
};
/* None is no error here. */
bool sequence_jobs_make(const struct plan *plan, const char *only, struct sequence_jobs *out, struct error *err);
void sequence_jobs_free(struct sequence_jobs *jobs);
/* A row with everything that is known before it runs. */
struct row *sequence_row_new(const struct plan *plan, const struct sequence_job *job, const char *device, struct error *err);

/* The works of the layers at the size that flows; `out` holds q->layer_count of them. */
bool sequence_works(const struct scenario *s, const struct scenario_sequence *q, const char *device_kind, struct work *out,
                    struct error *err);

#endif
