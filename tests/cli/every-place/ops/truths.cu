extern "C" __global__ void truths_reference(const float *input, double *output, long long rows, long long cols)
{
    long long row = blockIdx.x * (long long)blockDim.x + threadIdx.x, true_here = 0;
    if (row >= rows)
        return;
    for (long long i = 0; i < cols; i++)
        true_here += input[row * cols + i] != 0;
    output[row] = (true_here > 0) + 2 * (true_here == cols);
}
