/* The definition, in double: one thread a row. Everything that is added is positive, so errors are in proportion to the result; the root halves that of the sum, of which `lost`
 * is what a thread that adds one after another loses: squares below half a unit of what it has. */
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
