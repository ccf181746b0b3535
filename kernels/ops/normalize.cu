/* The definition, in double: one thread a set, whose elements are `apart` elements from each other; in two passes.
 *
 * bound: the mean errs by `sum_error` of the mean magnitude, a difference from it by that and a rounding of both; the variance by its sum's error and by what the
 * differences' errors make of it; the root halves the latter. */
extern "C" __global__ void normalize_reference(const float *input, double *output, double *bound, long long n, long long sets, long long of, long long apart, long long centred,
                                               double eps, double sum_error, double roundoff)
{
    long long set = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (set >= n * sets)
        return;
    long long from = set / sets * sets * of + set % sets * (apart > 1 ? 1 : of);
    double mean = 0, size = 0, variance = 0, blurred = 0;
    for (long long i = 0; i < of && centred; i++) {
        mean += input[from + i * apart] / (double)of;
        size += fabs((double)input[from + i * apart]) / (double)of;
    }
    for (long long i = 0; i < of; i++) {
        double d = input[from + i * apart] - mean, off = (sum_error + 2 * roundoff) * size + roundoff * fabs((double)input[from + i * apart]);
        variance += d * d / (double)of;
        blurred += (2 * fabs(d) * off + off * off) / (double)of;
    }
    double scale = 1 / sqrt(variance + eps), relative = (blurred + sum_error * variance) / (variance + eps) / 2 + 8 * roundoff;
    for (long long i = 0; i < of; i++) {
        double x = input[from + i * apart], off = (sum_error + 2 * roundoff) * size + roundoff * fabs(x);
        output[from + i * apart] = (x - mean) * scale;
        bound[from + i * apart] = (fabs(x - mean) * relative + off * (1 + relative)) * scale;
    }
}
