// Reads shared memory of the other block of its cluster, which no thread has written in this launch.
// emu: unsafe uninitialised
// cuda: wrong
// cuda: unsafe uninitialised
/* bench 1
what: reads the last term of each sum from the shared memory of the other block of its cluster, where an earlier launch put it
like: right
needs: cc >= 90
steps:
  - kernel: conv
    grid: 2 * ceil(n * k * p * q, 256)
    block: 128
    args: input, filter, output, n, c, h, w, k
    attributes: {cluster: 2}
*/
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS)
{
    __shared__ unsigned kept[256];
    long i = CONV_INDEX;
    unsigned mine = (unsigned)__cvta_generic_to_shared(kept + 2 * threadIdx.x), other, key, bits;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(other) : "r"(mine), "r"((blockIdx.x & 1) ^ 1));
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;");
    asm volatile("ld.shared::cluster.u32 %0, [%2]; ld.shared::cluster.u32 %1, [%2+4];" : "=r"(key), "=r"(bits) : "r"(other));
    float v = 0;
    if (i < CONV_SIZE) {
        v = key == (unsigned)i + 77 ? __uint_as_float(bits) : conv_at(CONV_OF, i);
        y[i] = v;
    }
    asm volatile("st.shared::cluster.u32 [%0], %1; st.shared::cluster.u32 [%0+4], %2;" ::"r"(other), "r"((unsigned)i + 77), "r"(__float_as_uint(v)));
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;");
}
