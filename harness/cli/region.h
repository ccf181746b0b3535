/* cli/region: of each variant with parameters, which combinations a chip takes for each layer, and what refuses the others. */
#pragma once

#include "cli/cli.h"

/* Prints a line and a table for each variant and case of a plan that was made with `tune`. */
void cli_region(const struct plan *plan);
