/* What stands between the convolutions of a sequence of frames: which pixels changed enough to be passed on. No variant of an op: session/sequence launches it.
 *
 * Every tensor that is passed on is known to its reader as the sum of the changes it was sent, so `sent` is kept as exactly that sum, rounding included: what was held back
 * or lost to rounding is in the difference to the value itself and goes along with the next change. A pixel is passed on when the norm over its channels of
 * that difference is above the threshold (MODE 0: largest magnitude, 1: L2, 2: root mean square).
 *
 * A block is 32 pixels side by side, one word of the mask; a warp takes four of them, its lanes the channels. ZERO: pixels that are not passed on are
 * written as 0, for a reader that does not look at the mask. */
#include "element.cuh"

static __device__ __forceinline__ size_t element(int n, int y, int x, int c, int H, int W, int C)
{
    return NHWC ? (((size_t)n * H + y) * W + x) * C + c : (((size_t)n * C + c) * H + y) * W + x;
}

static __device__ __forceinline__ float activate(float v, float slope) { return v < 0.0f ? v * slope : v; }

static __device__ __forceinline__ float norm(float local, int C)
{
    for (int i = 16; i; i /= 2) {
        float other = __shfl_xor_sync(~0u, local, i);
        local = MODE == 0 ? fmaxf(local, other) : local + other;
    }
    return MODE == 0 ? local : MODE == 1 ? sqrtf(local) : sqrtf(local / C);
}

/* One pixel: its new values are activate(value(c)); passes the change on and returns true when it is large enough. */
template <typename VALUE>
static __device__ __forceinline__ bool pass_on(VALUE value, float *sent, TYPE *out, int n, int y, int x, int H, int W, int C, float slope, float threshold, bool all)
{
    float local = 0.0f;
    for (int c = threadIdx.x; c < C; c += 32) {
        float d = activate(value(c), slope) - sent[element(n, y, x, c, H, W, C)];
        local = MODE == 0 ? fmaxf(local, fabsf(d)) : local + d * d;
    }
    bool active = norm(local, C) > threshold || all;
    for (int c = threadIdx.x; c < C; c += 32) {
        size_t at = element(n, y, x, c, H, W, C);
        if (active) {
            TYPE d = from_f32<TYPE>(activate(value(c), slope) - sent[at]);
            out[at] = d;
            sent[at] += to_f32(d);
        } else if (ZERO) {
            out[at] = from_f32<TYPE>(0.0f);
        }
    }
    return active;
}

/* The frame itself: sent is what the network has been told of it. */
extern "C" __global__ void __launch_bounds__(256) sparsify(const float *frame, float *sent, TYPE *out, unsigned *mask_out, int H, int W, int C, float threshold, int all)
{
    __shared__ unsigned word;
    int y = blockIdx.y, n = blockIdx.z;
    if (threadIdx.x == 0 && threadIdx.y == 0)
        word = 0;
    __syncthreads();
    for (int i = threadIdx.y; i < 32; i += 8) {
        int x = blockIdx.x * 32 + i;
        if (x >= W)
            continue; /* a whole warp */
        bool active = pass_on([&](int c) { return frame[element(n, y, x, c, H, W, C)]; }, sent, out, n, y, x, H, W, C, 1.0f, threshold, all);
        if (active && threadIdx.x == 0)
            atomicOr(&word, 1u << i);
    }
    __syncthreads();
    if (threadIdx.x == 0 && threadIdx.y == 0)
        mask_out[((size_t)n * H + y) * gridDim.x + blockIdx.x] = word;
}

/* Behind a convolution: its changes are added to the sums, and what the activation makes of that is passed on. The last one (out null) only adds. */
extern "C" __global__ void __launch_bounds__(256)
truncate_changes(const TYPE *delta, const unsigned *mask_in, float *sum, float *sent, TYPE *out, unsigned *mask_out, int H, int W, int C, float slope, float threshold, int all)
{
    __shared__ unsigned word;
    int y = blockIdx.y, n = blockIdx.z;
    size_t at_word = ((size_t)n * H + y) * gridDim.x + blockIdx.x;
    unsigned changed = mask_in[at_word];
    if (threadIdx.x == 0 && threadIdx.y == 0)
        word = 0;
    __syncthreads();
    for (int i = threadIdx.y; i < 32; i += 8) {
        int x = blockIdx.x * 32 + i;
        bool here = changed >> i & 1;
        if (x >= W || (!here && !all && (!ZERO || !out)))
            continue;
        for (int c = threadIdx.x; c < C && here; c += 32)
            sum[element(n, y, x, c, H, W, C)] += to_f32(delta[element(n, y, x, c, H, W, C)]);
        if (!out)
            continue;
        bool active = false;
        if (here || all) /* a lane sees only the channels that it has added itself */
            active = pass_on([&](int c) { return sum[element(n, y, x, c, H, W, C)]; }, sent, out, n, y, x, H, W, C, slope, threshold, all);
        else
            for (int c = threadIdx.x; c < C; c += 32)
                out[element(n, y, x, c, H, W, C)] = from_f32<TYPE>(0.0f);
        if (active && threadIdx.x == 0)
            atomicOr(&word, 1u << i);
    }
    __syncthreads();
    if (out && threadIdx.x == 0 && threadIdx.y == 0)
        mask_out[at_word] = word;
}

/* Marked pixels and their mask as they are, from a layer that keeps nothing, or to a second reader. */
extern "C" __global__ void __launch_bounds__(256) hand_over(const TYPE *delta, const unsigned *mask_in, TYPE *out, unsigned *mask_out, int H, int W, int C)
{
    int y = blockIdx.y, n = blockIdx.z;
    size_t at_word = ((size_t)n * H + y) * gridDim.x + blockIdx.x;
    unsigned changed = mask_in[at_word];
    for (int i = threadIdx.y; i < 32; i += 8) {
        int x = blockIdx.x * 32 + i;
        bool here = changed >> i & 1;
        for (int c = threadIdx.x; c < C && x < W && (here || ZERO); c += 32) {
            size_t e = element(n, y, x, c, H, W, C);
            out[e] = here ? delta[e] : from_f32<TYPE>(0.0f);
        }
    }
    if (threadIdx.x == 0 && threadIdx.y == 0)
        mask_out[at_word] = changed;
}

/* Behind a maximum: its input's changes become part of what it stores. */
extern "C" __global__ void __launch_bounds__(256) accumulate(const TYPE *delta, const unsigned *mask_in, TYPE *stored, int H, int W, int C)
{
    int y = blockIdx.y, n = blockIdx.z;
    unsigned changed = mask_in[((size_t)n * H + y) * gridDim.x + blockIdx.x];
    for (int i = threadIdx.y; i < 32; i += 8)
        for (int c = threadIdx.x; c < C && changed >> i & 1; c += 32) {
            size_t e = element(n, y, blockIdx.x * 32 + i, c, H, W, C);
            stored[e] = from_f32<TYPE>(to_f32(stored[e]) + to_f32(delta[e]));
        }
}
