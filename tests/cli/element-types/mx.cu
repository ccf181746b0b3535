extern "C" __global__ void mx_reference(const float *a, const float *b, const float *a_scale, const float *b_scale, long long m, long long n, long long k, double *c,
                                        double *c_magnitude)
{
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x, row = i / n, column = i % n;
    if (i >= m * n)
        return;
    c[i] = c_magnitude[i] = 0;
    for (long long t = 0; t < k; t++) {
        double p = (double)a[row * k + t] * b[column * k + t] * a_scale[(row * k + t) / 32] * b_scale[(column * k + t) / 32];
        c[i] += p;
        c_magnitude[i] += fabs(p);
    }
}
