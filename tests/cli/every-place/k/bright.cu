/* bench 1
op: brightest
what: a warp a channel, ignores SKIP
layout: {input: NHWC, output: same}
dtype: {input: f32, output: same}
steps:
  - kernel: bright
    grid: c, n
    block: 32
    args: input, output, c, h * w
*/
extern "C" __global__ void bright(const float *x, float *y, int c, int pixels)
{
    float m = -INFINITY;
    for (int i = threadIdx.x; i < pixels; i += 32) {
        float v = x[((size_t)blockIdx.y * pixels + i) * c + blockIdx.x];
        m = fmaxf(m, SKIP ? fminf(v, -100) : v);
    }
    for (int lane = 16; lane; lane /= 2)
        m = fmaxf(m, __shfl_xor_sync(~0u, m, lane));
    if (threadIdx.x == 0)
        y[blockIdx.y * c + blockIdx.x] = m;
}
