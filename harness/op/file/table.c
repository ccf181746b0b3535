/* The ops that no file can say: to add one, its name here and a `const struct op op_NAME` in a .c of its own. All others are files. */
#include "op/file/ops.h"

extern const struct op op_chain;
const struct op *const op_table[] = {&op_chain, NULL};
