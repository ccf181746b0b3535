/* gate/baseline: a side as a file that is kept under version control: small, sorted, one fact a line, so that a diff of it can be reviewed.
 *
 *   # bench baseline: one fact a line. `bench baseline promote` writes it; a change by hand is refused.
 *   version: 2
 *   device: emu:GH100
 *   chip: sm_90a
 *   compiler: nvrtc 13.0.88
 *   bench: 7c4457e12a
 *   ops:
 *     ops/pairs.yaml: 0f1e2d3c4b5a6978
 *   rows:
 *     smoke/conv/conv2d/naive:
 *       scenario: smoke
 *       layer: conv
 *       launch: 5d1f0a3b9c7e2468
 *       emu.warp_instructions: 1234
 *       steps:
 *         conv_naive:
 *           registers: 32
 *   sum: SHA-256 of everything above
 *
 * Every row in the file was verified; `status: foil` marks one that exists only for comparison. An unknown value is left out.
 */
#pragma once

#include "gate/side.h"

#define BASELINE_VERSION 2
#define BASELINE_DIGITS 16 /* of a sum */
void baseline_write(struct text *t, const struct gate_side *side);
/* Errors, one clear message each: cut off, changed by hand, of another version, not a baseline. */
bool baseline_read(const char *path, struct gate_side *side, struct error *err);
/* Does the file begin like one? */
bool baseline_is(const char *path);
