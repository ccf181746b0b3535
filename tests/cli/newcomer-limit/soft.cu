#include <math.h>

extern "C" __global__ void soft(const float *x, float *y, int n)
{
    __shared__ float part[256];
    int me = threadIdx.x;
    const float *row = x + (size_t)blockIdx.x * n;
    float most = -INFINITY, sum = 0;
    for (int i = me; i < n; i += 256)
        most = fmaxf(most, row[i]);
    part[me] = most;
    for (int half = 128; half; half /= 2) {
        __syncthreads();
        if (me < half)
            part[me] = fmaxf(part[me], part[me + half]);
    }
    __syncthreads();
    most = part[0];
    __syncthreads();
    for (int i = me; i < n; i += 256)
        sum += expf(row[i] - most);
    part[me] = sum;
    for (int half = 128; half; half /= 2) {
        __syncthreads();
        if (me < half)
            part[me] += part[me + half];
    }
    __syncthreads();
    for (int i = me; i < n; i += 256)
        y[(size_t)blockIdx.x * n + i] = expf(row[i] - most) / part[0];
}
