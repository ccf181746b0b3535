extern "C" __global__ void signs_reference(const float *x, double *bits, double *scale, double *bound, double *magnitude, int words, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    double sum = 0;
    for (int i = row * words; i < (row + 1) * words; i++) {
        unsigned word = 0;
        for (int k = 0; k < 32; k++) {
            word |= (unsigned)(x[32 * i + k] > 0) << k;
            sum += fabs((double)x[32 * i + k]);
        }
        bits[i] = word;
        bound[i] = 0;
    }
    scale[row] = magnitude[row] = sum / (32 * words);
}
