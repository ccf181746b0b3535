/* bench 1
op: rownorm
what: a warp a row, two passes
steps:
  - kernel: k
    grid: rows
    block: 32
    args: x, y, rows, cols, eps
*/
static __device__ float all(float v)
{
    for (int d = 16; d; d /= 2)
        v += __shfl_xor_sync(~0u, v, d);
    return v;
}

extern "C" __global__ void k(const float *x, float *y, int rows, int cols, float eps)
{
    x += (size_t)blockIdx.x * cols, y += (size_t)blockIdx.x * cols;
    float mean = 0, square = 0;
    for (int i = threadIdx.x; i < cols; i += 32)
        mean += x[i];
    mean = all(mean) / cols;
    for (int i = threadIdx.x; i < cols; i += 32)
        square += (x[i] - mean) * (x[i] - mean);
    float scale = rsqrtf(all(square) / cols + eps);
    for (int i = threadIdx.x; i < cols; i += 32)
        y[i] = (x[i] - mean) * scale;
}
