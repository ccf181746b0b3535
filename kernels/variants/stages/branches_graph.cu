/* bench 1
what: branches as one CUDA graph, in parallel
like: branches_streams
from: branches_streams
graph: yes
*/

/* What changed from branches_streams: the graph has a node for each branch, none behind another. */
#include "stage/chain.cuh"
