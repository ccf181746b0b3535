/* The definition, in double: one thread a row.
 *
 * magnitude: `share` roundings of it are allowed, as of any f32 sum of `cols` terms (op/bound). All terms of this sum have one sign, so that one thread that adds them
 * one after another errs by up to twice the square root of their number more. A rounding of an exponent z = x - m is one of |z| parts in its power, here and (`spread`, on
 * average) in the sum; eight are for exp, the quotient and the like. */
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
    double share = fmin(cols + 2.0, 12.0), sums = share + 2 * sqrt((double)cols);
    for (long long i = 0; i < cols; i++) {
        double y = exp(x[i] - most) / sum;
        output[row * cols + i] = y;
        magnitude[row * cols + i] = y * (sums + 8 + 2 * (most - x[i] + spread / sum)) / share;
    }
}
