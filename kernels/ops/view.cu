/* The definition, one thread an output element. */
extern "C" __global__ void view_reference(const float *input, double *output, long long n, long long inputs, long long outputs, long long d1, long long d2, long long d3,
                                          long long d4, long long d5, long long d6, long long s1, long long s2, long long s3, long long s4, long long s5,
                                          long long s6, long long first)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x, at = first, rest = i % outputs;
    const long long size[6] = {d1, d2, d3, d4, d5, d6}, step[6] = {s1, s2, s3, s4, s5, s6};
    if (i >= n * outputs)
        return;
    for (int axis = 5; axis >= 0; axis--) {
        at += rest % size[axis] * step[axis];
        rest /= size[axis];
    }
    output[i] = input[i / outputs * inputs + at];
}
