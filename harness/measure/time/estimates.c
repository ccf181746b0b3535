#include "measure/time/estimates.h"
#include <math.h>
#include <string.h>

#define CLOCK_STEP_LEAST_NS 1.0 /* the driver returns milliseconds as floats: equal times differ by less than this */

struct row_time *estimates_add(struct row *row, int step, enum time_mode mode, const struct estimate_rounds *rounds)
{
    struct row_time *t = row_add_time(row);
    struct estimate e = estimate_median_grouped(rounds->ns, rounds->places, rounds->count, 1);
    estimate_span_step(&e, rounds->ns, rounds->count, CLOCK_STEP_LEAST_NS);
    t->step = step;
    row_time_set_mode(t, mode);
    t->median_ns = e.median;
    t->low_ns = e.low;
    t->high_ns = e.high;
    t->p05_ns = e.p05;
    t->p95_ns = e.p95;
    t->rounds = rounds->count;
    t->samples_ns = xcalloc((size_t)rounds->count, sizeof *t->samples_ns);
    memcpy(t->samples_ns, rounds->ns, (size_t)rounds->count * sizeof *t->samples_ns);
    if (rounds->base) {
        int paired = rounds->paired ? rounds->paired : rounds->count;
        struct estimate r = estimate_ratio_grouped(rounds->base, rounds->ns, rounds->places, paired, rounds->family);
        t->ratio = r.median;
        t->ratio_low = r.low;
        t->ratio_high = r.high;
    }
    return t;
}

/* Counts the rounds that a candidate took part in, which are always the first ones. */
int rounds_taken(const struct sample_candidate *e, int rounds)
{
    int count = 0;
    while (count < rounds && isfinite(e->samples_ns[count]))
        count++;
    return count;
}

struct estimate_rounds estimate_rounds_of(const struct sample_candidate *e, const struct sample_candidate *base,
                                          const struct sample_result *result, int family)
{
    int rounds = rounds_taken(e, result->rounds), paired = base ? rounds_taken(base, rounds) : 0;
    return (struct estimate_rounds){e->samples_ns, paired ? base->samples_ns : NULL, result->places, rounds, family, paired};
}

void estimates_clock(struct row *row, const struct sample_candidate *e, int rounds)
{
    SCOPED double *hz = xcalloc((size_t)rounds + 1, sizeof *hz);
    int known = 0;
    for (int r = 0; r < rounds; r++)
        if (isfinite(e->clock_hz[r]))
            hz[known++] = e->clock_hz[r];
    if (known && isnan(row->sm_clock_mhz))
        row->sm_clock_mhz = estimate_median(hz, known).median / 1e6;
}
