/* run/parent/health: is a GPU of several as fast as the others, and sound? From checks with the same kernels before, between and after the
 * rows (measure/time/roofs.h, roofs_check). */
#pragma once

#include "device/chip/roof.h"
#include "base/text.h"

#define HEALTH_NOISY 0.01 /* the same burst, timed in turns, differs from itself */
enum health { HEALTH_UNKNOWN, HEALTH_GOOD, HEALTH_LABELLED, HEALTH_REFUSED };
struct gpu_check {
    struct ceiling_list rates;
    char others[160]; /* other processes on the GPU; "": none seen */
};
/* Judges GPU `index` by its check against the median of the others: HEALTH_LABELLED if a rate or clock is more than 5 % lower, a burst
 * differs from itself by more than 1 %, the driver holds the clock down, or another process computes there; HEALTH_REFUSED if a rate is
 * more than 20 % lower or it has uncorrectable memory errors. *why says what: each fact with its numbers. Fewer than two checks: rates are
 * not judged. */
enum health health_judge(const struct gpu_check *checks, int count, int index, struct text *why);
/* Judges a later check of one GPU against its first: HEALTH_LABELLED if it has become more than 5 % slower or noisy, throttled or shared.
 */
enum health health_drift(const struct gpu_check *first, const struct gpu_check *now, struct text *why);
const char *health_name(enum health h);
