/* The definition, in double: one thread a row. */
extern "C" __global__ void reduce_reference(const float *input, double *output, double *magnitude, long long rows, long long cols, int is_max)
{
    long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    const float *x = input + row * cols;
    double sum = 0, most = x[0], all = 0;
    for (long long i = 0; i < cols; i++) {
        sum += x[i];
        all += fabs((double)x[i]);
        most = x[i] > most ? x[i] : most;
    }
    output[row] = is_max ? most : sum;
    magnitude[row] = all;
}
