extern "C" __global__ void quantise_reference(const float *x, const float *scale, const float *keep, const float *base, long long rows, long long cols,
                                              double *y, double *clamped, double *counts, double *counts_magnitude)
{
    long long r = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (r >= rows)
        return;
    double count = 0;
    for (long long i = r * cols; i < (r + 1) * cols; i++) {
        double v = keep[i % cols] ? (double)x[i] * scale[r] : 0;
        y[i] = fmin(fmax(v, -448.), 448.);
        clamped[i] = fabs(v) > 448;
        count += clamped[i];
    }
    counts[r] = r * 0x1p33 + base[r] + count;
    counts_magnitude[r] = 0;
}
