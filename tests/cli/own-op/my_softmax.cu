extern "C" __global__ void truth(const float *x, double *y, double *magnitude, long long lines, int width, double heat)
{
    long long line = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (line >= lines)
        return;
    double most = -1e300, sum = 0;
    for (int i = 0; i < width; i++)
        most = fmax(most, heat * x[line * width + i]);
    for (int i = 0; i < width; i++)
        sum += exp(heat * x[line * width + i] - most);
    for (int i = 0; i < width; i++) {
        double z = heat * x[line * width + i] - most;
        y[line * width + i] = exp(z) / sum;
        magnitude[line * width + i] = exp(z) / sum * (8 - 4 * z);
    }
}
