extern "C" __global__ void argmax_reference(const float *x, double *y, long long rows, long long cols)
{
    long long r = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (r >= rows) return;
    long long best = 0;
    for (long long i = 1; i < cols; i++) if (x[r * cols + i] > x[r * cols + best]) best = i;
    y[r] = best;
}
