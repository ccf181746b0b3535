/* bench 1
op: stages
what: the launches of apart as one CUDA graph
from: apart
params:
  PIXELS: {values: [1, 2, 4, 8], default: 1}
graph: yes
steps:
  - stages: each
    images: each
*/

/* What changed from apart: the same kernels, launched at once. What is left of the difference to a fused kernel is memory, not launches. */
#include "stage/chain.cuh"
