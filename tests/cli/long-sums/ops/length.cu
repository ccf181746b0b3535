extern "C" __global__ void length(const float *in, double *y, double *magnitude, long long rows, long long cols)
{
    long long row = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    double s = 0;
    for (long long i = 0; row < rows && i < cols; i++)
        s += (double)in[row * cols + i] * in[row * cols + i];
    if (row < rows)
        y[row] = magnitude[row] = sqrt(s);
}
