/* The definition, in double: one thread a row. All summands are positive, so errors are proportional to the result. The root halves the error of the sum. `lost` is the part of
 * it that a thread loses if it adds one by one: squares below half a unit of its sum. */
extern "C" __global__ void rmsnorm_reference(const float *input, const float *gain, double *output, double *bound, long long rows, long long cols, double eps,
                                             double sum_error, double roundoff)
{
    long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    const float *x = input + row * cols;
    double squares = 0, lost = 0;
    for (long long i = 0; i < cols; i++) {
        double square = (double)x[i] * x[i];
        lost += square < roundoff * squares ? square : 0;
        squares += square;
    }
    double scale = 1 / sqrt(squares / cols + eps);
    for (long long i = 0; i < cols; i++) {
        output[row * cols + i] = x[i] * scale * gain[i];
        bound[row * cols + i] = fabs(x[i] * scale * gain[i]) * (sum_error / 2 + (squares > 0 ? lost / squares : 0) + 8 * roundoff);
    }
}
