/* No magnitude: what a mean cancels is not said. */
extern "C" __global__ void truth(const float *x, double *y, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    double mean = 0, apart = 0;
    for (int i = 0; i < 2; i++)
        mean += (double)x[row * 2 + i] / 2;
    for (int i = 0; i < 2; i++)
        apart += fabs(x[row * 2 + i] - mean) / 2;
    for (int i = 0; i < 2; i++)
        y[row * 2 + i] = (x[row * 2 + i] - mean) / (apart + 1e-3);
}
