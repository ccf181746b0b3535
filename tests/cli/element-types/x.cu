/* bench 1
op: mx
what: unpacks the two values of a byte; one thread an output
steps:
  - kernel: mx
    grid: ceil(n, 32), m
    block: 32
    args: a, b, a_scale, b_scale, c, n, k
*/
__device__ float e2m1(unsigned bits)
{
    const float values[8] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
    return bits & 8 ? -values[bits & 7] : values[bits & 7];
}
__device__ float e8m0(unsigned char bits) { return __int_as_float(bits << 23); }

extern "C" __global__ void mx(const unsigned char *a, const unsigned char *b, const unsigned char *a_scale, const unsigned char *b_scale, float *c, int n, int k)
{
    int row = blockIdx.y, column = blockIdx.x * 32 + threadIdx.x;
    if (column >= n)
        return;
    float sum = 0;
    for (int block = 0; block < k / 32; block++) {
        float part = 0;
        for (int i = 0; i < 16; i++) {
            unsigned x = a[(row * k + block * 32) / 2 + i], y = b[(column * k + block * 32) / 2 + i];
            part += e2m1(x & 15) * e2m1(y & 15) + e2m1(x >> 4) * e2m1(y >> 4);
        }
        sum += part * e8m0(a_scale[row * k / 32 + block]) * e8m0(b_scale[column * k / 32 + block]);
    }
    c[row * n + column] = sum;
}
