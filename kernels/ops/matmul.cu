/* The definition, one thread an output element. */
extern "C" __global__ void matmul_reference(const float *input, const float *second, double *output, double *magnitude, long long products, long long h, long long w,
                                            long long q)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x, plane = i / (h * q);
    if (i >= products)
        return;
    const float *row = input + (plane * h + i / q % h) * w, *column = second + plane * w * q + i % q;
    double sum = 0, size = 0;
    for (long long k = 0; k < w; k++) {
        sum += (double)row[k] * column[k * q];
        size += fabs((double)row[k] * column[k * q]);
    }
    output[i] = sum;
    magnitude[i] = size;
}
