#include <cstdint>
// per-row int8 quantisation: scale = max|x| / 127
__global__ void quantize_rows(const float *__restrict__ x, int8_t *__restrict__ q, float *__restrict__ scale, int cols)
{
    extern __shared__ float red[];
    int row = blockIdx.x;
    float m = 0;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) m = fmaxf(m, fabsf(x[(int64_t)row * cols + c]));
    red[threadIdx.x] = m;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) { if (threadIdx.x < s) red[threadIdx.x] = fmaxf(red[threadIdx.x], red[threadIdx.x + s]); __syncthreads(); }
    float sc = red[0] / 127.f;
    if (threadIdx.x == 0) scale[row] = sc;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) q[(int64_t)row * cols + c] = (int8_t)__float2int_rn(sc > 0 ? x[(int64_t)row * cols + c] / sc : 0.f);
}
