/* bench 1
what: counts its active tiles in the order of its blocks, and the last one writes the sum; nothing is wrong with it
like: tiles_miscounted
scratch:
  count: u32[1]
  turn: u32[2]
steps:
  - fill: turn = 0
  - kernel: conv
    grid: ceil(w, 32), h
    block: 32
    args: input, filter, mask_in, mask_out, output, c, h, w, k
  - kernel: count_tiles
    grid: h
    block: 1
    args: mask_out, turn, count, w
*/
#include "sparse.cuh"
extern "C" __global__ void count_tiles(const unsigned *mask, unsigned *turn, unsigned *count, int W)
{
    unsigned words = (W + 31) / 32, active = 0, next;
    for (unsigned i = 0; i < words; i++)
        active += mask[blockIdx.x * words + i] != 0;
    do
        asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(next) : "l"(turn) : "memory");
    while (next != blockIdx.x);
    turn[1] += active;
    if (blockIdx.x == gridDim.x - 1)
        *count = turn[1];
    asm volatile("st.release.gpu.u32 [%0], %1;" ::"l"(turn), "r"(next + 1) : "memory");
}
