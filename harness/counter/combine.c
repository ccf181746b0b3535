#include "counter/combine.h"
#include "base/text.h"
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

const char counter_weight_time[] = "gpu__time_duration.sum";
const char counter_weight_active[] = "sm__cycles_active.avg";

double counter_combine(const char *metric, const double *values, const double *times, const double *actives, int stride, int launches)
{
    static const char *const totals[] = {".sum", ".avg", ".max", ".min", NULL}, *const per_time[] = {".per_second", "_elapsed", NULL};
    const double *weights = NULL;
    bool adds = false;
    if (launches == 1)
        return values[0];
    for (int i = 0; totals[i]; i++)
        adds = adds || text_ends(metric, totals[i]);
    for (int i = 0; per_time[i]; i++)
        weights = text_ends(metric, per_time[i]) ? times : weights;
    weights = text_ends(metric, "_active") ? actives : weights;
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
