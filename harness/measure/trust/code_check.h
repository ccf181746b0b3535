/* measure/trust/code_check: checks a row's code before it runs: the type that tensor cores multiply in, and whether a step that may
 * start early waits for the previous step. */
#pragma once

#include "measure/rig/build.h"

/* A row is wrong if its tensor cores multiply in a narrower type than its math mode and algorithm allow, even if its result is close:
 * for long sums the tolerance would accept it. */
void code_check_factors(const struct program *program, const struct build *build, struct row *row);
/* A step that may start before the previous step has finished, shares a buffer with it and never waits, is unsafe. */
void code_check_waits(const struct program *program, const struct build *build, struct row *row);
/* True if it has no matrix instruction and no library call; machine code without PTX counts as unknown. images: by unit. */
bool code_sums_round(const struct program *program, const struct device_image *images);
/* Sets `rounds` of a row's program, once. */
void code_take_rounds(const struct plan_row *row, struct program *program, const struct device_image *images);
