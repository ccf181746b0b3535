/* bench 1
op: conv2d
what: bad grid
needs: r == 3 and s == 3 and stride == 1 and dilation == 1 and groups == 1 and pad == 1
layout: {input: NCHW, filter: KCRS, output: same}
dtype: {input: f32, output: same, accumulate: f32}
steps:
  - kernel: conv
    grid: ceil(n * k * h * w, 512)
    block: 256
    args: input, filter, output, n, c, h, w, k
*/
extern "C" __global__ void conv(const float *x, const float *f, float *y, int n, int c, int h, int w, int k)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n * k * h * w) return;
    int q = i % w, p = i / w % h, o = i / w / h % k, b = i / w / h / k;
    float s = 0;
    for (int ci = 0; ci < c; ci++) for (int r = 0; r < 3; r++) for (int t = 0; t < 3; t++) {
        int yy = p + r - 1, xx = q + t - 1;
        if (yy >= 0 && yy < h && xx >= 0 && xx < w) s += x[((b * c + ci) * h + yy) * w + xx] * f[((o * c + ci) * 3 + r) * 3 + t];
    }
    y[i] = s;
}
