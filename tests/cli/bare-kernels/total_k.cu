__global__ void total(const int *x, const int *scale, int *sum, int rows, int cols)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, v = i < rows * cols ? x[i] * scale[i / cols] : 0;
    v = __reduce_add_sync(~0u, v);
    if (threadIdx.x % 32 == 0)
        atomicAdd(sum, v);
}
