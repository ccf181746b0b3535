// Compiled by nvcc outside of bench: no head.
extern "C" __global__ void conv(const float *input, const float *filter, const float *bias, float *output, int n, int c, int h, int w, int k, int r, int s, int pad, float slope)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n * k * h * w)
        return;
    int x = i % w, y = i / w % h, o = i / w / h % k, b = i / w / h / k;
    float sum = bias[o];
    for (int d = 0; d < c; d++)
        for (int t = 0; t < r * s; t++) {
            int yy = y + t / s - pad, xx = x + t % s - pad;
            if (yy >= 0 && yy < h && xx >= 0 && xx < w)
                sum += input[((b * c + d) * h + yy) * w + xx] * filter[(o * c + d) * r * s + t];
        }
    output[i] = sum < 0 ? sum * slope : sum;
}
