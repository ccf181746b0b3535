/* bench 1
op: stages
what: one launch for every stage and image, everything between in memory
params:
  PIXELS: {values: [1, 2, 4, 8], default: 1}
steps:
  - stages: each
    images: each
*/

/* What a library of image operations does when each call is one operation on one image. */
#include "stage/chain.cuh"
