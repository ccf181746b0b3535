/* The definition, in double: one thread a row.
 *
 * magnitude: the sum of the row's powers errs by `share` roundings of itself, as every sum of `cols` terms. A rounding of an exponent z = x - m is one of |z| parts in its
 * power, here and (`spread`, on average) in the sum; eight are for exp, the quotient and the like. These do not grow with the row, so they count as shares. */
extern "C" __global__ void softmax_reference(const float *input, double *output, double *magnitude, long long rows, long long cols)
{
    long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    const float *x = input + row * cols;
    double most = x[0], sum = 0, spread = 0;
    for (long long i = 1; i < cols; i++)
        most = x[i] > most ? x[i] : most;
    for (long long i = 0; i < cols; i++) {
        double power = exp(x[i] - most);
        sum += power;
        spread += power * (most - x[i]);
    }
    double share = fmin(cols + 2.0, 6 * sqrt(cols + 2.0));
    for (long long i = 0; i < cols; i++) {
        double y = exp(x[i] - most) / sum;
        output[row * cols + i] = y;
        magnitude[row * cols + i] = y * (1 + (8 + 2 * (most - x[i] + spread / sum)) / share);
    }
}
