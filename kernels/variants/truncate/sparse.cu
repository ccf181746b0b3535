/* bench 1
op: truncate
what: activation and truncation of the marked pixels only - one warp per word of the mask
like: add/sparse
define:
  NORM: select(norm == 'max', 0, select(norm == 'l2', 1, 2))
steps:
  - kernel: sparse_truncate
    grid: ceil(h * words, 8), n
    block: 32, 8
    args: input, stored, mask_in, mask_out, output, c, k, h, w, words, above, slope
*/

/* DeltaCNN's activation with truncation. PIXEL_LANES lanes compute the norm of a pixel's change; only if it is large enough, they read the channels again, from L1, and
 * store: a suppressed change costs its reads and one bit. densify adds what a network adds to its state; kernels/sequence/delta.cu does both at once. */
#include "movement/marked_pixels.cuh"

static __device__ __forceinline__ float activated(float v, float slope) { return v < 0.0f ? v * slope : v; }

struct changes {
    float item[VEC];
};
static __device__ __forceinline__ changes change(const ELEMENT_T *input, const ELEMENT_T *stored, float slope)
{
    pack<ELEMENT_T, VEC> x = load_pack<ELEMENT_T, VEC>(input), s = load_pack<ELEMENT_T, VEC>(stored);
    changes d;
#pragma unroll
    for (int j = 0; j < VEC; j++) {
        float before = to_f32(s.item[j]);
        d.item[j] = activated(before + to_f32(x.item[j]), slope) - activated(before, slope);
    }
    return d;
}

extern "C" __global__ void __launch_bounds__(256)
sparse_truncate(const ELEMENT_T *input, const ELEMENT_T *stored, const unsigned *mask_in, unsigned *mask_out, ELEMENT_T *output, int C, int K, int H, int W,
                int words, float above, float slope)
{
    int index = blockIdx.x * 8 + threadIdx.y;
    if (index >= H * words)
        return; /* a whole warp */
    size_t word = (size_t)blockIdx.y * H * words + index, first = ((size_t)blockIdx.y * H + index / words) * W + index % words * 32;
    unsigned marks = mask_in[word];
    const unsigned char *pixels = number_pixels(marks);
    unsigned passed = 0;
    int lane = threadIdx.x, count = __popc(marks);
    for (int base = 0; base < count; base += 32 / PIXEL_LANES) { /* all lanes stay, for the shuffles */
        int i = base + lane / PIXEL_LANES, x = i < count ? pixels[i] : 0;
        size_t e = (first + x) * C;
        float norm = 0.0f;
        for (int c = lane % PIXEL_LANES * VEC; c < C && i < count; c += PIXEL_LANES * VEC) {
            changes d = change(input + e + c, stored + e + c, slope);
#pragma unroll
            for (int j = 0; j < VEC; j++)
                norm = NORM == 0 ? fmaxf(norm, fabsf(d.item[j])) : norm + d.item[j] * d.item[j];
        }
        for (int step = PIXEL_LANES / 2; step; step /= 2) {
            float other = __shfl_xor_sync(~0u, norm, step);
            norm = NORM == 0 ? fmaxf(norm, other) : norm + other;
        }
        norm = NORM == 0 ? norm : NORM == 1 ? sqrtf(norm) : sqrtf(norm / C);
        bool active = i < count && norm > above;
        for (int c = lane % PIXEL_LANES * VEC; c < C && active; c += PIXEL_LANES * VEC) {
            changes d = change(input + e + c, stored + e + c, slope);
            pack<ELEMENT_T, VEC> out;
#pragma unroll
            for (int j = 0; j < VEC; j++)
                out.item[j] = from_f32<ELEMENT_T>(d.item[j]);
            store_pack<ELEMENT_T, VEC>(output + e + c, out);
        }
        passed |= active ? 1u << x : 0;
    }
    for (int step = 16; step; step /= 2)
        passed |= __shfl_xor_sync(~0u, passed, step);
    if (lane == 0)
        mask_out[word] = passed;
}
