/* bench 1
op: counted
what: atomics; FAULT 1 counts in 16 bits
dtype: {x: u8, counts: i32}
params:
  FAULT: {values: [0, 1], default: 0}
steps:
  - fill: counts = 0
  - kernel: count
    grid: 8
    block: 256
    args: x, counts, pixels
*/
extern "C" __global__ void count(const unsigned char *x, int *counts, int pixels)
{
    for (int i = blockIdx.x * 256 + threadIdx.x; i < (FAULT ? (unsigned short)pixels : pixels); i += 2048)
        atomicAdd(&counts[x[i]], 1);
}
