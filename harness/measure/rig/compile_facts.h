/* measure/rig/compile_facts: stores the compiler's facts about a row's kernels in the row. */
#pragma once

#include "measure/rig/build.h"

struct kernel_facts;
/* The compiler's facts about one kernel of a unit. */
bool build_kernel_facts(const struct compiled *c, const char *kernel, struct kernel_facts *out, struct error *err);
/* Stores registers, spills, shared memory and occupancy of each step in row->steps, and SASS counts in the metrics. */
bool build_facts(const struct build *build, const struct program *program, const struct chip *chip, struct row *row, struct error *err);
/* Sets row->launch_hash; it stays absent if a library supplies part of the code. */
void build_launch_hash(const struct build *build, const struct program *program, const struct work *work, struct row *row);
