extern "C" __global__ void dot8_reference(const float *a, const float *b, long long m, long long n, long long k, double *c, double *c_magnitude)
{
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= m * n)
        return;
    c[i] = c_magnitude[i] = 0;
    for (long long t = 0; t < k; t++) {
        double p = (double)a[i / n * k + t] * b[i % n * k + t];
        c[i] += p;
        c_magnitude[i] += fabs(p);
    }
}
