/* bench 1
op: stages
what: one launch for every stage that samples, with the point stages after it
from: horizontal
params:
  PIXELS: {values: [auto, 1, 2, 4, 8], default: auto}   # neighbours in a row that a thread makes; auto: 4 where pixels come one by one, 1 where some are gathered
  ROWS: {values: [auto, 1, 2, 4], default: auto}        # and in how many rows; auto: 2, or 1
steps:
  - stages: sampled
*/

/* What changed from horizontal: point stages run where the pixel is, in registers; only what a sampling stage reads is stored. */
#include "stage/chain.cuh"
