/* bench 1
op: stages
what: one launch for every stage and image, all images in between in memory
params:
  PIXELS: {values: [auto, 1, 2, 4, 8], default: auto}   # neighbours in a row that a thread makes; auto: 4 where pixels come one by one, 1 where some are gathered
  ROWS: {values: [auto, 1, 2, 4], default: auto}        # and in how many rows; auto: 2, or 1
steps:
  - stages: each
    images: each
*/

/* What a library of image operations does when each call is one operation on one image. */
#include "stage/chain.cuh"
