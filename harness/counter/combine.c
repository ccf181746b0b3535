#include "counter/combine.h"
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

const char counter_weight_time[] = "gpu__time_duration.sum";
const char counter_weight_active[] = "sm__cycles_active.avg";

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n >= m && !strcmp(s + n - m, end);
}

double counter_combine(const char *metric, const double *values, const double *times, const double *actives, int stride, int launches)
{
    static const char *const totals[] = {".sum", ".avg", ".max", ".min", NULL}, *const per_time[] = {".per_second", "_elapsed", NULL};
    const double *weights = NULL;
    bool adds = false;
    if (launches == 1)
        return values[0];
    for (int i = 0; totals[i]; i++)
        adds = adds || ends_with(metric, totals[i]);
    for (int i = 0; per_time[i]; i++)
        weights = ends_with(metric, per_time[i]) ? times : weights;
    weights = ends_with(metric, "_active") ? actives : weights;
    if (launches < 1 || (!adds && !weights))
        return NAN;
    double sum = 0, all = 0;
    for (int i = 0; i < launches; i++) {
        double w = adds ? 1 : weights[i * stride];
        sum += values[i * stride] * w; /* a NaN stays */
        all += w;
    }
    return adds ? sum : all > 0 ? sum / all : NAN;
}
