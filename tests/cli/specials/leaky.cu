extern "C" __global__ void leaky_reference(const float *input, double *output, long long rows, long long cols)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * cols)
        output[i] = input[i] > 0 ? input[i] : 0.5 * input[i];
}
