/* measure/rig/compile_facts: what the compiler says about a row's kernels, into the row. */
#ifndef BENCH_MEASURE_RIG_COMPILE_FACTS_H
#define BENCH_MEASURE_RIG_COMPILE_FACTS_H

#include "measure/rig/build.h"

struct kernel_facts;
/* Of one kernel of a unit. */
bool build_kernel_facts(const struct compiled *c, const char *kernel, struct kernel_facts *out, struct error *err);
/* Registers, spills, shared memory and occupancy of each step into row->steps; SASS counts into metrics. */
bool build_facts(const struct build *build, const struct program *program, const struct chip *chip, struct row *row, struct error *err);
/* row->launch_hash; absent where a part of the code is a library's. */
void build_launch_hash(const struct build *build, const struct program *program, const struct work *work, struct row *row);

#endif
