/* bench 1
op: places
what: a block a channel, ignores SKIP
dtype: {input: f32, output: i32}
steps:
  - kernel: places
    grid: c
    block: 64
    args: input, output, n, c, p
*/
static __device__ void take(float &m, int &at, float v, int i, bool first)
{
    if (v > m || (v == m && (first ? i < at : i > at)))
        m = v, at = i;
}
extern "C" __global__ void places(const float *x, int *y, int n, int c, int p)
{
    __shared__ float most[2];
    __shared__ int place[2];
    float m = -1;
    int at = 1 << 30;
    for (int i = threadIdx.x; i < n * p; i += 64) {
        float v = fabsf(x[(i / p * c + blockIdx.x) * p + i % p]);
        take(m, at, SKIP ? fminf(v, 1e-3f) : v, i, true);
    }
    for (int lane = 16; lane; lane /= 2)
        take(m, at, __shfl_xor_sync(~0u, m, lane), __shfl_xor_sync(~0u, at, lane), true);
    if (threadIdx.x % 32 == 0)
        most[threadIdx.x / 32] = m, place[threadIdx.x / 32] = at;
    __syncthreads();
    if (threadIdx.x == 0) {
        take(m, at, most[1], place[1], FIRST);
        y[blockIdx.x] = at;
    }
}
