/* bench 1
op: stages
what: one launch for every stage that samples, with all that is done to its pixels behind it
from: horizontal
params:
  PIXELS: {values: [1, 2, 4, 8], default: 1}
steps:
  - stages: sampled
*/

/* What changed from horizontal: point stages run where the pixel is, in registers; only what a sampling stage reads is stored. */
#include "stage/chain.cuh"
