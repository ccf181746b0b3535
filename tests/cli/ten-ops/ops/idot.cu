extern "C" __global__ void idot_reference(const float *a, const float *b, double *y, long long rows, long long cols)
{
    long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    double sum = 0;
    for (long long i = 0; row < rows && i < cols; i++)
        sum += (double)a[row * cols + i] * b[row * cols + i];
    if (row < rows)
        y[row] = sum;
}
