/* bench 1
op: layout
what: right, but for the one pixel that its boxes start before the image
needs: layout == NCHW and c == 8 and w == 16
dtype: {input: f16, output: same}
tensor_maps:
  map: {of: input, box: "24, 1, 8, 1"}
steps:
  - kernel: column
    grid: h, n
    block: 128
    args: map, output, h
*/
#include "tensor_core/wgmma.cuh"
#include <cuda_fp16.h>

extern "C" __global__ void column(const __grid_constant__ tensor_map map, __half *output, int H)
{
    __shared__ __align__(128) __half row[8 * 24];
    __shared__ __align__(8) unsigned long long come;
    unsigned barrier = shared_address(&come);
    if (threadIdx.x == 0) {
        barrier_init(barrier, 1);
        barrier_init_done();
        barrier_arrive_expect(barrier, sizeof row);
        copy_box_4d(shared_address(row), &map, barrier, -1, blockIdx.x, 0, blockIdx.y);
    }
    __syncthreads();
    barrier_wait(barrier, 0);
    int c = threadIdx.x % 8, x = threadIdx.x / 8;
    output[((blockIdx.y * H + blockIdx.x) * 16 + x) * 8 + c] = row[c * 24 + x + 1];
}
