/* bench 1
op: stages
what: one launch for every branch, with all its stages in it
from: vertical
params:
  PIXELS: {values: [auto, 1, 2, 4, 8], default: auto}   # neighbours in a row that a thread makes; auto: 4 where pixels come one by one, 1 where some are gathered
  ROWS: {values: [auto, 1, 2, 4], default: auto}        # and in how many rows; auto: 2, or 1
steps:
  - stages: branches
*/

/* What changed from vertical: a branch computes its pixels through all stages, including those before the branches. Divergent fusion (backwards) puts the same
 * code into one grid; here there are as many launches as branches, one after another. */
#include "stage/chain.cuh"
