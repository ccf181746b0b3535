/* The definition, in double: one thread a row.
 *
 * magnitude: an error of one part in the exponent is an error of |x - m| parts in its power, and every power of the row is in the sum. */
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
    for (long long i = 0; i < cols; i++) {
        double y = exp(x[i] - most) / sum;
        output[row * cols + i] = y;
        magnitude[row * cols + i] = y * (2 + (most - x[i]) + spread / sum);
    }
}
