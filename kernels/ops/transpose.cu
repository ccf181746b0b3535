/* The definition: one thread an element. */
extern "C" __global__ void transpose_reference(const float *input, double *output, long long rows, long long cols)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * cols)
        output[i % cols * rows + i / cols] = input[i];
}
