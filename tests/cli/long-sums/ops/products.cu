extern "C" __global__ void products(const float *in, const float *other, double *y, double *magnitude, long long rows, long long cols)
{
    long long row = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    double s = 0, all = 0;
    for (long long i = 0; row < rows && i < cols; i++) {
        s += (double)in[row * cols + i] * other[row * cols + i];
        all += fabs((double)in[row * cols + i] * other[row * cols + i]);
    }
    if (row < rows)
        y[row] = s, magnitude[row] = all;
}
