/* What stands between the convolutions of a sequence of frames: which pixels changed enough to be passed on. No variant of an op: op/compose_changes puts it between the layers.
 *
 * Every tensor that is passed on is known to its reader as the sum of the changes it was sent, so `sent` is kept as exactly that sum, rounding included: what was held back
 * or lost to rounding is in the difference to the value itself and goes along with the next change. A pixel is passed on when the norm over its channels of
 * that difference is above the threshold (MODE 0: largest magnitude, 1: L2, 2: root mean square).
 *
 * A block of 32 x 8 threads has eight words of the mask. It lists the pixels that there is something to do for, and as many lanes as a pixel has vectors of
 * channels take one from the list: a block without any ends after one look at its words. ZERO: pixels that are not passed on are written as 0, for a
 * reader that does not look at the mask. The grid is ceil(H * ceil(W, 32), 8) x 1 x n. */
#include "element/element.cuh"

enum { WORDS = 8 };
static __shared__ unsigned changed[WORDS], wanted[WORDS], passed[WORDS];
static __shared__ unsigned short pixels[32 * WORDS];

/* One tensor, n,y,x,c or n,c,y,x, and how the lanes lie over it: VEC neighbours in c at a time where that is possible. */
struct shape {
    int H, W, C;
    __device__ int words() const { return (W + 31) / 32; }
    __device__ int vec() const { return NHWC && C % 4 == 0 ? 4 : 1; }
    __device__ int lanes() const /* of a pixel: a power of two */
    {
        int vectors = C / vec(), n = 1;
        while (n < vectors && n < 32)
            n *= 2;
        return n;
    }
    __device__ size_t element(size_t pixel, int c) const
    {
        size_t image = (size_t)H * W;
        return NHWC ? pixel * C + c : (pixel / image * C + c) * image + pixel % image;
    }
};

/* This block's words, and the list of pixels that `want` says something is to be done for: its length. */
template <typename WANT> static __device__ __forceinline__ int list_pixels(const shape &s, const unsigned *mask_in, WANT want)
{
    int warp = threadIdx.y, lane = threadIdx.x, word = blockIdx.x * WORDS + warp, total = s.H * s.words();
    if (lane == 0) {
        int columns = word < total ? min(s.W - word % s.words() * 32, 32) : 0;
        unsigned inside = columns == 32 ? ~0u : (1u << columns) - 1;
        changed[warp] = mask_in && word < total ? mask_in[(size_t)blockIdx.z * total + word] : 0;
        wanted[warp] = want(changed[warp], inside);
        passed[warp] = 0;
    }
    __syncthreads();
    int before = 0, count = 0;
    for (int i = 0; i < WORDS; i++) {
        before += i < warp ? __popc(wanted[i]) : 0;
        count += __popc(wanted[i]);
    }
    if (wanted[warp] >> lane & 1)
        pixels[before + __popc(wanted[warp] & ((1u << lane) - 1))] = warp * 32 + lane;
    __syncthreads();
    return count;
}

/* Calls body(valid, place in the block, pixel of the whole tensor) until the list is done. All lanes of a warp stay: its body may shuffle. */
template <typename BODY> static __device__ __forceinline__ void each_pixel(const shape &s, int count, BODY body)
{
    int lanes = s.lanes(), groups = 32 * WORDS / lanes, group = (threadIdx.y * 32 + threadIdx.x) / lanes;
    for (int i = group; i - group < count; i += groups) {
        int at = i < count ? pixels[i] : 0, word = blockIdx.x * WORDS + at / 32;
        body(i < count, at, ((size_t)blockIdx.z * s.H + word / s.words()) * s.W + word % s.words() * 32 + at % 32);
    }
}

/* Calls body(c) for the first channel of each of this lane's vectors. */
template <typename BODY> static __device__ __forceinline__ void each_channel(const shape &s, BODY body)
{
    int lanes = s.lanes(), vec = s.vec();
    for (int c = threadIdx.x % lanes * vec; c < s.C; c += lanes * vec)
        body(c);
}

struct four {
    float v[4];
};
template <typename T> static __device__ __forceinline__ four load_four(const T *p, int vec)
{
    four f = {{0.0f}};
    if (vec == 1) {
        f.v[0] = to_f32(*p);
        return f;
    }
    pack<T, 4> x = load_pack<T, 4>(p);
    for (int i = 0; i < 4; i++)
        f.v[i] = to_f32(x.item[i]);
    return f;
}
template <typename T> static __device__ __forceinline__ void store_four(T *p, const four &f, int vec)
{
    if (vec == 1) {
        *p = from_f32<T>(f.v[0]);
        return;
    }
    pack<T, 4> x;
    for (int i = 0; i < 4; i++)
        x.item[i] = from_f32<T>(f.v[i]);
    store_pack<T, 4>(p, x);
}

static __device__ __forceinline__ float activate(float v, float slope) { return v < 0.0f ? v * slope : v; }

/* What the new values differ by from what was sent. Elements behind the first of a vector of one are 0 on both sides. */
static __device__ __forceinline__ four change_of(const four &value, const four &was, float slope)
{
    four d;
    for (int i = 0; i < 4; i++)
        d.v[i] = activate(value.v[i], slope) - was.v[i];
    return d;
}

static __device__ __forceinline__ float norm_of(float local, const shape &s)
{
    for (int step = s.lanes() / 2; step; step /= 2) {
        float other = __shfl_xor_sync(~0u, local, step);
        local = MODE == 0 ? fmaxf(local, other) : local + other;
    }
    return MODE == 0 ? local : MODE == 1 ? sqrtf(local) : sqrtf(local / s.C);
}

/* One pixel whose new values are activate(values): passes the change on when it is large enough, or all are. */
static __device__ __forceinline__ void pass_on(const shape &s, bool valid, int at, size_t pixel, const float *values, float *sent, TYPE *out, float slope, float threshold, bool all)
{
    int vec = s.vec();
    float local = 0.0f;
    each_channel(s, [&](int c) {
        if (!valid)
            return;
        size_t e = s.element(pixel, c);
        four d = change_of(load_four(values + e, vec), load_four(sent + e, vec), slope);
        for (int i = 0; i < 4; i++)
            local = MODE == 0 ? fmaxf(local, fabsf(d.v[i])) : local + d.v[i] * d.v[i];
    });
    float norm = norm_of(local, s); /* all lanes shuffle */
    bool active = valid && (norm > threshold || all);
    each_channel(s, [&](int c) {
        size_t e = s.element(pixel, c);
        if (active) {
            four was = load_four(sent + e, vec), d = change_of(load_four(values + e, vec), was, slope);
            for (int i = 0; i < 4; i++) {
                d.v[i] = to_f32(from_f32<TYPE>(d.v[i]));
                was.v[i] += d.v[i];
            }
            store_four(out + e, d, vec);
            store_four(sent + e, was, vec);
        } else if (ZERO && valid) {
            store_four(out + e, four{{0.0f}}, vec);
        }
    });
    if (active && threadIdx.x % s.lanes() == 0)
        atomicOr(&passed[at / 32], 1u << at % 32);
}

/* Adds a pixel's changes to what was there. */
template <typename T> static __device__ __forceinline__ void add_pixel(const shape &s, bool valid, size_t pixel, T *to, const TYPE *delta)
{
    each_channel(s, [&](int c) {
        if (!valid)
            return;
        size_t e = s.element(pixel, c);
        four a = load_four(to + e, s.vec()), d = load_four(delta + e, s.vec());
        for (int i = 0; i < 4; i++)
            a.v[i] += d.v[i];
        store_four(to + e, a, s.vec());
    });
}

static __device__ __forceinline__ void write_words(const shape &s, unsigned *mask_out, const unsigned *words)
{
    __syncthreads();
    int total = s.H * s.words(), word = blockIdx.x * WORDS + threadIdx.x;
    if (threadIdx.y == 0 && threadIdx.x < WORDS && word < total)
        mask_out[(size_t)blockIdx.z * total + word] = words[threadIdx.x];
}

/* The frame itself: sent is what the network has been told of it. Of the first frame everything is passed on. */
extern "C" __global__ void __launch_bounds__(256) sparsify(const float *frame, float *sent, TYPE *out, unsigned *mask_out, int H, int W, int C, float threshold, const unsigned *first)
{
    bool all = *first;
    shape s = {H, W, C};
    int count = list_pixels(s, 0, [](unsigned, unsigned inside) { return inside; });
    each_pixel(s, count, [&](bool valid, int at, size_t pixel) { pass_on(s, valid, at, pixel, frame, sent, out, 1.0f, threshold, all); });
    write_words(s, mask_out, passed);
}

/* Before frame 0: a layer's bias in every sum; 0 where bias is null. */
extern "C" __global__ void __launch_bounds__(256) begin_sums(float *sums, const float *bias, int H, int W, int C)
{
    shape s = {H, W, C};
    int count = list_pixels(s, 0, [](unsigned, unsigned inside) { return inside; });
    each_pixel(s, count, [&](bool valid, int, size_t pixel) {
        each_channel(s, [&](int c) {
            if (valid)
                store_four(sums + s.element(pixel, c), bias ? load_four(bias + c, s.vec()) : four{{0.0f}}, s.vec());
        });
    });
}

/* Behind a convolution: its changes are added to the sums, and what the activation makes of that is passed on. The last one (out null) only adds. */
extern "C" __global__ void __launch_bounds__(256)
truncate_changes(const TYPE *delta, const unsigned *mask_in, float *sums, float *sent, TYPE *out, unsigned *mask_out, int H, int W, int C, float slope, float threshold, const unsigned *first)
{
    bool all = *first;
    shape s = {H, W, C};
    int count = list_pixels(s, mask_in, [&](unsigned marks, unsigned inside) { return out && (all || ZERO) ? inside : marks; });
    each_pixel(s, count, [&](bool valid, int at, size_t pixel) {
        bool here = valid && changed[at / 32] >> at % 32 & 1;
        add_pixel(s, here, pixel, sums, delta); /* a lane sees only the channels that it has added itself */
        if (out)
            pass_on(s, valid, at, pixel, sums, sent, out, slope, here || all ? threshold : 3e38f, all);
    });
    if (out)
        write_words(s, mask_out, passed);
}

/* Marked pixels and their mask as they are, from a layer that keeps nothing, or to a second reader. */
extern "C" __global__ void __launch_bounds__(256) hand_over(const TYPE *delta, const unsigned *mask_in, TYPE *out, unsigned *mask_out, int H, int W, int C)
{
    shape s = {H, W, C};
    int count = list_pixels(s, mask_in, [](unsigned marks, unsigned inside) { return ZERO ? inside : marks; });
    each_pixel(s, count, [&](bool valid, int at, size_t pixel) {
        bool here = valid && changed[at / 32] >> at % 32 & 1;
        each_channel(s, [&](int c) {
            size_t e = s.element(pixel, c);
            if (valid)
                store_four(out + e, here ? load_four(delta + e, s.vec()) : four{{0.0f}}, s.vec());
        });
    });
    write_words(s, mask_out, changed);
}

/* Behind a maximum: its input's changes become part of what it stores. */
extern "C" __global__ void __launch_bounds__(256) accumulate(const TYPE *delta, const unsigned *mask_in, TYPE *stored, int H, int W, int C)
{
    shape s = {H, W, C};
    int count = list_pixels(s, mask_in, [](unsigned marks, unsigned) { return marks; });
    each_pixel(s, count, [&](bool valid, int, size_t pixel) { add_pixel(s, valid, pixel, stored, delta); });
}
