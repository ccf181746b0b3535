/* The definition, in double: a block a row, each thread every 128th element. */
extern "C" __global__ void reduce_reference(const float *input, double *output, double *magnitude, long long rows, long long cols, int is_max)
{
    __shared__ double sums[128], alls[128], mosts[128];
    const float *x = input + blockIdx.x * cols;
    double sum = 0, all = 0, most = x[0];
    for (long long i = threadIdx.x; i < cols; i += 128) {
        sum += x[i];
        all += fabs((double)x[i]);
        most = x[i] > most ? x[i] : most;
    }
    sums[threadIdx.x] = sum, alls[threadIdx.x] = all, mosts[threadIdx.x] = most;
    __syncthreads();
    if (threadIdx.x > 0 || blockIdx.x >= rows)
        return;
    for (int i = 1; i < 128; i++) {
        sum += sums[i];
        all += alls[i];
        most = mosts[i] > most ? mosts[i] : most;
    }
    output[blockIdx.x] = is_max ? most : sum;
    magnitude[blockIdx.x] = all;
}
