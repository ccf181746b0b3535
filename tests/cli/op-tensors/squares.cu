/* bench 1
op: squares
what: a thread an element
dtype: {x: f32, fine: f32, coarse: f32}
steps:
  - {kernel: squares, grid: "ceil(count, 128)", block: 128, args: [x, fine, coarse, count]}
*/
extern "C" __global__ void squares(const float *x, float *fine, float *coarse, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        fine[i] = x[i] * x[i];
        coarse[i] = x[i] * x[i];
    }
}
extern "C" __global__ void squares_reference(const float *x, double *a, double *b, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        a[i] = b[i] = (double)x[i] * x[i];
}
