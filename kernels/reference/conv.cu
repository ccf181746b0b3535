/* The convolutions in double: plain sums over channels and taps, some outputs a thread, or what the ops without weights do with theirs; then
 * the epilogue item by item, and beside each value the largest error that a correct kernel may show (harness/op/bound.h,
 * harness/op/epilogue.c). Written from those definitions: a case is trusted only where the CPU's sums agree. */
#include "storage.cuh"

enum { CONV2D, CONV3D, TRANSPOSED, UPSAMPLED, MOVED, SPACE, NEAREST, BILINEAR, LARGEST, MEAN }; /* harness/op/op.h has the same order */
enum { BIAS, RELU, LEAKY_RELU, RESIDUAL, TO_SPACE, RELAYOUT }; /* items, as in harness/op/work.h */
#define ITEMS 8
#define LINE 32 /* pixels of a row that lie side by side in an input (reference_input) */
#define SOME 16 /* channels that are added up before the next tap's */
#define FILTERS 8 /* output channels of a thread, and */
#define ROWS 2    /* rows: one value from the cache is a factor of as many products */
#define SOON 4    /* channels */
#define THREADS 256 /* of a block, as measure/card.c launches them */

/* What measure/card.c writes, in this order. */
struct layer {
    int64_t kind, n, c, h, w, k, t, r, s, stride, pad, dilation, groups, p, q, block, crd, d, plane, o, plane_out;
    int64_t result_type, sum_type; /* of stored results; of sums between them */
    int64_t tf32, whole;           /* operands lose bits first; sums are of whole numbers */
    int64_t bounds, sums;          /* bounds are wanted; those of the sum too */
    double share, terms, least;    /* bound = share * sum of magnitudes; products, and at least so many not 0 */
    int64_t items;
    struct {
        int64_t kind, block, crd;
        double alpha;
        int64_t c, h, w; /* of what comes in */
    } item[ITEMS];
    int64_t out_c, out_h, out_w;
};

static __device__ bool holds(int64_t type, double v)
{
    if (type == F16)
        return (double)__half2float(__double2half(v)) == v;
    if (type == BF16)
        return (double)__bfloat162float(__double2bfloat16(v)) == v;
    return type != F32 || (double)(float)v == v;
}

/* What is lost when v, known to within e, is stored as `type`. */
static __device__ double stored(int64_t type, double v, double e)
{
    if (e == 0 && holds(type, v))
        return 0;
    return e + roundoff(type) * (fabs(v) + e) + underflow(type);
}

/* What a sum looks at tap by tap, in registers. */
struct taps {
    int kind, stride, pad, dilation, block, r, d, plane, plane_out, h, w;
};
static __device__ taps taps_of(const layer &g)
{
    return {(int)g.kind, (int)g.stride, (int)g.pad,   (int)g.dilation,  (int)g.block, (int)g.r,
            (int)g.d,    (int)g.plane,  (int)g.plane_out, (int)g.h, (int)g.w};
}

/* The input row or column that output coordinate `at` reads through a tap; negative or past the end: none. */
static __device__ int source(const taps &g, int at, int tap)
{
    if (g.kind == TRANSPOSED) {
        int from = at + g.pad - tap * g.dilation;
        return from >= 0 && from % g.stride == 0 ? from / g.stride : -1;
    }
    if (g.kind == UPSAMPLED) {
        int from = at - g.pad + tap;
        return from < 0 ? -1 : from / g.block;
    }
    return at * g.stride - g.pad + tap * g.dilation;
}

static __device__ int source_row(const taps &g, int p, int tap)
{
    if (g.kind != CONV3D)
        return source(g, p, tap);
    int z = p / g.plane_out * g.stride - g.pad + tap / g.r, y = p % g.plane_out * g.stride - g.pad + tap % g.r;
    return z >= 0 && z < g.d && y >= 0 && y < g.plane ? z * g.plane + y : -1;
}

/* Inputs of some channels in a column, of ROWS rows; of a row that is not there (NULL) zeros. */
static __device__ void inputs_of(const double *const x[ROWS], int c, int count, double v[SOON][ROWS])
{
#pragma unroll
    for (int k = 0; k < SOON; k++)
#pragma unroll
        for (int i = 0; i < ROWS; i++)
            v[k][i] = x[i] && c + k < count ? x[i][(c + k) * LINE] : 0;
}

/* The sums of ROWS rows and FILTERS output channels in one column: what a thread reads serves them all. A warp comes here as a whole; its
 * filters lie in shared memory, those of the next turn are on their way meanwhile, and so are the inputs of channels that come SOON. x as
 * reference_input leaves it, f as reference_filter does, at its first channel. Products of inputs are exact in double, so that a fused one
 * rounds as the sum alone does. Magnitudes are an ingredient of a bound: they are summed in float, and enlarged by what that may have lost. */
static __device__ void sum(const layer &g, const double *x, const double *f, int64_t p, int64_t q, double y[ROWS][FILTERS],
                           float a[ROWS][FILTERS])
{
    __shared__ double2 filters[THREADS / 32][SOME * FILTERS / 2];
    __shared__ float2 magnitudes[THREADS / 32][SOME * FILTERS / 2];
    const taps at = taps_of(g);
    const int channels = (int)(g.c / g.groups), columns = (int)g.s, taps = (int)((g.kind == CONV3D ? g.t : 1) * g.r) * columns;
    const int64_t all = g.c * LINE, line = (g.w + LINE - 1) / LINE * all;
    double2 *mine = filters[threadIdx.x / 32], coming[SOME * FILTERS / 64];
    float2 *large = magnitudes[threadIdx.x / 32];
    /* a turn has a tap and some channels: all taps of those, so that a line that several taps read is still in the cache, then the next */
    for (int turn = -1, turns = (channels + SOME - 1) / SOME * taps; turn < turns; turn++) {
        const int next = turn + 1, to = next / taps * SOME;
        const double2 *from = (const double2 *)(f + ((int64_t)(next % taps) * channels + to) * FILTERS);
        __syncwarp();
#pragma unroll
        for (int i = 0; i < SOME * FILTERS / 64; i++) {
            int k = threadIdx.x % 32 + 32 * i;
            if (turn >= 0) {
                mine[k] = coming[i];
                large[k] = make_float2(fabsf((float)coming[i].x), fabsf((float)coming[i].y));
            }
            coming[i] = next < turns && k < (channels - to) * FILTERS / 2 ? from[k] : make_double2(0, 0);
        }
        __syncwarp();
        if (turn < 0)
            continue;
        const int tap = turn % taps, begin = turn / taps * SOME, count = min(SOME, channels - begin);
        const int column = q < g.q ? source(at, (int)q, tap % columns) : -1;
        const double *xs[ROWS];
        bool any = false;
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
            int row = p + i < g.p ? source_row(at, (int)p + i, tap / columns) : -1;
            bool inside = row >= 0 && row < at.h;
            any |= inside;
            xs[i] = inside && column >= 0 && column < at.w ? x + row * line + column / LINE * all + begin * LINE + column % LINE : NULL;
        }
        if (!any)
            continue;
        double soon[SOON][ROWS], v[SOON][ROWS];
        inputs_of(xs, 0, count, soon);
        for (int c = 0; c < count; c += SOON) {
            memcpy(v, soon, sizeof v);
            float m[SOON][ROWS];
#pragma unroll
            for (int k = 0; k < SOON * ROWS; k++)
                m[k / ROWS][k % ROWS] = fabsf((float)v[k / ROWS][k % ROWS]);
            inputs_of(xs, c + SOON, count, soon);
#pragma unroll
            for (int k = 0; k < SOON * FILTERS; k++) /* past the last channel both are 0 */
#pragma unroll
                for (int i = 0; i < ROWS; i++) {
                    double2 pair = mine[(c * FILTERS + k) / 2];
                    float2 sizes = large[(c * FILTERS + k) / 2];
                    y[i][k % FILTERS] = fma(v[k / FILTERS][i], k % 2 ? pair.y : pair.x, y[i][k % FILTERS]);
                    a[i][k % FILTERS] = fmaf(m[k / FILTERS][i], k % 2 ? sizes.y : sizes.x, a[i][k % FILTERS]);
                }
        }
    }
}

/* Without weights: what output (n, k, p, q) is made of. Of values that are only moved no rounding is allowed, so a stays 0. */
static __device__ void window(const layer &g, const float *x, int64_t p, int64_t q, double &y, double &a)
{
    const taps at = taps_of(g);
    double most = 0;
    bool any = false;
    for (int r = 0; r < g.r; r++)
        for (int s = 0; s < g.s; s++) {
            int row = source(at, (int)p, r), column = source(at, (int)q, s);
            if (row < 0 || row >= g.h || column < 0 || column >= g.w)
                continue;
            double v = (double)x[(int64_t)row * g.w + column];
            most = any ? fmax(most, v) : v, any = true;
            y += v;
            a += fabs(v);
        }
    if (g.kind == LARGEST)
        y = most, a = 0;
    else
        y /= (double)(g.r * g.s), a /= (double)(g.r * g.s);
}

/* Half pixel centres, the edge repeated. */
static __device__ void between(const layer &g, const float *x, int64_t p, int64_t q, double &y, double &a)
{
    double down = (p + 0.5) / g.block - 0.5, across = (q + 0.5) / g.block - 0.5;
    for (int64_t r = 0; r < 2; r++)
        for (int64_t s = 0; s < 2; s++) {
            int64_t row = (int64_t)floor(down) + r, column = (int64_t)floor(across) + s;
            double weight = (1 - fabs(down - row)) * (1 - fabs(across - column));
            row = min(max(row, (int64_t)0), g.h - 1), column = min(max(column, (int64_t)0), g.w - 1);
            y += weight * (double)x[row * g.w + column];
            a += fabs(weight * (double)x[row * g.w + column]);
        }
}

static __device__ void move(const layer &g, const float *x, int64_t n, int64_t k, int64_t p, int64_t q, double &y, double &a)
{
    int64_t b = g.kind == SPACE || g.kind == NEAREST ? g.block : 1, phase = p % b * b + q % b, plane = g.h * g.w;
    int64_t channel = g.kind != SPACE ? k : g.crd ? k * b * b + phase : phase * (g.c / (b * b)) + k;
    const float *from = x + (n * g.c + channel) * plane;
    y = a = 0;
    if (g.kind == LARGEST || g.kind == MEAN)
        window(g, from, p, q, y, a);
    else if (g.kind == BILINEAR)
        between(g, from, p, q, y, a);
    else
        y = (double)from[p / b * g.w + q / b];
}

static __device__ double bound_of_sum(const layer &g, double y, double a)
{
    if (g.whole)
        return 0x1p-23 * fabs(y);
    double error = g.share * a;
    if (g.tf32)
        error += 0x1p-10 * (2 * fabs(y) + fmin(6 / sqrt(g.least), 2.0) * a);
    return error;
}

static __device__ void add(const layer &g, double v, double &y, double &e)
{
    double before = y;
    y = before + v;
    if (g.bounds)
        e = stored(g.sum_type, y, stored(g.result_type, before, e));
}

static __device__ void slope(const layer &g, double alpha, double &y, double &e)
{
    double v = y, most = fabs(alpha) > 1 ? fabs(alpha) : 1;
    if (v < 0)
        y = alpha == 0 ? 0 : v * alpha;
    if (!g.bounds || alpha == 0 || !(v < 0 || e > 0))
        return;
    double scaled = fabs(v * alpha) + most * e;
    bool exact = e == 0 && (double)(float)alpha == alpha && holds(g.result_type, v) && holds(F32, v * alpha);
    e = most * stored(g.result_type, v, e) + (exact ? 0 : 2.01 * 0x1p-24 * scaled);
    if (g.sum_type == F16 && !exact)
        e += 2.01 * 0x1p-11 * scaled;
}

/* The epilogue of one value, item by item, to where they leave it. */
template <typename X> struct leaving {
    const float *bias;
    const X *residual;
    double *out;
    float *bound; /* may be NULL */
};
template <typename X>
static __device__ void leave(const layer &g, const leaving<X> &to, int64_t n, int64_t c, int64_t row, int64_t column, double y, double a)
{
    double e = g.sums && a > 0 ? bound_of_sum(g, y, a) : 0;
    for (int64_t m = 0; m < g.items; m++) {
        int64_t b = g.item[m].block, channels = g.item[m].c;
        if (g.item[m].kind == BIAS)
            add(g, to.bias[c], y, e);
        else if (g.item[m].kind == RESIDUAL)
            add(g, to.residual[((n * channels + c) * g.item[m].h + row) * g.item[m].w + column], y, e);
        else if (g.item[m].kind == RELU || g.item[m].kind == LEAKY_RELU)
            slope(g, g.item[m].kind == RELU ? 0 : g.item[m].alpha, y, e);
        else if (g.item[m].kind == TO_SPACE) {
            int64_t left = channels / (b * b), phase = g.item[m].crd ? c % (b * b) : c / left;
            c = g.item[m].crd ? c / (b * b) : c % left;
            row = row * b + phase / b, column = column * b + phase % b;
        }
    }
    int64_t i = ((n * g.out_c + c) * g.out_h + row) * g.out_w + column;
    to.out[i] = y;
    if (to.bound)
        to.bound[i] = (float)(e * (1 + 0x1p-23));
}

/* mask NULL: every output is asked for; else n, p, q, and the sum of an inactive one is 0. */
static __device__ bool active(const layer &g, const float *mask, int64_t n, int64_t p, int64_t q)
{
    return !mask || mask[(n * g.p + p) * g.q + q] != 0;
}

template <typename X>
static __device__ void convolve(const layer &g, const double *x, const double *f, const float *mask, const leaving<X> &to)
{
    int64_t across = (g.q + 31) / 32, pairs = (g.p + ROWS - 1) / ROWS, of_group = g.k / g.groups, parts = (of_group + FILTERS - 1) / FILTERS;
    int64_t channels = g.c / g.groups, taps = (g.kind == CONV3D ? g.t : 1) * g.r * g.s, wide = (g.w + LINE - 1) / LINE;
    int64_t count = g.n * pairs * across * g.groups * parts * 32;
    /* Threads that follow one another have 32 pixels of a row, then the same pixels of other channels: what they read is the same. */
    for (int64_t t = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; t < count; t += (int64_t)gridDim.x * blockDim.x) {
        int64_t part = t / 32 % (g.groups * parts), at = t / (32 * g.groups * parts), group = part / parts;
        int64_t q = at % across * 32 + t % 32, p = at / across % pairs * ROWS, n = at / (across * pairs), k = part % parts * FILTERS;
        double y[ROWS][FILTERS] = {}, left[2][ROWS * FILTERS], grow = 1 + (g.terms + 4) * 0x1p-24;
        float a[ROWS][FILTERS] = {};
        bool on[ROWS], any = false;
#pragma unroll
        for (int i = 0; i < ROWS; i++)
            any |= on[i] = p + i < g.p && q < g.q && active(g, mask, n, p + i, q);
        if (__any_sync(~0u, any))
            sum(g, x + (n * g.h * wide * g.c + group * channels) * LINE, f + part * taps * channels * FILTERS, p, q, y, a);
#pragma unroll
        for (int i = 0; i < ROWS * FILTERS; i++) {
            left[0][i] = on[i / FILTERS] ? y[i / FILTERS][i % FILTERS] : 0;
            left[1][i] = on[i / FILTERS] ? a[i / FILTERS][i % FILTERS] * grow : 0;
        }
#pragma unroll 1
        for (int i = 0; i < ROWS * FILTERS; i++)
            if (q < g.q && p + i / FILTERS < g.p && k + i % FILTERS < of_group)
                leave(g, to, n, group * of_group + k + i % FILTERS, p + i / FILTERS, q, left[0][i], left[1][i]);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) reference_conv(const layer *g, const double *x, const double *f, const float *bias, const float *residual,
                                          const float *mask, double *out, float *bound)
{
    convolve(*g, x, f, mask, leaving<float>{bias, residual, out, bound});
}

/* The same of activations inside a network. */
extern "C" __global__ void __launch_bounds__(THREADS, 1) reference_conv_wide(const layer *g, const double *x, const double *f, const float *bias, const double *residual,
                                               const float *mask, double *out, float *bound)
{
    convolve(*g, x, f, mask, leaving<double>{bias, residual, out, bound});
}

/* What is only moved, or has a window without weights: x as it is, one output a thread. */
extern "C" __global__ void reference_move(const layer *layer_at, const float *x, const float *bias, const float *residual, const float *mask,
                                          double *out, float *bound)
{
    const layer &g = *layer_at;
    for (int64_t t = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; t < g.n * g.k * g.p * g.q; t += (int64_t)gridDim.x * blockDim.x) {
        int64_t q = t % g.q, p = t / g.q % g.p, k = t / (g.q * g.p) % g.k, n = t / (g.q * g.p * g.k);
        double y = 0, a = 0;
        if (active(g, mask, n, p, q))
            move(g, x, n, k, p, q, y, a);
        leave(g, leaving<float>{bias, residual, out, bound}, n, k, p, q, y, a);
    }
}

/* Filters of n output channels in `groups` as sums read them: in double, FILTERS output channels of a group side by side (0 past its last),
 * then the input's channels, then the taps. */
extern "C" __global__ void reference_filter(const float *from, double *to, int64_t n, int64_t groups, int64_t channels, int64_t taps)
{
    int64_t of_group = n / groups, parts = (of_group + FILTERS - 1) / FILTERS, count = groups * parts * taps * channels * FILTERS;
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < count; i += (int64_t)gridDim.x * blockDim.x) {
        int64_t c = i / FILTERS % channels, tap = i / (FILTERS * channels) % taps, part = i / (FILTERS * channels * taps);
        int64_t k = part % parts * FILTERS + i % FILTERS;
        to[i] = k < of_group ? from[((part / parts * of_group + k) * channels + c) * taps + tap] : 0;
    }
}

/* An input as sums read it: in double, LINE pixels of a row and of each channel behind one another. A channel's plane is a power of two times
 * a few lines of the cache long: side by side, the channels of a pixel would all want the same places there. */
template <typename X> static __device__ void lines_of(const X *from, double *to, int64_t n, int64_t c, int64_t h, int64_t w)
{
    int64_t across = (w + LINE - 1) / LINE;
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n * c * h * w; i += (int64_t)gridDim.x * blockDim.x) {
        int64_t x = i % w, line = i / w, y = line % h, plane = line / h;
        to[(((plane / c * h + y) * across + x / LINE) * c + plane % c) * LINE + x % LINE] = from[i];
    }
}

extern "C" __global__ void reference_input(const float *from, double *to, int64_t n, int64_t c, int64_t h, int64_t w)
{
    lines_of(from, to, n, c, h, w);
}

extern "C" __global__ void reference_input_wide(const double *from, double *to, int64_t n, int64_t c, int64_t h, int64_t w)
{
    lines_of(from, to, n, c, h, w);
}
