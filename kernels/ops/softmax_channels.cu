/* The definition, in double: one thread a pixel. Its bound is that of softmax.cu. */
extern "C" __global__ void softmax_channels_reference(const float *input, double *output, double *bound, long long n, long long c, long long pixels, double sum_error,
                                                      double roundoff)
{
    long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= n * pixels)
        return;
    at = at / pixels * c * pixels + at % pixels;
    double most = input[at], sum = 0, spread = 0, lost = 0;
    for (long long i = 1; i < c; i++)
        most = input[at + i * pixels] > most ? input[at + i * pixels] : most;
    for (long long i = 0; i < c; i++) {
        double power = exp(input[at + i * pixels] - most);
        lost += power < roundoff * sum ? power : 0;
        sum += power;
        spread += power * (most - input[at + i * pixels]);
    }
    for (long long i = 0; i < c; i++) {
        double y = exp(input[at + i * pixels] - most) / sum;
        output[at + i * pixels] = y;
        bound[at + i * pixels] = y * (sum_error + lost / sum + roundoff * (16 + 2 * (most - input[at + i * pixels] + spread / sum)));
    }
}
