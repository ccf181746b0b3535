extern "C" __global__ void spread_ref(const float *x, double *y, long long rows, long long cols, long long kind)
{
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x, r = i / cols, c = i % cols;
    double infinite = __longlong_as_double(0x7ff0000000000000LL), v;
    if (i >= rows * cols)
        return;
    v = 0.125 * x[i];
    if (kind == 0)
        v = c == 3 ? -1e9 : v; /* one in a row */
    if (kind == 1)
        v = c > r ? -3.4028234663852886e38 : v; /* causal: of the first row all but one */
    if (kind == 2)
        v = c > r ? -infinite : v;
    if (kind == 3)
        v = c == 5 ? 1e38 : c == 6 ? 1e15 : v;
    if (kind == 4) /* without a gap */
        v = pow((double)x[i], 31.0);
    y[i] = v;
}
