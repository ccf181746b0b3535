extern "C" __global__ void bmm_reference(const float *a, const float *w, const float *bias, double *y, double *mag, long long b, long long m, long long n, long long k)
{
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= b * m * n) return;
    long long q = i / (m * n), r = i / n % m, c = i % n;
    double s = bias[c], g = fabs((double)bias[c]);
    for (long long t = 0; t < k; t++) { double p = (double)a[(q * m + r) * k + t] * w[(q * k + t) * n + c]; s += p; g += fabs(p); }
    y[i] = s > 0 ? s : 0; mag[i] = g;
}
