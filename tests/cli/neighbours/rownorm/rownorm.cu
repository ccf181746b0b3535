extern "C" __global__ void rownorm_reference(const float *x, double *y, long long rows, long long cols, double eps)
{
    long long r = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (r >= rows) return;
    x += r * cols, y += r * cols;
    double m = 0, v = 0;
    for (long long i = 0; i < cols; i++) m += x[i];
    m /= cols;
    for (long long i = 0; i < cols; i++) v += (x[i] - m) * (x[i] - m);
    for (long long i = 0; i < cols; i++) y[i] = (x[i] - m) / sqrt(v / cols + eps);
}
