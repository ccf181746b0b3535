extern "C" __global__ void my_gemv_reference(const float *a, const float *x, double *y, double *y_magnitude, long long rows, long long cols4)
{
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= rows)
        return;
    long long r = i; double s = 0, m = 0; for (long long c = 0; c < cols4 * 4; c++) { double v = (double)a[r * cols4 * 4 + c] * x[c]; s += v; m += fabs(v); } y[r] = s; y_magnitude[r] = m;
}
