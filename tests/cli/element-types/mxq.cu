extern "C" __global__ void mxq_reference(const float *x, long long rows, long long cols, double *y, double *scale)
{
    long long block = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (block >= rows * cols / 32)
        return;
    double most = 0;
    for (int i = 0; i < 32; i++)
        most = fmax(most, fabs((double)x[block * 32 + i]));
    scale[block] = exp2(floor(log2(most)) - 2);
    for (int i = 0; i < 32; i++) /* up to the largest number; what is stored rounds it */
        y[block * 32 + i] = fmin(fmax(x[block * 32 + i] / scale[block], -6.), 6.);
}
