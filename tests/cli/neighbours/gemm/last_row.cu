/* bench 1
op: gemm
what: two rows of c a thread - of an odd number the last one is left out
steps:
  - kernel: gemm
    grid: ceil(n, 32), ceil(m, 2)
    block: 32
    args: a, b, c, m, n, k
*/
extern "C" __global__ void gemm(const float *a, const float *b, float *c, int m, int n, int k)
{
    int col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 2;
    float sum[2] = {0, 0};
    if (row + 1 >= m || col >= n)
        return;
    for (int t = 0; t < k; t++)
        for (int i = 0; i < 2; i++)
            sum[i] += a[(row + i) * k + t] * b[t * n + col];
    for (int i = 0; i < 2; i++)
        c[(row + i) * n + col] = sum[i];
}
