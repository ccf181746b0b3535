/* bench 1
op: conv2d
what: my_conv   # one line: what this variant does that others do not
layout: {input: NCHW, filter: KCRS, output: same}   # how my kernel indexes them; a list when it can do several
dtype: {input: f32, output: same, bias: f32, accumulate: f32}   # what my kernel reads, writes and sums in
needs: r == 3 and s == 3 and stride == 1 and n == 1
epilogue: [bias]
let:
  threads: 64
steps:
  - kernel: my_conv
    grid: ceil(q, threads), p, k
    block: threads
    args: input, filter, bias, output, c, h, w, k   # by name, in the order of my signature
*/
#include <cuda_fp16.h>
extern "C" __global__ void my_conv(const float *x, const float *w, const float *bias, float *y, int C, int H, int W, int K)
{
    int ox = blockIdx.x * blockDim.x + threadIdx.x;
    int oy = blockIdx.y;
    int k = blockIdx.z;
    if (ox >= W) return;
    float s = bias ? bias[k] : 0;
    for (int c = 0; c < C; ++c)
        for (int r = 0; r < 3; ++r)
            for (int t = 0; t < 3; ++t) {
                int iy = oy + r - 1, ix = ox + t - 1;
                if (iy < 0 || iy >= H || ix < 0 || ix >= W) continue;
                s += x[(c * H + iy) * W + ix] * w[((k * C + c) * 3 + r) * 3 + t];
            }
    y[(k * H + oy) * W + ox] = s;
}
