/* The definition, in double: one thread a row.
 *
 * bound: a right kernel errs by its sum's error (`sum_error`: all terms have one sign), by a rounding of each exponent z = x - m, which is one of |z| parts in its power, here and
 * (`spread`, on average) in the sum, and by those of exp, of the quotient and of a few changes of m on the way. A thread that adds one after another loses terms below half a
 * unit of what it has (`lost`). That leans to one side, by what a sum in f32 shows (`serial`); error_rms, a share of the bound, is of errors that do not: so 12 times as much. */
extern "C" __global__ void softmax_reference(const float *input, double *output, double *bound, long long rows, long long cols, double sum_error, double roundoff)
{
    long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    const float *x = input + row * cols;
    double most = x[0], sum = 0, spread = 0, lost = 0;
    float serial = 0;
    for (long long i = 1; i < cols; i++)
        most = x[i] > most ? x[i] : most;
    for (long long i = 0; i < cols; i++) {
        double power = exp(x[i] - most);
        lost += power < roundoff * sum ? power : 0;
        sum += power;
        serial += (float)power;
        spread += power * (most - x[i]);
    }
    lost = fmax(lost, 12 * fabs(serial - sum));
    for (long long i = 0; i < cols; i++) {
        double y = exp(x[i] - most) / sum;
        output[row * cols + i] = y;
        bound[row * cols + i] = y * (sum_error + lost / sum + roundoff * (16 + 2 * (most - x[i] + spread / sum)));
    }
}
