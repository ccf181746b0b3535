/* stage/chain: a sequence of stages, cut into kernels.
 *
 * -D options define the stages (harness/op/stage/stage.h): STAGE_FILE_0 ... are their headers and STAGES is a list of
 *
 *     SOURCE(0, 0, input, T, C, n, h, w)                       what is read
 *     POINT, SAMPLE or BOXES(i, b, name, T, C, n, h, w, ...)   what stage i makes of what stage b made: C channels of T, n images of at most h x w; its parameters
 *     JOIN(i, b, branch, T, C, n, h, w, count, e0, e1 ...)     image k has taken branch k % count, whose last stage is e0, e1 ...
 *
 * A kernel span_F_L computes stages F to L: each of its threads asks stage L for a pixel, which asks the stage before it for what it needs, back to the image in
 * memory that stage F reads. Images between two spans are stored packed, the last output as OUT_PLANAR says. SPANS is a list of SPAN(F, L, S, points, by_row,
 * pixels, rows, step). S: the stage whose result is stored (L or a join behind it); points: F to L are all point stages; by_row: a block computes pixels row after
 * row; pixels, rows: adjacent pixels of a row and rows of a thread; step: distance to the branch's next image. IN_PLANAR, OUT_PLANAR; LAST: the number of the last
 * stage. */
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
__device__ __forceinline__ unsigned bits_of(float x) { return __float_as_uint(x); }
__device__ __forceinline__ unsigned bits_of(__half x) { return __half_as_ushort(x); }
__device__ __forceinline__ unsigned bits_of(__nv_bfloat16 x) { return __bfloat16_as_ushort(x); }
template <class T> __device__ __forceinline__ unsigned bits_of(T x) { return x; }

/* What an index of so many elements is computed in: 32 bits are half the instructions where they will do. */
template <bool FEW> struct place_type { using type = unsigned; };
template <> struct place_type<false> { using type = size_t; };

/* Of each stage: what it is stored as, its size for image b, and its pixel; specialised below. */
template <int I> struct stage_at;

/* Where element c of pixel (b, y, x) of a stored stage lies. */
template <class S> __device__ __forceinline__ typename S::place index_of(int b, int c, int y, int x)
{
    using place = typename S::place;
    return S::planar ? ((place)(b * S::channels + c) * S::h + y) * S::w + x : ((place)(b * S::h + y) * S::w + x) * S::channels + c;
}
/* The same as a pixel's first element and, a constant that an instruction of memory adds by itself, the way from it to element c. */
template <class S> __device__ __forceinline__ size_t first_of(int b, int y, int x)
{
    return S::planar ? index_of<S>(b, 0, y, x) : (size_t)(((typename S::place)b * S::h + y) * S::w + x) * S::channels;
}
template <class S> __device__ __forceinline__ size_t element_at(int c) { return S::planar ? (size_t)c * S::h * S::w : c; }
/* N neighbours at p, whose place in a row is a multiple of N in rows of PITCH: in as few loads and stores as these two allow. */
template <class T, int N, int PITCH> struct neighbours {
    static constexpr int widest(int bytes) { return bytes > (int)sizeof(T) && ((N * (int)sizeof(T)) % bytes || (PITCH * (int)sizeof(T)) % bytes) ? widest(bytes / 2) : bytes; }
    static constexpr int each = widest(16) / (int)sizeof(T) > 0 ? widest(16) / (int)sizeof(T) : 1;
    static __device__ __forceinline__ void load(const T *p, float (&to)[N])
    {
#pragma unroll
        for (int i = 0; i < N; i += each) {
            pack<T, each> v = load_pack<T, each>(p + i);
#pragma unroll
            for (int k = 0; k < each; k++)
                to[i + k] = element_of(v.item[k]);
        }
    }
    /* A plain store of a uint4 comes apart here: the compiler makes four of it. */
    static __device__ __forceinline__ void store(T *p, const float (&from)[N])
    {
        constexpr int words = each * (int)sizeof(T) / 4, in_word = words ? 4 / (int)sizeof(T) : 1;
#pragma unroll
        for (int i = 0; i < N; i += each) {
            if constexpr (words == 0) {
#pragma unroll
                for (int k = 0; k < each; k++)
                    p[i + k] = element_from<T>(from[i + k]);
            } else {
                unsigned word[words] = {};
#pragma unroll
                for (int k = 0; k < each; k++)
                    word[k / in_word] |= bits_of(element_from<T>(from[i + k])) << (k % in_word * 8 * (int)sizeof(T));
                if constexpr (words == 4)
                    __stwb((uint4 *)(p + i), make_uint4(word[0], word[1], word[2], word[3]));
                else if constexpr (words == 2)
                    __stwb((uint2 *)(p + i), make_uint2(word[0], word[1]));
                else
                    *(unsigned *)(p + i) = word[0];
            }
        }
    }
};

/* What a span of stages reads: stage FIRST - 1 as it is stored, any pixel of it; or the one pixel that a row of point stages needs. */
template <int FIRST> struct reading {
    static constexpr int first = FIRST;
    const void *from;
    const int *boxes;
    template <int I> __device__ __forceinline__ auto load(int b, int y, int x) const
    {
        using here = stage_at<I>;
        const typename here::type *at = (const typename here::type *)from + first_of<here>(b, y, x);
        pixel<float, here::channels> p;
#pragma unroll
        for (int c = 0; c < here::channels; c++)
            p.v[c] = element_of(at[element_at<here>(c)]);
        return p;
    }
};
template <int FIRST> struct holding {
    static constexpr int first = FIRST;
    const int *boxes;
    pixel<float, stage_at<stage_at<FIRST>::before>::channels> p;
    template <int I> __device__ __forceinline__ auto load(int, int, int) const { return p; }
};

template <int I> __device__ __forceinline__ image size_of(const int *boxes, int b)
{
    return stage_at<I>::size(boxes, b);
}
template <int I, class S> __device__ __forceinline__ pixel<float, stage_at<I>::channels> value_at(const S &s, int b, int y, int x)
{
    if constexpr (I < S::first)
        return s.template load<I>(b, y, x);
    else
        return stage_at<I>::at(s, b, y, x);
}
template <int I, class S> struct puller {
    const S &s;
    __device__ __forceinline__ pixel<float, stage_at<I>::channels> operator()(int b, int y, int x) const { return value_at<I>(s, b, y, x); }
};

/* fixed: each image is h x w. */
#define STAGE_STORED(B, T, C, N, H, W, PLANAR, FIXED) \
    static constexpr int before = B; \
    static constexpr bool fixed = FIXED; \
    using place = typename place_type<(1.0 * (N) * (C) * (H) * (W) < 0x80000000u)>::type; \
    using type = T; \
    static constexpr int channels = C, h = H, w = W; \
    static constexpr bool planar = PLANAR;
#define SOURCE(I, B, NAME, T, C, N, H, W) \
    template <> struct stage_at<I> { \
        STAGE_STORED(B, T, C, N, H, W, IN_PLANAR, true) \
        static __device__ __forceinline__ image size(const int *, int) { return {H, W}; } \
    };
#define POINT(I, B, NAME, T, C, N, H, W, ...) \
    template <> struct stage_at<I> { \
        using R = float; \
        STAGE_STORED(B, T, C, N, H, W, I == LAST && OUT_PLANAR, stage_at<B>::fixed) \
        static __device__ __forceinline__ image size(const int *boxes, int b) { return size_of<B>(boxes, b); } \
        template <class S> static __device__ __forceinline__ pixel<float, C> at(const S &s, int b, int y, int x) \
        { \
            return NAME(value_at<B>(s, b, y, x), ##__VA_ARGS__); \
        } \
    };
#define SAMPLE(I, B, NAME, T, C, N, H, W, ...) \
    template <> struct stage_at<I> { \
        using R = float; \
        STAGE_STORED(B, T, C, N, H, W, I == LAST && OUT_PLANAR, true) \
        static __device__ __forceinline__ image size(const int *, int) { return {H, W}; } \
        template <class S> static __device__ __forceinline__ pixel<float, C> at(const S &s, int b, int y, int x) \
        { \
            return NAME<R>(puller<B, S>{s}, size_of<B>(s.boxes, b), image{H, W}, b, y, x, ##__VA_ARGS__); \
        } \
    };
#define BOXES(I, B, NAME, T, C, N, H, W, ...) \
    template <> struct stage_at<I> { \
        using R = float; \
        STAGE_STORED(B, T, C, N, H, W, I == LAST && OUT_PLANAR, false) \
        static __device__ __forceinline__ int4 box(const int *boxes, int b) { return __ldg((const int4 *)boxes + b); } \
        static __device__ __forceinline__ image size(const int *boxes, int b) \
        { \
            image of = {box(boxes, b).w, box(boxes, b).z}; \
            __builtin_assume(of.h > 0); \
            __builtin_assume(of.w > 0); \
            __builtin_assume(of.h <= H); \
            __builtin_assume(of.w <= W); \
            return of; \
        } \
        template <class S> static __device__ __forceinline__ pixel<float, C> at(const S &s, int b, int y, int x) \
        { \
            int4 at = box(s.boxes, b); \
            int box[4] = {at.x, at.y, at.z, at.w}; \
            return NAME<R>(puller<B, S>{s}, box, size_of<B>(s.boxes, b), image{H, W}, b, y, x, ##__VA_ARGS__); \
        } \
    };
/* Of the stages END and MORE number k. */
template <int END, int... MORE> __device__ __forceinline__ image size_of_one(const int *boxes, int b, int k)
{
    if constexpr (sizeof...(MORE) > 0)
        if (k > 0)
            return size_of_one<MORE...>(boxes, b, k - 1);
    return size_of<END>(boxes, b);
}
template <class S, int END, int... MORE> __device__ __forceinline__ auto value_of_one(const S &s, int b, int y, int x, int k)
{
    if constexpr (sizeof...(MORE) > 0)
        if (k > 0)
            return value_of_one<S, MORE...>(s, b, y, x, k - 1);
    return value_at<END>(s, b, y, x);
}
#define JOIN(I, B, NAME, T, C, N, H, W, COUNT, ...) \
    template <> struct stage_at<I> { \
        STAGE_STORED(B, T, C, N, H, W, I == LAST && OUT_PLANAR, false) \
        static __device__ __forceinline__ image size(const int *boxes, int b) { return size_of_one<__VA_ARGS__>(boxes, b, b % COUNT); } \
        template <class S> static __device__ __forceinline__ pixel<float, C> at(const S &s, int b, int y, int x) \
        { \
            return value_of_one<S, __VA_ARGS__>(s, b, y, x, b % COUNT); \
        } \
    };
STAGES

/* WIDE pixels of a stored stage from x on, all inside. */
template <class S, int WIDE> static __device__ __forceinline__ void load_pixels(const void *from, int b, int y, int x, pixel<float, S::channels> (&to)[WIDE])
{
    using T = typename S::type;
    constexpr int C = S::channels, count = S::planar ? WIDE : WIDE * C, pitch = S::planar ? S::w : S::w * C;
    float v[count];
#pragma unroll
    for (int c = 0; c < (S::planar ? C : 1); c++) {
        neighbours<T, count, pitch>::load((const T *)from + index_of<S>(b, c, y, x), v);
#pragma unroll
        for (int i = 0; i < count; i++)
            to[S::planar ? i : i / C].v[S::planar ? c : i % C] = v[i];
    }
}
template <class S, int WIDE> static __device__ __forceinline__ void store_pixels(void *to, int b, int y, int x, const pixel<float, S::channels> (&made)[WIDE])
{
    using T = typename S::type;
    constexpr int C = S::channels, count = S::planar ? WIDE : WIDE * C, pitch = S::planar ? S::w : S::w * C;
    float v[count];
#pragma unroll
    for (int c = 0; c < (S::planar ? C : 1); c++) {
#pragma unroll
        for (int i = 0; i < count; i++)
            v[i] = made[S::planar ? i : i / C].v[S::planar ? c : i % C];
        neighbours<T, count, pitch>::store((T *)to + index_of<S>(b, c, y, x), v);
    }
}

/* Those of WIDE pixels of row y from x0 on that the row has, one by one. */
template <int TO, int STORED, int WIDE, class S>
static __device__ __forceinline__ void lone_pixels(const S &s, void *to, int b, int y, int x0, int w)
{
    using out = stage_at<STORED>;
    for (int x = x0; x < x0 + WIDE && x < w; x++) {
        typename out::type *at = (typename out::type *)to + first_of<out>(b, y, x);
        pixel<float, out::channels> made = value_at<TO>(s, b, y, x);
#pragma unroll
        for (int c = 0; c < out::channels; c++)
            at[element_at<out>(c)] = element_from<typename out::type>(made.v[c]);
    }
}

/* The position of a thread's WIDE pixels in an image of stage I. If all images have one size and rows are whole multiples of WIDE, no group of pixels is cut; if
 * blocks also fill a row or the image exactly, there is no bounds check. */
template <int I, bool BY_ROW, int WIDE, int HIGH> struct standing {
    using of = stage_at<I>;
    static constexpr bool whole = of::fixed && of::w % WIDE == 0, all_x = whole && (BY_ROW || of::w % (32 * WIDE) == 0),
                          all_y = of::fixed && (BY_ROW ? whole && of::w / WIDE * of::h % (256 * HIGH) == 0 : of::h % (8 * HIGH) == 0);
    image size;
    __device__ __forceinline__ bool below(int y) const { return !all_y && y >= size.h; }
    __device__ __forceinline__ bool beside(int x) const { return !all_x && x >= size.w; }
    __device__ __forceinline__ bool inside(int x) const { return whole ? !beside(x) : x + WIDE <= size.w; }
    /* The nearest place that is in the image: who loads there need not ask, so that no load waits behind a branch for what another one brought. */
    static constexpr bool has_nearest = of::fixed && of::w >= WIDE;
    __device__ __forceinline__ int nearest_y(int y) const { return all_y ? y : min(y, of::h - 1); }
    __device__ __forceinline__ int nearest_x(int x) const { return all_x ? x : min(x, of::w - WIDE); }
};

/* A block of 32 x 8 threads computes 32 WIDE x 8 HIGH pixels of image `first_image` + STEP blockIdx.z; a thread's rows are 8 apart. BY_ROW: 256 HIGH groups
 * of WIDE pixels in sequence, row after row; a thread's are 256 apart. POINTS: stages FIRST to TO are all point stages; then a thread starts all its loads
 * before its first store. */
template <int FIRST, int TO, int STORED, bool POINTS, bool BY_ROW, int WIDE, int HIGH, int STEP>
static __device__ __forceinline__ void span(const void *from, void *to, const int *boxes, int first_image)
{
    using in = stage_at<stage_at<FIRST>::before>;
    int b = first_image + STEP * blockIdx.z, y[HIGH], x[HIGH];
    __builtin_assume(b >= 0);
    standing<TO, BY_ROW, WIDE, HIGH> at = {{stage_at<TO>::h, stage_at<TO>::w}};
    if constexpr (!BY_ROW)
        at.size = size_of<TO>(boxes, b);
    reading<FIRST> s = {from, boxes};
    pixel<float, in::channels> held[HIGH][WIDE];
#pragma unroll
    for (int i = 0; i < HIGH; i++) {
        if constexpr (BY_ROW) {
            constexpr unsigned groups = (stage_at<TO>::w + WIDE - 1) / WIDE;
            unsigned group = (blockIdx.x * HIGH + i) * 256 + threadIdx.y * 32 + threadIdx.x;
            y[i] = group / groups;
            x[i] = group % groups * WIDE;
        } else {
            y[i] = (blockIdx.y * HIGH + i) * 8 + threadIdx.y;
            x[i] = (blockIdx.x * 32 + threadIdx.x) * WIDE;
        }
        if constexpr (POINTS && at.has_nearest)
            load_pixels<in>(from, b, at.nearest_y(y[i]), at.nearest_x(x[i]), held[i]);
        else if (POINTS && !at.below(y[i]) && at.inside(x[i]))
            load_pixels<in>(from, b, y[i], x[i], held[i]);
    }
#pragma unroll
    for (int i = 0; i < HIGH; i++) {
        if (at.below(y[i]) || at.beside(x[i]))
            return; /* and so are those behind it */
        if ((POINTS || WIDE > 1) && at.inside(x[i])) {
            pixel<float, stage_at<STORED>::channels> made[WIDE];
#pragma unroll
            for (int j = 0; j < WIDE; j++)
                if constexpr (POINTS)
                    made[j] = value_at<TO>(holding<FIRST>{boxes, held[i][j]}, b, y[i], x[i] + j);
                else
                    made[j] = value_at<TO>(s, b, y[i], x[i] + j);
            store_pixels<stage_at<STORED>>(to, b, y[i], x[i], made);
        } else
            lone_pixels<TO, STORED, WIDE>(s, to, b, y[i], x[i], at.size.w);
    }
}

#define SPAN(FIRST, TO, STORED, POINTS, BY_ROW, WIDE, HIGH, STEP) \
    extern "C" __global__ void __launch_bounds__(256) span_##FIRST##_##TO(const void *from, void *to, const int *boxes, int first_image) \
    { \
        span<FIRST, TO, STORED, POINTS, BY_ROW, WIDE, HIGH, STEP>(from, to, boxes, first_image); \
    }
SPANS
