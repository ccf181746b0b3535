extern "C" __global__ void product_reference(const float *a, const float *b, double *y, long long n)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double ar = a[2 * i], ai = a[2 * i + 1], br = b[2 * i], bi = b[2 * i + 1];
    y[2 * i] = ar * br - ai * bi;
    y[2 * i + 1] = ar * bi + ai * br;
}
