/* bench 1
op: blur
what: one element a thread
layout: {input: NCHW, output: same}
dtype: {input: f32, output: same, bias: f32}
epilogue: [bias, relu]
steps:
  - kernel: blur
    grid: ceil(n * c * h * w, 128)
    block: 128
    args: input, bias, output, n * c * h * w, c, h, w, slope(epilogue)
*/
extern "C" __global__ void blur(const float *x, const float *bias, float *y, int count, int c, int h, int w, float slope)
{
    int i = blockIdx.x * 128 + threadIdx.x, ox = i % w, oy = i / w % h;
    if (i >= count)
        return;
    float sum = 0;
    for (int a = -1; a < 2; a++)
        for (int b = -1; b < 2; b++)
            if (oy + a >= 0 && oy + a < h && ox + b >= 0 && ox + b < w)
                sum += (2 - abs(a)) * (2 - abs(b)) / 16.0f * x[i + a * w + b];
    sum += bias ? bias[i / (w * h) % c] : 0;
    y[i] = sum < 0 ? sum * slope : sum;
}
