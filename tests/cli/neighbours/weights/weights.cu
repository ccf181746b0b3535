extern "C" __global__ void weights_reference(const float *x, double *y, long long rows, long long cols)
{
    long long r = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (r >= rows) return;
    x += r * cols, y += r * cols;
    double most = x[0], sum = 0;
    for (long long i = 0; i < cols; i++) most = fmax(most, (double)x[i]);
    for (long long i = 0; i < cols; i++) sum += exp(x[i] - most);
    for (long long i = 0; i < cols; i++) y[i] = exp(x[i] - most) / sum;
}
