/* bench 1
what: backwards as in a debug build - nothing inlined, every value in local memory
from: backwards
like: backwards
define:
  BENCH_DEBUG: 1
*/

/* Nothing changed from backwards but the compiler's -G. Stages that are functions of a pixel cost nothing as long as they are inlined: this row is what they cost when not. */
#include "stage/chain.cuh"
