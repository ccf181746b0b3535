extern "C" __global__ void ln_reference(const float *input, double *output, long long rows, long long cols)
{
    long long r = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    const float *x = input + r * cols;
    double m = 0, v = 0;
    for (long long i = 0; i < cols; i++) m += x[i];
    m /= cols;
    for (long long i = 0; i < cols; i++) v += (x[i] - m) * (x[i] - m);
    for (long long i = 0; i < cols; i++) output[r * cols + i] = (x[i] - m) / sqrt(v / cols + 1e-5);
}
