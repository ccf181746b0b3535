/* The definition, one thread an element. */
extern "C" __global__ void add_constant_reference(const float *input, const float *shift, double *output, double *magnitude, long long elements, long long each)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= elements)
        return;
    output[i] = (double)input[i] + shift[i % each];
    magnitude[i] = fabs((double)input[i]) + fabs((double)shift[i % each]);
}
