/* bench 1
op: average
what: a thread an element
dtype: {a: u8, b: u8, q: u8}
steps:
  - kernel: average
    grid: ceil(n, 128)
    block: 128
    args: a, b, q, n
*/
extern "C" __global__ void average(const unsigned char *a, const unsigned char *b, unsigned char *q, int n)
{
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i < n)
        q[i] = rintf((a[i] + b[i]) * 0.25f);
}
