/* The quotient is left as it is: which whole number it becomes near the middle is the kernel's. */
extern "C" __global__ void quantise_reference(const float *x, double *q, double *s, long long rows, long long cols)
{
    long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    double most = 0;
    if (row >= rows)
        return;
    for (long long i = 0; i < cols; i++)
        most = fmax(most, fabs((double)x[row * cols + i]));
    s[row] = most / 127;
    for (long long i = 0; i < cols; i++)
        q[row * cols + i] = x[row * cols + i] / s[row];
}
