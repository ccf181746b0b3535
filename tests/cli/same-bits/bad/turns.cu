/* bench 1
op: conv2d
what: right to one rounding, but every other launch is rounded another way
layout: {input: NHWC, filter: RSCK, output: same}
dtype: {input: f32, output: same, bias: f32, accumulate: f32}
epilogue: [bias, relu]
steps:
  - kernel: turn
    grid: 1
    block: 1
  - kernel: conv
    grid: q, p, n
    block: k
    args: input, filter, bias, output, c, h, w, k, r, s, p, q, pad
*/
static __device__ int launches;
extern "C" __global__ void turn() { launches++; }

extern "C" __global__ void conv(const float *input, const float *filter, const float *bias, float *output, int C, int H, int W, int K, int R, int S, int P, int Q, int pad)
{
    int q = blockIdx.x, p = blockIdx.y, n = blockIdx.z, k = threadIdx.x;
    float sum = 0.0f;
    for (int i = 0; i < R * S * C; i++) {
        int j = launches & 1 ? R * S * C - 1 - i : i; /* the order of the sum */
        int c = j % C, s = j / C % S, r = j / C / S, y = p - pad + r, x = q - pad + s;
        if (y >= 0 && y < H && x >= 0 && x < W)
            sum += input[((n * H + y) * W + x) * C + c] * filter[((r * S + s) * C + c) * K + k];
    }
    sum += bias[k];
    output[((n * P + p) * Q + q) * K + k] = sum < 0.0f ? 0.0f : sum;
}
