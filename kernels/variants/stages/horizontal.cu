/* bench 1
op: stages
what: one launch for every stage, all images of the batch in it
from: apart
params:
  PIXELS: {values: [1, 2, 4, 8], default: 1}
steps:
  - stages: each
*/

/* What changed from apart: a grid is as deep as the batch, so that small images together fill the chip. */
#include "stage/chain.cuh"
