/* bench 1
op: product
what: a thread a number
dtype: {a: f32, b: f32, y: f32}
steps:
  - kernel: product
    grid: ceil(n, 128)
    block: 128
    args: a, b, y, n
*/
extern "C" __global__ void product(const float2 *a, const float2 *b, float2 *y, int n)
{
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i < n)
        y[i] = make_float2(a[i].x * b[i].x - a[i].y * b[i].y, a[i].x * b[i].y + a[i].y * b[i].x);
}
