// Does not wait for its bulk stores. The result is right by luck on a GPU.
// emu: unsafe async_wait
// cuda: unsafe async_wait
/* bench 1
what: hands its results to bulk stores and ends without waiting until they have read them
like: right
needs: cc >= 90 and n * k * p * q % 4 == 0
*/
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS)
{
    __shared__ __align__(128) float line[128];
    long i = CONV_INDEX, left = CONV_SIZE - blockIdx.x * 128L;
    if (i < CONV_SIZE)
        line[threadIdx.x] = conv_at(CONV_OF, i);
    asm volatile("fence.proxy.async.shared::cta;");
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned from = (unsigned)__cvta_generic_to_shared(line), bytes = (unsigned)(left < 128 ? left * 4 : 512);
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(y + blockIdx.x * 128L), "r"(from), "r"(bytes) : "memory");
        asm volatile("cp.async.bulk.commit_group;");
    }
}
