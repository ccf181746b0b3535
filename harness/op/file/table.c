/* The ops in C, which no file can describe. To add one: its name here, and a `const struct op op_NAME` in a .c of its own. */
#include "op/file/ops.h"

extern const struct op op_chain;
const struct op *const op_table[] = {&op_chain, NULL};
