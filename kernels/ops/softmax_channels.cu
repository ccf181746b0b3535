/* The definition, in double: one thread a pixel. Its bound is that of softmax.cu; that of a logarithm is four times as wide in the roundings of each element, so that the
 * share of the bound which correct kernels use (error_rms, of sums) holds for it too. */
extern "C" __global__ void softmax_channels_reference(const float *input, double *output, double *bound, long long n, long long c, long long pixels, long long logarithm,
                                                      double sum_error, double roundoff)
{
    long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= n * pixels)
        return;
    at = at / pixels * c * pixels + at % pixels;
    double most = input[at], sum = 0, spread = 0, lost = 0;
    float serial = 0;
    for (long long i = 1; i < c; i++)
        most = input[at + i * pixels] > most ? input[at + i * pixels] : most;
    for (long long i = 0; i < c; i++) {
        double power = exp(input[at + i * pixels] - most);
        lost += power < roundoff * sum ? power : 0;
        sum += power;
        serial += (float)power;
        spread += power * (most - input[at + i * pixels]);
    }
    lost = fmax(lost, 12 * fabs(serial - sum));
    for (long long i = 0; i < c; i++) {
        double below = most - input[at + i * pixels], y = exp(-below) / sum;
        double relative = sum_error + lost / sum + roundoff * (16 + 2 * (below + spread / sum)); /* of the share */
        output[at + i * pixels] = logarithm ? -below - log(sum) : y;
        bound[at + i * pixels] = logarithm ? relative + roundoff * 8 * (below + log(sum)) : y * relative;
    }
}
