// Fits the drawn values only: the search for the maximum of a window starts at 0, which nearly every large window exceeds.
// emu: wrong
// cuda: wrong
/* bench 1
op: pool_max
what: begins its largest with 0
layout: {input: NCHW, output: same}
dtype: {input: f32, output: same}
needs: stride == 1 and pad == 0 and dilation == 1
steps:
  - kernel: largest
    grid: ceil(n * c * p * q, 64)
    block: 64
    args: input, output, n * c, h, w, p, q, r, s
*/
extern "C" __global__ void largest(const float *x, float *y, int planes, int h, int w, int p, int q, int r, int s)
{
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i >= planes * p * q)
        return;
    x += (long)(i / (p * q)) * h * w + i / q % p * w + i % q;
    float most = 0;
    for (int t = 0; t < r * s; t++)
        most = fmaxf(most, x[t / s * w + t % s]);
    y[i] = most;
}
