/* A sparse 3x3 convolution of f32 NHWC with pad 1, one thread an output pixel; the files beside it define what is wrong with it. */
#ifndef IS_ACTIVE
#define IS_ACTIVE(dilated, centre) (dilated)
#endif
#ifndef MASK_WORD
#define MASK_WORD(dilated, centre, inside) (dilated)
#endif
#ifndef USES
#define USES(mark) (mark)
#endif
#ifndef MARK_OF
#define MARK_OF mark_of
#endif
static __device__ bool mark_of(const unsigned *mask, int y, int x, int H, int W)
{
    return y >= 0 && y < H && x >= 0 && x < W && (mask[y * ((W + 31) / 32) + x / 32] >> (x % 32) & 1);
}
extern "C" __global__ void conv(const float *x, const float *f, const unsigned *mask_in, unsigned *mask_out, float *y, int C, int H, int W, int K)
{
    int q = blockIdx.x * 32 + threadIdx.x, p = blockIdx.y, words = (W + 31) / 32;
    bool dilated = false, centre = MARK_OF(mask_in, p, q, H, W);
    for (int r = 0; r < 3; r++)
        for (int s = 0; s < 3; s++)
            dilated |= q < W && MARK_OF(mask_in, p + r - 1, q + s - 1, H, W);
    unsigned word = __ballot_sync(~0u, MASK_WORD(dilated, centre, q < W));
    if (threadIdx.x == 0)
        mask_out[p * words + blockIdx.x] = word;
    if (q >= W)
        return;
#ifdef SKIPPED_VALUE
    for (int k = 0; k < K && !dilated; k++)
        y[(p * W + q) * K + k] = SKIPPED_VALUE;
#endif
    for (int k = 0; k < K && IS_ACTIVE(dilated, centre); k++) {
        float sum = 0;
        for (int r = 0; r < 3; r++)
            for (int s = 0; s < 3; s++) {
                int a = p + r - 1, b = q + s - 1;
                bool inside = a >= 0 && a < H && b >= 0 && b < W;
                for (int c = 0; c < C && inside && USES(MARK_OF(mask_in, a, b, H, W)); c++)
                    sum += x[(a * W + b) * C + c] * f[((k * 3 + r) * 3 + s) * C + c];
            }
        y[(p * W + q) * K + k] = sum;
    }
}
