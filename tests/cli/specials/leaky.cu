extern "C" __global__ void leaky_reference(const float *input, double *output, long long rows, long long cols)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * cols)
        output[i] = input[i] > 0 ? input[i] : 0.5 * input[i];
}
extern "C" __global__ void most_reference(const float *x, double *y, long long rows, long long cols)
{
    long long row = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    double m = x[row * cols];
    for (long long i = 1; i < cols; i++)
        m = m != m || m > x[row * cols + i] ? m : x[row * cols + i];
    y[row] = m;
}
