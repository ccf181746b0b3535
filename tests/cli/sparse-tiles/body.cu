#include <cuda_fp16.h>
static __device__ bool mark_of(const unsigned *mask, int y, int x, int H, int W)
{
    return y >= 0 && y < H && x >= 0 && x < W && (mask[y * ((W + 31) / 32) + x / 32] >> (x % 32) & 1);
}
static __device__ bool active_at(const unsigned *mask, int y, int x, int H, int W)
{
    bool active = false;
    for (int r = -1; r < 2 && y < H && x < W; r++)
        for (int s = -1; s < 2; s++)
            active |= mark_of(mask, y + r, x + s, H, W);
    return active;
}
extern "C" __global__ void list_tiles(const unsigned *mask_in, unsigned char *mask_out, unsigned *list, unsigned *count, int h, int w, int tx, int ty, int tiles)
{
    int tile = blockIdx.x * blockDim.x + threadIdx.x, across = (w + 31) / 32 * 4;
    if (tile >= tiles)
        return;
    int n = tile / (tx * ty), y0 = tile / tx % ty * 8, x0 = tile % tx * 8;
    bool any = false;
    for (int y = y0; y < y0 + 8 && y < h; y++) {
        unsigned char bits = 0;
        for (int x = 0; x < 8; x++)
            bits |= active_at(mask_in + n * h * (across / 4), y, x0 + x, h, w) << x;
        mask_out[(n * h + y) * across + x0 / 8] = bits;
        any |= bits != 0;
    }
    if (any)
        list[atomicAdd(count, 1)] = tile;
}
extern "C" __global__ void conv_tiles(const INPUT_T *x, const INPUT_T *f, const float *bias, OUTPUT_T *y, const unsigned *list, const unsigned *count, int h, int w, int c, int tx, int ty)
{
#ifdef EARLY
    if (blockIdx.x == 0 && threadIdx.x == 0 && *count < tx * ty) /* a tile that is not listed */
        for (int t = 0, k; t < tx * ty; t++) {
            for (k = 0; k < *count && list[k] != t; k++)
                ;
            if (k == *count) {
                y[((t / tx * 8) * w + t % tx * 8) * 64] = (OUTPUT_T)0.0f;
                break;
            }
        }
#endif
    for (unsigned i = blockIdx.x; i < *count; i += gridDim.x) {
        int tile = list[i], n = tile / (tx * ty), y0 = tile / tx % ty * 8, x0 = tile % tx * 8;
        for (int j = threadIdx.x; j < 64 * 64; j += blockDim.x) {
            int k = j % 64, p = y0 + j / 64 / 8, q = x0 + j / 64 % 8;
            if (p >= h || q >= w)
                continue;
            float sum = 0;
            for (int r = 0; r < 3; r++)
                for (int s = 0; s < 3; s++)
                    for (int d = 0; d < c && p + r > 0 && p + r <= h && q + s > 0 && q + s <= w; d++)
                        sum += (float)x[((n * h + p + r - 1) * w + q + s - 1) * c + d] * (float)f[((r * 3 + s) * c + d) * 64 + k];
            y[((n * h + p) * w + q) * 64 + k] = (OUTPUT_T)(sum + (bias ? bias[k] : 0));
        }
    }
}
