#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
__global__ void gemv(const float4 *A, const float4 *x, float *y, int rows, int cols4)
{
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    int row = blockIdx.x * (blockDim.x / 32) + warp.meta_group_rank();
    if (row >= rows) return;
    float s = 0;
    for (int i = warp.thread_rank(); i < cols4; i += 32) { float4 a = A[row * cols4 + i], b = x[i]; s += a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }
    s = cg::reduce(warp, s, cg::plus<float>());
    if (warp.thread_rank() == 0) y[row] = s;
}
