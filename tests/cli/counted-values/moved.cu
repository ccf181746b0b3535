extern "C" __global__ void moved_reference(const float *x, double *y, long long rows)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * 64)
        y[i] = x[i];
}
