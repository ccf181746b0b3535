/* bench 1
op: mxq
what: a warp a block of 32 values
steps:
  - kernel: mxq
    grid: rows * cols / 32
    block: 32
    args: x, y, scale
*/
__device__ unsigned rounded(float v)
{
    const float values[8] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
    unsigned best = 0;
    for (unsigned i = 1; i < 8; i++) {
        float now = fabsf(fabsf(v) - values[i]), before = fabsf(fabsf(v) - values[best]);
        if (now < before || (now == before && i % 2 == 0))
            best = i;
    }
    return best | (v < 0 ? 8 : 0);
}

extern "C" __global__ void mxq(const float *x, unsigned char *y, unsigned char *scale)
{
    float v = x[blockIdx.x * 32 + threadIdx.x], most = fabsf(v);
    for (int lane = 16; lane; lane >>= 1)
        most = fmaxf(most, __shfl_xor_sync(~0u, most, lane));
    int exponent = (__float_as_int(most) >> 23 & 255) - 2;
    unsigned own = rounded(v * __int_as_float((254 - exponent) << 23)), next = __shfl_down_sync(~0u, own, 1);
    if (threadIdx.x % 2 == 0)
        y[(blockIdx.x * 32 + threadIdx.x) / 2] = own | next << 4;
    if (threadIdx.x == 0)
        scale[blockIdx.x] = exponent;
}
