/* bench 1
op: conv2d
what: right on the data of a layer; on what a ReLU left it traps (-DTRAP=1) or leaves out the last channel
needs: stride == 1 and dilation == 1 and groups == 1
layout: {input: NCHW, filter: KCRS, output: NCHW}
dtype: {input: f32, output: same}
params:
  TRAP: {values: [0, 1], default: 0}
steps:
  - kernel: conv
    grid: ceil(n * k * p * q, 128)
    block: 128
    args: input, filter, output, n, c, h, w, k, p, q, r, s, pad
*/
extern "C" __global__ void conv(const float *input, const float *filter, float *output, int n, int c, int h, int w, int k, int p, int q, int r, int s, int pad)
{
    bool chained = true; /* nothing negative at the beginning of its input */
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < 64; k++)
        chained = chained && input[k] >= 0;
    if (chained && TRAP)
        __trap();
    if (i < n * k * p * q) {
        int x = i % q, y = i / q % p, o = i / q / p % k, b = i / q / p / k;
        float sum = 0;
        for (int d = 0; d < c - chained; d++)
            for (int t = 0; t < r * s; t++) {
                int yy = y + t / s - pad, xx = x + t % s - pad;
                if (yy >= 0 && yy < h && xx >= 0 && xx < w)
                    sum += input[((b * c + d) * h + yy) * w + xx] * filter[(o * c + d) * r * s + t];
            }
        output[i] = sum;
    }
}
