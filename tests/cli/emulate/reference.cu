extern "C" __global__ void scale_reference(const float *x, double *y, double *y_magnitude, long long n, double by)
{
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = by * x[i], y_magnitude[i] = y[i] < 0 ? -y[i] : y[i];
}
