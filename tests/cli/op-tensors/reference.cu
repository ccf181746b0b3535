extern "C" __global__ void axpy_reference(const float *x, const float *before, double *y, double *magnitude, int rows, int cols, double alpha)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * cols)
        return;
    y[i] = before[i] + alpha * x[i % cols];
    magnitude[i] = fabs((double)before[i]) + fabs(alpha * x[i % cols]);
}
