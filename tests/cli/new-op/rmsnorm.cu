#include <cuda_bf16.h>
struct Params { int rows, cols; float eps; };
__device__ float warp_sum(float v) { for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o); return v; }
__global__ void rmsnorm(const __nv_bfloat16 *x, const __nv_bfloat16 *w, __nv_bfloat16 *y, Params p)
{
    __shared__ float part[32];
    int row = blockIdx.x;
    float s = 0;
    for (int i = threadIdx.x; i < p.cols; i += blockDim.x) { float v = __bfloat162float(x[row * p.cols + i]); s += v * v; }
    s = warp_sum(s);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
    __syncthreads();
    if (threadIdx.x < 32) { s = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0; s = warp_sum(s); if (!threadIdx.x) part[0] = s; }
    __syncthreads();
    float r = rsqrtf(part[0] / p.cols + p.eps);
    for (int i = threadIdx.x; i < p.cols; i += blockDim.x)
        y[row * p.cols + i] = __float2bfloat16(__bfloat162float(x[row * p.cols + i]) * r * __bfloat162float(w[i]));
}
