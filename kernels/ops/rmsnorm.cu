/* The definition, in double: one thread a row. Everything that is added is positive, so errors are in proportion to the result. */
extern "C" __global__ void rmsnorm_reference(const float *input, const float *gain, double *output, long long rows, long long cols, double eps)
{
    long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    const float *x = input + row * cols;
    double squares = 0;
    for (long long i = 0; i < cols; i++)
        squares += (double)x[i] * x[i];
    double scale = 1 / sqrt(squares / cols + eps);
    for (long long i = 0; i < cols; i++)
        output[row * cols + i] = x[i] * scale * gain[i];
}
