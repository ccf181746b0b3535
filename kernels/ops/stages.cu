/* The reference of ops made of stages (docs/OP.md): the stages' own maths in double, with a running bound of what float roundings may cost.
 *
 * It is put together in another way than the kernels are (stage/chain.cuh): no images between, no spans, one thread an element of the output. */
#include "stage/pixel.cuh"

#define UNIT 5.9604644775390625e-8 /* half of the distance of two floats around 1 */
/* A value, and how far off the same operations in float may be (running error analysis: each rounding of a result r adds UNIT |r|). */
struct truth {
    double v, e;
    __device__ truth() {}
    __device__ truth(double value) : v(value), e(fabs(value - (double)(float)value)) {}
    __device__ truth(double value, double error) : v(value), e(error) {}
};
__device__ truth made(double v, double e) { return truth(v, e * (1 + 1e-12) + 1.01 * UNIT * (fabs(v) + e)); }
__device__ truth operator+(truth a, truth b) { return made(a.v + b.v, a.e + b.e); }
__device__ truth operator-(truth a, truth b) { return made(a.v - b.v, a.e + b.e); }
__device__ truth operator*(truth a, truth b) { return made(a.v * b.v, fabs(a.v) * b.e + fabs(b.v) * a.e + a.e * b.e); }
__device__ truth operator/(truth a, truth b)
{
    double q = a.v / b.v;
    return made(q, b.e < fabs(b.v) ? (a.e + fabs(q) * b.e) / (fabs(b.v) - b.e) : 1e300);
}
__device__ truth least_of(truth a, truth b) { return truth(fmin(a.v, b.v), fmax(a.e, b.e)); }
__device__ truth most_of(truth a, truth b) { return truth(fmax(a.v, b.v), fmax(a.e, b.e)); }
__device__ truth over(truth a, truth b) { return a / b; }
__device__ truth share(int a, int b, truth) { return made((double)a / b, 0); }
/* Positions in plain whole numbers, where kernels have shorter ways to the same. */
__device__ truth reciprocal(int, truth) { return 0; }
__device__ int floor_of(int a, int b, bool, truth) { return a >= 0 ? a / b : -1; }
__device__ place<truth> place_of(int x, int in, int out, bool, truth)
{
    int twice = (2 * x + 1) * in - out, over = 2 * out, at = floor_of(twice, over, false, truth());
    return {at, share(twice - at * over, over, truth())};
}
__device__ truth cast_to(truth x, kind_of<float>) { return x; }
__device__ truth cast_to(truth x, kind_of<__half>)
{
    double error = x.e + 4.8828125e-4 * (fabs(x.v) + x.e) + 2.98023223876953125e-8;
    return truth(x.v, error);
}
/* Where the error may carry it over the half, the neighbour is right too. */
template <class T> __device__ truth cast_to(truth x, kind_of<T>)
{
    double v = fmin(fmax(x.v, (double)range_of<T>::least), (double)range_of<T>::most), whole = rint(v);
    return truth(whole, fabs(fabs(v - whole) - 0.5) <= x.e ? 1 : 0);
}

#include "stage/files.cuh"

template <int I> struct stage_at;
#define STAGE_SIZE static __device__ image size(const float *boxes, long long b)
#define STAGE_AT(C) static __device__ pixel<truth, C> at(const float *input, const float *boxes, int b, int y, int x)
#define STAGE_FROM [=](int b, int y, int x) { return before::at(input, boxes, b, y, x); }
#define SOURCE(I, B, NAME, T, C, N, H, W) \
    template <> struct stage_at<I> { \
        STAGE_SIZE { return {H, W}; } \
        STAGE_AT(C) \
        { \
            pixel<truth, C> p; \
            for (int c = 0; c < C; c++) \
                p.v[c] = truth(input[((size_t)(b * C + c) * H + y) * W + x], 0); \
            return p; \
        } \
    };
#define STAGE_BEGIN(I, B) \
    template <> struct stage_at<I> { \
        using before = stage_at<B>; \
        using R = truth;
#define POINT(I, B, NAME, T, C, N, H, W, ...) \
    STAGE_BEGIN(I, B) \
        STAGE_SIZE { return before::size(boxes, b); } \
        STAGE_AT(C) { return NAME(before::at(input, boxes, b, y, x), ##__VA_ARGS__); } \
    };
#define SAMPLE(I, B, NAME, T, C, N, H, W, ...) \
    STAGE_BEGIN(I, B) \
        STAGE_SIZE { return {H, W}; } \
        STAGE_AT(C) { return NAME<R>(STAGE_FROM, before::size(boxes, b), image{H, W}, b, y, x, ##__VA_ARGS__); } \
    };
#define BOXES(I, B, NAME, T, C, N, H, W, ...) \
    STAGE_BEGIN(I, B) \
        STAGE_SIZE { return {(int)boxes[4 * b + 3], (int)boxes[4 * b + 2]}; } \
        STAGE_AT(C) \
        { \
            int box[4] = {(int)boxes[4 * b], (int)boxes[4 * b + 1], (int)boxes[4 * b + 2], (int)boxes[4 * b + 3]}; \
            return NAME<R>(STAGE_FROM, box, before::size(boxes, b), image{H, W}, b, y, x, ##__VA_ARGS__); \
        } \
    };
/* Of the ends of branches the one that image b took. */
template <int END, int... MORE> __device__ image size_of_branch(const float *boxes, long long b, int k)
{
    if constexpr (sizeof...(MORE) > 0)
        if (k > 0)
            return size_of_branch<MORE...>(boxes, b, k - 1);
    return stage_at<END>::size(boxes, b);
}
template <int C, int END, int... MORE> __device__ pixel<truth, C> of_branch(const float *input, const float *boxes, int b, int y, int x, int k)
{
    if constexpr (sizeof...(MORE) > 0)
        if (k > 0)
            return of_branch<C, MORE...>(input, boxes, b, y, x, k - 1);
    return stage_at<END>::at(input, boxes, b, y, x);
}
#define JOIN(I, B, NAME, T, C, N, H, W, COUNT, ...) \
    STAGE_BEGIN(I, B) \
        STAGE_SIZE { return size_of_branch<__VA_ARGS__>(boxes, b, (int)(b % COUNT)); } \
        STAGE_AT(C) { return of_branch<C, __VA_ARGS__>(input, boxes, b, y, x, b % COUNT); } \
    };
STAGES

extern "C" __global__ void stages_reference(const float *input, const float *boxes, double *output, double *bound)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x, pixels = (long long)OUT_N * OUT_H * OUT_W;
    if (i >= pixels)
        return;
    int b = (int)(i / (OUT_H * OUT_W)), y = (int)(i / OUT_W % OUT_H), x = (int)(i % OUT_W);
    auto p = stage_at<LAST>::at(input, boxes, b, y, x);
    for (int c = 0; c < OUT_C; c++) {
        size_t at = ((size_t)(b * OUT_C + c) * OUT_H + y) * OUT_W + x;
        output[at] = p.v[c].v;
        bound[at] = p.v[c].e;
    }
}
