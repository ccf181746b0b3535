/* bench 1
op: stages
what: one launch - each pixel of the result computes what it needs through all stages
from: vertical
params:
  PIXELS: {values: [auto, 1, 2, 4, 8], default: auto}   # neighbours in a row that a thread makes; auto: 4 where pixels come one by one, 1 where some are gathered
  ROWS: {values: [auto, 1, 2, 4], default: auto}        # and in how many rows; auto: 2, or 1
steps:
  - stages: whole
*/

/* What changed from vertical: no intermediate image is stored. A thread of the result asks the last stage, which asks the one before it, back to the pixels
 * of the input that count; images that are never used are never computed. A value that is read more than once is computed as often. */
#include "stage/chain.cuh"
