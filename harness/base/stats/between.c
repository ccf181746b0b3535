#include "base/stats/between.h"
#include <math.h>

#define SHARE 0.015
#define LAUNCH_NS 220.0 /* 1.96 x sqrt(2) x 80: a launch of nothing in 14 processes on an H200 (reports/gallery/contexts-h200.txt) */

double between_processes(double ns, double other_ns)
{
    return fmax(SHARE, LAUNCH_NS / fmin(ns, other_ns));
}
