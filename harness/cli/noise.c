/* bench doctor --noise: how much two builds of the same kernel differ in time on this machine, and which slow-down that lets a gate
 * detect. */
#include "base/file.h"
#include "base/spec.h"
#include "base/text.h"
#include "device/chip/throttle.h"
#include "cli/cli.h"
#include "report/view/number.h"
#include "base/stats/decision.h"
#include "base/stats/quantile.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ALPHA 0.001 /* as a gate's */
#define SHORT_S 10.0
#define LONG_S 60.0

/* One kernel, loaded twice, in one mode. */
struct band {
    const struct row *a, *b;
    const struct row_time *ta, *tb;
};

static const struct row_time *time_like(const struct row *row, const struct row_time *t)
{
    return FIRST_IN(row->times, i, row->time_count, row->times[i].step == t->step && row_time_mode(&row->times[i]) == row_time_mode(t));
}

static struct decision decide(const struct band *n)
{
    int rounds = n->ta->rounds < n->tb->rounds ? n->ta->rounds : n->tb->rounds, *places = NULL;
    if (n->ta->places && !mode_is_sustained(row_time_mode(n->ta))) {
        places = xcalloc((size_t)rounds + 1, sizeof *places);
        for (int i = 0; i < rounds; i++)
            places[i] = (int)n->ta->places[i];
    }
    struct decision d = decision_make(n->ta->samples_ns, n->tb->samples_ns, places, rounds, 0, ALPHA);
    free(places);
    return d;
}

/* "1.2 %": the slow-down that nine of ten measurements of that length would detect, from the spread and cost of this run's rounds. At
 * least the difference of equal builds, which more rounds do not reduce: each build has one placement of its code. */
static void put_smallest(struct text *t, const struct decision *d, const struct band *n, double seconds)
{
    double rounds = n->ta->took_s > 0 ? d->rounds * seconds / n->ta->took_s : NAN;
    if (isfinite(rounds) && rounds >= DECISION_ROUNDS_LEAST)
        text_addf(t, " %7.2f %%", 100 * fmax(fabs(d->change), decision_smallest(d->spread, rounds, ALPHA)));
    else
        text_addf(t, " %9s", "-");
}

static void put_clock(struct text *t, const struct band *n)
{
    SCOPED double *hz = xcalloc((size_t)n->ta->rounds + 1, sizeof *hz);
    int known = 0;
    for (int i = 0; n->ta->clock_hz && i < n->ta->rounds; i++)
        if (isfinite(n->ta->clock_hz[i]) && n->ta->clock_hz[i] > 0)
            hz[known++] = n->ta->clock_hz[i] / 1e6;
    double middle = known ? quantile_median(hz, known) : NAN; /* which sorts them */
    if (known)
        text_addf(t, "  %4.0f %4.0f %4.0f", quantile_sorted(hz, known, 0.01), middle, quantile_sorted(hz, known, 0.99));
    else
        text_addf(t, "  %14s", "-");
    if (n->ta->retaken > 0)
        text_addf(t, ", %lld samples repeated, %lld kept at a lower clock", (long long)n->ta->retaken,
                  (long long)(n->ta->kept_low > 0 ? n->ta->kept_low : 0));
}

static void put_throttle(struct text *t, const struct band *n)
{
    int64_t bits = 0;
    SCOPED_TEXT why = {0};
    for (int i = 0; n->ta->throttle && i < n->ta->rounds; i++)
        bits |= n->ta->throttle[i] > 0 ? (int64_t)n->ta->throttle[i] : 0;
    throttle_text(bits, &why);
    if (why.len)
        text_addf(t, ", throttled: %s", text_get(&why));
}

static void put_band(struct text *t, const struct band *n)
{
    char number[NUMBER_TEXT], mode[32];
    struct decision d = decide(n);
    snprintf(mode, sizeof mode, "%s", mode_is_sustained(row_time_mode(n->ta)) ? n->ta->load : n->ta->cache);
    text_addf(t, "%-8s %-10s %9s %6d", n->a->layer, mode, number_time(n->ta->median_ns, number), d.rounds);
    if (isfinite(d.change)) {
        text_addf(t, " %+7.2f %%  %+6.2f .. %+5.2f %% %6.2f %%", 100 * d.change, 100 * d.low, 100 * d.high, 100 * d.spread);
        put_smallest(t, &d, n, SHORT_S);
        put_smallest(t, &d, n, LONG_S);
    } else {
        text_addf(t, " too few rounds");
    }
    put_clock(t, n);
    put_throttle(t, n);
    text_add(t, "\n");
}

static void put_bands(struct text *t, struct row *const *rows, int count)
{
    text_addf(t, "%-8s %-10s %9s %6s %9s  %18s %8s %9s %9s  %s\n", "layer", "mode", "time", "rounds", "A/A", "band", "spread", "in 10 s",
              "in 60 s", "clock MHz: 1 % 50 % 99 %");
    for (int i = 0; i < count; i++)
        for (int k = i + 1; k < count && rows[i]->side && !strcmp(rows[i]->side, "a"); k++)
            for (int m = 0; m < rows[i]->time_count && !strcmp(rows[k]->id, rows[i]->id); m++) {
                const struct band n = {rows[i], rows[k], &rows[i]->times[m], time_like(rows[k], &rows[i]->times[m])};
                if (n.ta->step < 0 && n.tb)
                    put_band(t, &n);
            }
}

int cli_noise(const struct ceilings_arguments *a, const char *out_dir, const char *argv)
{
    SCOPED char *scenario = file_share("scenarios/noise.yaml"), *database = cli_database(out_dir), *include = file_share("kernels/include");
    SCOPED char *variants = file_share("kernels/variants"), *ops = file_share("kernels/ops");
    /* Two sides of one tree: they differ only in where the driver places their code. */
    const struct side sides[] = {{.name = "a", .variants = variants, .include = include, .ops = ops},
                                 {.name = "b", .variants = variants, .include = include, .ops = ops},
                                 {0}};
    struct session_options run = {.plan = {.scenario_path = scenario,
                                           .device = a->device ? a->device : "cuda:0",
                                           .compiler = a->compiler,
                                           .bundle = a->bundle,
                                           .sides = sides,
                                           .counters = {.off = true}},
                                  .database = database,
                                  .out_dir = out_dir,
                                  .argv = argv,
                                  .verb = "doctor",
                                  .as_given = true};
    struct session_result result = {0};
    struct stored_run stored = {0};
    struct error err = {0};
    SCOPED_TEXT t = {0};
    bool ok = !spec_is(run.plan.device, SPEC_COUNTS);
    if (!ok) {
        error_set(&err, ERROR_ENVIRONMENT, "%s measures no time, so there is no noise", run.plan.device);
        error_hint(&err, "use a machine with a GPU: --device cuda:0");
    }
    ok = ok && cli_session_rows(&run, &result, &err) && cli_run_open(&stored, database, result.run_id, &err);
    if (ok) {
        text_addf(&t, "%s, %s: A/A control, one kernel loaded twice and timed alternately\n\n", stored.run.device_about,
                  stored.run.started);
        put_bands(&t, stored.rows, stored.count);
        text_addf(&t,
                  "\nA/A: measured slow-down of the second copy. band: 99.9 %% confidence sequence of that slow-down. spread: standard "
                  "deviation of the ratio of a round,\nwith the correlation of rounds and placements. in 10 s, in 60 s: slow-down that a "
                  "comparison of that length detects with a power of 90 %% at alpha %g\nand margin 0, computed from the spread and the "
                  "time of a round (%.1f s in total), and at least A/A. bench gate adds its margin and draws new placements.\n",
                  ALPHA, result.seconds);
        cli_print(&t);
    }
    cli_run_close(&stored);
    return ok ? 0 : cli_fail(&err);
}
