extern "C" __global__ void variance(const float *in, double *y, double *magnitude, long long rows, long long cols)
{
    long long row = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    double mean = 0, s = 0;
    for (long long i = 0; row < rows && i < cols; i++)
        mean += in[row * cols + i] / (double)cols;
    for (long long i = 0; row < rows && i < cols; i++)
        s += (in[row * cols + i] - mean) * (in[row * cols + i] - mean);
    if (row < rows)
        y[row] = magnitude[row] = s / cols;
}
