/* bench 1
op: moved
what: whole numbers take 100 loads more
dtype: {x: f32, y: f32}
steps:
  - kernel: slow
    grid: rows
    block: 64
    args: x, y
*/
extern "C" __global__ void slow(const volatile float *x, float *y)
{
    int i = blockIdx.x * 64 + threadIdx.x;
    float v = x[i];
    for (int k = v == floorf(v) ? 100 : 0; k > 0; k--)
        v = x[i];
    y[i] = v;
}
