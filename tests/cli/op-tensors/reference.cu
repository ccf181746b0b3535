extern "C" __global__ void axpy_reference(const float *x, const float *before, double *y, double *magnitude, int rows, int cols, double alpha)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * cols)
        return;
    y[i] = before[i] + alpha * x[i % cols];
    magnitude[i] = fabs((double)before[i]) + fabs(alpha * x[i % cols]);
}
#ifdef REAL
extern "C" __global__ void dots_reference(const REAL *a, const REAL *b, double *y, double *magnitude, int rows, int cols)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    y[row] = magnitude[row] = 0;
    for (int i = 0; i < cols; i++) {
        y[row] += (double)a[row * cols + i] * b[i];
        magnitude[row] += fabs((double)a[row * cols + i] * b[i]);
    }
}
#endif
extern "C" __global__ void moved_reference(const double *x, double *y, int rows, int cols)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * cols)
        y[i] = x[(rows - 1 - i / cols) * cols + i % cols];
}
