/* The definition, in double: one thread an element of c. */
extern "C" __global__ void gemm_reference(const float *a, const float *b, double *c, double *magnitude, long long m, long long n, long long k)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m * n)
        return;
    double sum = 0, all = 0;
    for (long long t = 0; t < k; t++) {
        double product = (double)a[i / n * k + t] * b[t * n + i % n];
        sum += product;
        all += fabs(product);
    }
    c[i] = sum;
    magnitude[i] = all;
}
