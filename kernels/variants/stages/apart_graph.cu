/* bench 1
op: stages
what: the launches of apart as one CUDA graph
from: apart
params:
  PIXELS: {values: [auto, 1, 2, 4, 8], default: auto}   # neighbours in a row that a thread makes; auto: 4 where pixels come one by one, 1 where some are gathered
  ROWS: {values: [auto, 1, 2, 4], default: auto}        # and in how many rows; auto: 2, or 1
graph: yes
steps:
  - stages: each
    images: each
*/

/* What changed from apart: the same kernels, launched at once. What is left of the difference to a fused kernel is memory, not launches. */
#include "stage/chain.cuh"
