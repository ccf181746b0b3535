/* bench 1
what: branches, each on a stream of its own
like: branches
from: branches
steps:
  - stages: branches
    streams: each
*/

/* What changed from branches: the launches run side by side, between one event on which all streams wait and one event of each stream. */
#include "stage/chain.cuh"
