/* bench 1
op: stages
what: one launch for every stage, all images of the batch in it
from: apart_graph
params:
  PIXELS: {values: [auto, 1, 2, 4, 8], default: auto}   # neighbours in a row that a thread makes; auto: 4 where pixels come one by one, 1 where some are gathered
  ROWS: {values: [auto, 1, 2, 4], default: auto}        # and in how many rows; auto: 2, or 1
steps:
  - stages: each
*/

/* What changed from apart_graph: launches one by one again, but a grid is as deep as the batch, so that small images together fill the chip. */
#include "stage/chain.cuh"
