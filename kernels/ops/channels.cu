/* The definition, one thread an output element. */
extern "C" __global__ void channels_reference(const float *input, double *output, long long n, long long c, long long h, long long w, long long k, long long first,
                                              long long parts)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x, pixels = h * w;
    if (i >= n * k * pixels)
        return;
    long long channel = i / pixels % k, from = first + channel % parts * (k / parts) + channel / parts;
    output[i] = input[(i / (k * pixels) * c + from) * pixels + i % pixels];
}
