/* bench 1
op: histogram
what: mine
steps:
  - fill: count = 0
  - kernel: histogram
    grid: min(ceil(n, 256), 100)
    block: 256
    args: x, count, n
*/
extern "C" __global__ void histogram(const unsigned char *x, unsigned *count, int n)
{
    __shared__ unsigned own[256];
    own[threadIdx.x] = 0; __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) atomicAdd(&own[x[i]], 1);
    __syncthreads();
    atomicAdd(&count[threadIdx.x], own[threadIdx.x]);
}
