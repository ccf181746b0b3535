/* stage/chain: stages one behind another, cut into kernels.
 *
 * The compiler is told what the stages are by -D names (harness/op/stage.h): STAGE_FILE_0 ... are their headers and STAGES is a list of
 *
 *     SOURCE(0, input, T, C, n, h, w)                       what is read
 *     POINT, SAMPLE or BOXES(i, name, T, C, n, h, w, ...)   what stage i makes: C channels of T, n images of at most h x w; its parameters
 *
 * A kernel span_F_L computes stages F to L: each of its threads asks stage L for a pixel, which asks the one before it for what it needs, down to the image in
 * memory that stage F reads (the read pattern is pulled through). What lies between two spans is stored packed, the last output as OUT_PLANAR says.
 * PIXELS: how many neighbours in a row a thread makes; IN_PLANAR, OUT_PLANAR; LAST: the number of the last stage. */
#pragma once
#include "element/element.cuh"
#include "stage/pixel.cuh"
#include "stage/files.cuh"

__device__ __forceinline__ float element_of(unsigned char x) { return x; }
__device__ __forceinline__ float element_of(unsigned short x) { return x; }
template <class T> __device__ __forceinline__ float element_of(T x) { return to_f32(x); }
template <class T> __device__ __forceinline__ T element_from(float x) { return from_f32<T>(x); }
template <> __device__ __forceinline__ unsigned char element_from<unsigned char>(float x) { return (unsigned char)x; }
template <> __device__ __forceinline__ unsigned short element_from<unsigned short>(float x) { return (unsigned short)x; }

/* What a span of stages reads: stage FIRST - 1 as it is stored. */
template <int FIRST> struct reading {
    static constexpr int first = FIRST;
    const void *from;
    const int *boxes;
};
/* Of each stage: what it is stored as, its size for image b, and its pixel; specialised below. */
template <int I> struct stage_at;

template <int I> __device__ __forceinline__ image size_of(const int *boxes, int b)
{
    return stage_at<I>::size(boxes, b);
}
template <int I, class S> __device__ __forceinline__ auto value_at(const S &s, int b, int y, int x)
{
    using here = stage_at<I>;
    if constexpr (I < S::first) {
        using T = typename here::type;
        const T *at = (const T *)s.from;
        pixel<float, here::channels> p;
#pragma unroll
        for (int c = 0; c < here::channels; c++)
            p.v[c] = element_of(here::planar ? at[((size_t)(b * here::channels + c) * here::h + y) * here::w + x]
                                             : at[((size_t)(b * here::h + y) * here::w + x) * here::channels + c]);
        return p;
    } else {
        return here::at(s, b, y, x);
    }
}
template <int I, class S> struct puller {
    const S &s;
    __device__ __forceinline__ auto operator()(int b, int y, int x) const { return value_at<I>(s, b, y, x); }
};

#define STAGE_STORED(T, C, H, W, PLANAR) \
    using type = T; \
    static constexpr int channels = C, h = H, w = W; \
    static constexpr bool planar = PLANAR;
#define SOURCE(I, NAME, T, C, N, H, W) \
    template <> struct stage_at<I> { \
        STAGE_STORED(T, C, H, W, IN_PLANAR) \
        static __device__ __forceinline__ image size(const int *, int) { return {H, W}; } \
    };
#define POINT(I, NAME, T, C, N, H, W, ...) \
    template <> struct stage_at<I> { \
        using R = float; \
        STAGE_STORED(T, C, H, W, I == LAST && OUT_PLANAR) \
        static __device__ __forceinline__ image size(const int *boxes, int b) { return size_of<I - 1>(boxes, b); } \
        template <class S> static __device__ __forceinline__ auto at(const S &s, int b, int y, int x) \
        { \
            return NAME(value_at<I - 1>(s, b, y, x), ##__VA_ARGS__); \
        } \
    };
#define SAMPLE(I, NAME, T, C, N, H, W, ...) \
    template <> struct stage_at<I> { \
        using R = float; \
        STAGE_STORED(T, C, H, W, I == LAST && OUT_PLANAR) \
        static __device__ __forceinline__ image size(const int *, int) { return {H, W}; } \
        template <class S> static __device__ __forceinline__ auto at(const S &s, int b, int y, int x) \
        { \
            return NAME<R>(puller<I - 1, S>{s}, size_of<I - 1>(s.boxes, b), image{H, W}, b, y, x, ##__VA_ARGS__); \
        } \
    };
#define BOXES(I, NAME, T, C, N, H, W, ...) \
    template <> struct stage_at<I> { \
        using R = float; \
        STAGE_STORED(T, C, H, W, I == LAST && OUT_PLANAR) \
        static __device__ __forceinline__ image size(const int *boxes, int b) { return {boxes[4 * b + 3], boxes[4 * b + 2]}; } \
        template <class S> static __device__ __forceinline__ auto at(const S &s, int b, int y, int x) \
        { \
            return NAME<R>(puller<I - 1, S>{s}, s.boxes + 4 * b, size_of<I - 1>(s.boxes, b), image{H, W}, b, y, x, ##__VA_ARGS__); \
        } \
    };
STAGES

/* A block of 32 x 8 threads makes 32 PIXELS x 8 pixels of image `first_image` + blockIdx.z. */
template <int FIRST, int TO> static __device__ __forceinline__ void span(const void *from, void *to, const int *boxes, int first_image)
{
    using out = stage_at<TO>;
    using T = typename out::type;
    constexpr int C = out::channels;
    reading<FIRST> s = {from, boxes};
    int b = first_image + blockIdx.z, y = blockIdx.y * 8 + threadIdx.y, x0 = (blockIdx.x * 32 + threadIdx.x) * PIXELS;
    image size = size_of<TO>(boxes, b);
    if (y >= size.h || x0 >= size.w)
        return;
    pixel<float, C> made[PIXELS];
#pragma unroll
    for (int i = 0; i < PIXELS; i++)
        if (PIXELS == 1 || x0 + i < size.w)
            made[i] = value_at<TO>(s, b, y, x0 + i);
#pragma unroll
    for (int c = 0; c < (out::planar ? C : 1); c++) {
        constexpr int count = out::planar ? PIXELS : PIXELS * C; /* neighbours in memory */
        T *at = (T *)to + (out::planar ? ((size_t)(b * C + c) * out::h + y) * out::w + x0 : ((size_t)(b * out::h + y) * out::w + x0) * C);
        constexpr bool wide = PIXELS > 1 && count * sizeof(T) <= 16 && (count & (count - 1)) == 0 && out::w % PIXELS == 0;
        if (wide && x0 + PIXELS <= size.w) {
            pack<T, wide ? count : 1> all;
#pragma unroll
            for (int i = 0; i < (wide ? count : 1); i++)
                all.item[i] = element_from<T>(out::planar ? made[i].v[c] : made[i / C].v[i % C]);
            store_pack<T, wide ? count : 1>(at, all);
        } else {
#pragma unroll
            for (int i = 0; i < count; i++)
                if (x0 + (out::planar ? i : i / C) < size.w)
                    at[i] = element_from<T>(out::planar ? made[i].v[c] : made[i / C].v[i % C]);
        }
    }
}

#define SPAN(FIRST, TO) \
    extern "C" __global__ void __launch_bounds__(256) span_##FIRST##_##TO(const void *from, void *to, const int *boxes, int first_image) \
    { \
        span<FIRST, TO>(from, to, boxes, first_image); \
    }
SPANS
