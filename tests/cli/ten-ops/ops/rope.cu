extern "C" __global__ void rope_reference(const float *x, double *y, long long rows, long long d)
{
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x, half = d / 2;
    if (i >= rows * half) return;
    long long r = i / half, c = i % half;
    double a = r * pow(10000.0, -2.0 * c / d), u = x[r * d + 2 * c], v = x[r * d + 2 * c + 1];
    y[r * d + 2 * c] = u * cos(a) - v * sin(a);
    y[r * d + 2 * c + 1] = u * sin(a) + v * cos(a);
}
