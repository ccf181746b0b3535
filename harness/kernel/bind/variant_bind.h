/* kernel/bind/variant_bind: makes a program from a variant in one configuration and a work. */
#pragma once

#include "device/chip/chip.h"
#include "kernel/variant.h"

/* Binds a configuration to a work on a chip. False only for a broken head (an expression that cannot be evaluated: error at its place). An
 * infeasible configuration is a success with program->feasible = false and a reason: condition, layout, dtype, math, epilogue, mask,
 * parameter clause, limits of the chip (threads, shared memory, grid). `set` provides the completing variants (pointwise/epilogue,
 * depth_to_space/d2s_native, layout/...) for epilogue items that the variant does not fuse. */
bool variant_bind(const struct variant_set *set, const struct variant_config *config, const struct work *work, const struct chip *chip,
                  struct program *program, struct error *err);
/* The same for a rule (`select:`) whose choice comes from a search instead of its items; the program has the rule's name. */
bool variant_bind_choice(const struct variant_set *set, const struct variant_config *rule, const struct variant_config *choice,
                         const struct work *work, const struct chip *chip, struct program *program, struct error *err);
/* The variants that a rule's `race:` names and that support this work, each in one configuration, except the one that the rule takes:
 * malloc'd if there is one. -1: a broken head. */
int variant_race(const struct variant_set *set, const struct variant_config *rule, const struct work *work, const struct chip *chip,
                 struct variant_config **configs, struct error *err);
