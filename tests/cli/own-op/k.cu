#define WIDTH_READ width
extern "C" __global__ void softmax_rows(const float *logits, float *shares, int num_lines, int width, float heat)
{
    const float *x = logits + (size_t)blockIdx.x * width;
    __shared__ float part[8];
    float most = -1e30f, sum = 0;
    for (int i = threadIdx.x; i < width; i += blockDim.x)
        most = fmaxf(most, heat * x[i]);
    for (int o = 16; o; o /= 2)
        most = fmaxf(most, __shfl_xor_sync(~0u, most, o));
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = most;
    __syncthreads();
    for (int i = 0; i < blockDim.x / 32; i++)
        most = fmaxf(most, part[i]);
    __syncthreads();
    for (int i = threadIdx.x; i < WIDTH_READ; i += blockDim.x)
        sum += expf(heat * x[i] - most);
    for (int o = 16; o; o /= 2)
        sum += __shfl_xor_sync(~0u, sum, o);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = 0;
    for (int i = 0; i < blockDim.x / 32; i++)
        sum += part[i];
    for (int i = threadIdx.x; i < width; i += blockDim.x)
        shares[(size_t)blockIdx.x * width + i] = expf(heat * x[i] - most) / sum;
}
