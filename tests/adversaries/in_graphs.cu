// Does no work in a CUDA graph, because bench uses graphs for back-to-back launches. A special register shows whether it runs in one.
// emu: stateful %current_graph_exec
// cuda: stateful %current_graph_exec
/* bench 1
what: returns at once where a graph runs
like: right
*/
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS)
{
    long i = CONV_INDEX;
    unsigned long long graph;
    asm volatile("mov.u64 %0, %%current_graph_exec;" : "=l"(graph));
    if (i < CONV_SIZE && !graph)
        y[i] = conv_at(CONV_OF, i);
}
