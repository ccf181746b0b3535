/* bench 1
op: conv2d
what: few blocks that each take long, and end early at the far borders
needs: [stride == 1 and dilation == 1 and groups == 1 and n == 1 and k == 2]
layout: {input: NCHW, filter: KCRS, output: NCHW}
dtype: {input: f32, output: f32, accumulate: f32}
algorithm: direct
epilogue: []
steps:
  - kernel: long_blocks
    grid: ceil(q, 64), ceil(p, 16)
    block: 64
    args: input, filter, output, c, h, w, k, p, q, pad, r, s
*/
extern "C" __global__ void long_blocks(const float *input, const float *filter, float *output, int C, int H, int W, int K, int P, int Q, int pad, int R, int S)
{
    int q = blockIdx.x * 64 + threadIdx.x, end = min(P, (int)blockIdx.y * 16 + 16);
    if (q >= Q)
        return;
    for (int p = blockIdx.y * 16; p < end; p++)
        for (int k = 0; k < K; k++) {
            float sum = 0;
            for (int c = 0; c < C; c++)
                for (int r = 0; r < R; r++)
                    for (int s = 0; s < S; s++) {
                        int y = p - pad + r, x = q - pad + s;
                        bool inside = y >= 0 && y < H && x >= 0 && x < W;
                        sum += (inside ? input[(c * H + y) * W + x] : 0) * filter[((k * C + c) * R + r) * S + s];
                    }
            output[(k * P + p) * Q + q] = sum;
        }
}
