template <int N, class T> __global__ void scale(const T *x, T *y, int n, float by)
{
    int i = blockIdx.x * N + threadIdx.x;
    if (threadIdx.x < N && i < n)
        y[i] = by * x[i];
}

__global__ void turn(const float *x, float *y, int n)
{
    __shared__ float s[1024];
    s[threadIdx.x * 32 % 1024] = x[threadIdx.x * n];
    __syncthreads();
    y[threadIdx.x] = s[threadIdx.x * 32 % 1024];
}
