extern "C" __global__ void my_rmsnorm_reference(const float *x, const float *w, double *y, double *y_magnitude, long long rows, long long cols, double eps)
{
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= rows * cols)
        return;
    long long r = i / cols; double s = 0; for (long long c = 0; c < cols; c++) s += (double)x[r * cols + c] * x[r * cols + c]; y[i] = x[i] / sqrt(s / cols + eps) * w[i % cols]; y_magnitude[i] = fabs(y[i]);
}
