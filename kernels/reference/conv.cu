/* The convolutions in double: plain sums over channels and taps, several outputs a thread, or the formula of an op without a filter; then the
 * epilogue item by item, and for each value the largest error that a correct kernel may have (harness/op/reference/bound.h,
 * harness/op/epilogue.c). The code follows those definitions: a case is trusted only if the CPU's sums agree. */
#include "storage.cuh"

/* Steps of a formula, as in harness/op/formula.h */
enum { NUMBER, NAME, READ, READ_AT, TAP_WEIGHT, ADD, SUB, MUL, DIV, MOD, FLOOR, CEIL, MIN, MAX, LESS, AT_MOST, EQUAL, SELECT, SUM, LARGEST, MEAN };
enum { CHANNEL, Z, Y, X, TAP, NAMES }; /* its names */
#define DEPTH 12 /* of its stack */
enum { BIAS, RELU, LEAKY_RELU, RESIDUAL, TO_SPACE, RELAYOUT, PRELU, SILU, SIGMOID, TANH, GELU, GELU_TANH, HARD_SWISH, ELU, CLIP }; /* items, as in harness/op/work.h */
#define ITEMS 8
#define LINE 32 /* pixels of a row that lie side by side in an input (reference_input) */
#define SOME 16 /* channels that are added up before the next tap's */
#define FILTERS 16 /* output channels of a thread, and */
#define ROWS 2    /* rows: one value from the cache is a factor of as many products */
#define SUMS (ROWS * FILTERS)
#define SOON 4    /* channels */
#define NEAR 32   /* channels whose lines stay in the cache while all taps read them */
#define THREADS 256 /* of a block, as measure/verify/device_check.c launches them */

struct step {
    int64_t kind, arg;
    double number;
};

/* What measure/verify/device_check.c writes, in this order. */
struct layer {
    int64_t n, c, h, w, k, groups, p, q, row_taps, column_taps;
    const int64_t *rows, *columns;            /* of the input, -1 for none: by output, then by tap */
    const double *row_weight, *column_weight; /* the same; NULL: 1 */
    const struct step *steps, *size_steps; /* of the formula, and of what its errors are relative to; sums over a filter have none */
    int64_t step_count, size_count;
    int64_t result_type, sum_type; /* of stored results; of sums between them */
    int64_t tf32, whole;           /* operands lose bits first; sums are of whole numbers */
    int64_t bounds, sums;          /* bounds are wanted; those of the sum too */
    double share, terms, least;    /* bound = share * sum of magnitudes; products, and at least so many not 0 */
    double begun;                  /* of what the sum may begin with */
    int64_t items;
    struct {
        int64_t kind, block, crd;
        double alpha, most, scale;
        int64_t c, h, w; /* of what comes in */
    } item[ITEMS];
    int64_t out_c, out_h, out_w;
    const float *slopes; /* of prelu, one a channel */
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

/* A warp has 32 pixels of ROWS rows, of FILTERS output channels each: SUMS of them a thread. Number m of those is of which? */
struct place {
    int row, filter, pixel;
};

#if __CUDA_ARCH__ >= 900
static __device__ place place_of(int m)
{
    int lane = threadIdx.x % 32;
    return {m / 16, lane / 4 + m / 2 % 2 * 8, m / 4 % 4 * 8 + lane % 4 * 2 + m % 2};
}

/* c += w * v: 16 output channels, 8 pixels, 8 input channels. */
static __device__ void multiply(double *c, const double w[4], const double v[2])
{
    asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
        : "d"(w[0]), "d"(w[1]), "d"(w[2]), "d"(w[3]), "d"(v[0]), "d"(v[1]));
}

/* The sums of a warp from pixel `first` on, by the FP64 instructions of the tensor cores. x as reference_input leaves it, f as
 * reference_filter does, at its first channel. For sums of whole numbers (bound_of_sum) a magnitude only says whether it is 0. */
static __device__ void sum(const layer &g, const double *x, const double *f, int64_t p, int64_t first, double y[SUMS], double a[SUMS])
{
    const int channels = (int)(g.c / g.groups), columns = (int)g.column_taps, rows = (int)g.row_taps, taps = rows * columns;
    const int mine = threadIdx.x % 4, other = threadIdx.x % 32 / 4;
    const int64_t all = g.c * LINE, line = (g.w + LINE - 1) / LINE * all;
    const bool sizes = g.bounds && !g.whole;
#pragma unroll
    for (int m = 0; m < SUMS; m++)
        y[m] = a[m] = 0;
    /* all taps of some channels, then of the next: a line that several taps read is still in the cache */
    for (int begin = 0; begin < channels; begin += NEAR)
        for (int tap = 0; tap < taps; tap++) {
            const double *from[ROWS][4], *weights = f + ((int64_t)tap * channels + begin + mine) * FILTERS + other;
            const int end = min(channels, begin + NEAR);
            bool there[ROWS][4];
#pragma unroll
            for (int j = 0; j < 4; j++) {
                const int64_t q = first + 8 * j + other;
                const int column = q < g.q ? (int)g.columns[q * columns + tap % columns] : -1;
#pragma unroll
                for (int i = 0; i < ROWS; i++) {
                    const int row = p + i < g.p ? (int)g.rows[(p + i) * rows + tap / columns] : -1;
                    there[i][j] = row >= 0 && column >= 0;
                    from[i][j] = x + (there[i][j] ? row * line + column / LINE * all + column % LINE : 0) + (begin + mine) * LINE;
                }
            }
#pragma unroll 1
            for (int c = begin + mine; c - mine < end; c += 8, weights += 8 * FILTERS) {
                double w[4], v[ROWS * 4][2];
#pragma unroll
                for (int e = 0; e < 4; e++)
                    w[e] = c + e / 2 * 4 < channels ? weights[e / 2 * 4 * FILTERS + e % 2 * 8] : 0;
#pragma unroll
                for (int k = 0; k < ROWS * 8; k++)
                    v[k / 2][k % 2] = there[k / 8][k / 2 % 4] && c + k % 2 * 4 < channels ? from[k / 8][k / 2 % 4][k % 2 * 4 * LINE] : 0;
#pragma unroll
                for (int k = 0; k < ROWS * 4; k++) {
                    from[k / 4][k % 4] += 8 * LINE;
                    multiply(y + 4 * k, w, v[k]);
                }
                if (!sizes)
                    continue;
#pragma unroll
                for (int e = 0; e < 4; e++)
                    w[e] = fabs(w[e]);
#pragma unroll
                for (int k = 0; k < ROWS * 4; k++) {
                    const double size[2] = {fabs(v[k][0]), fabs(v[k][1])};
                    multiply(a + 4 * k, w, size);
                }
            }
        }
#pragma unroll
    for (int m = 0; m < SUMS && !sizes; m++)
        a[m] = fabs(y[m]);
}
#else
static __device__ place place_of(int m)
{
    return {m / FILTERS, m % FILTERS, (int)threadIdx.x % 32};
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

/* The sums of ROWS rows and FILTERS output channels in one column: all of them use the values that a thread reads. The whole warp calls this.
 * Its filters are in shared memory; those of the next iteration are being copied, and so are the inputs of channels that come SOON. x as
 * reference_input leaves it, f as reference_filter does, at its first channel. Products of inputs are exact in double, so a fused multiply-add
 * rounds as the sum alone does. Magnitudes are only part of a bound: they are summed in float, and enlarged by the error of that. */
static __device__ void sum(const layer &g, const double *x, const double *f, int64_t p, int64_t first, double sums[SUMS],
                           double magnitudes_of[SUMS])
{
    double y[ROWS][FILTERS] = {};
    float a[ROWS][FILTERS] = {};
    const int64_t q = first + threadIdx.x % 32;
    __shared__ double2 filters[THREADS / 32][SOME * FILTERS / 2];
    __shared__ float2 magnitudes[THREADS / 32][SOME * FILTERS / 2];
    const int channels = (int)(g.c / g.groups), columns = (int)g.column_taps, rows = (int)g.row_taps, taps = rows * columns;
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
        const int column = q < g.q ? (int)g.columns[q * columns + tap % columns] : -1;
        const double *xs[ROWS];
        bool any = false;
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
            int row = p + i < g.p ? (int)g.rows[(p + i) * rows + tap / columns] : -1;
            any |= row >= 0;
            xs[i] = row >= 0 && column >= 0 ? x + row * line + column / LINE * all + begin * LINE + column % LINE : NULL;
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
    const double grow = 1 + (g.terms + 4) * 0x1p-24;
#pragma unroll
    for (int m = 0; m < SUMS; m++) {
        sums[m] = y[m / FILTERS][m % FILTERS];
        magnitudes_of[m] = a[m / FILTERS][m % FILTERS] * grow;
    }
}
#endif

/* Where an output is, through which taps it reads, and the stack of its formula with the sums of magnitudes beside it. */
struct machine {
    const layer &g;
    const float *x; /* of the image */
    int64_t at[NAMES], p, q, row_tap, column_tap, top;
    double y[DEPTH], a[DEPTH];
};

static __device__ double floor_of(double a, double b)
{
    double q = floor(a / b);
    return (b > 0 ? q * b > a : q * b < a) ? q - 1 : q; /* the quotient was rounded up to a whole number */
}

static __device__ double two(int64_t kind, double a, double b)
{
    switch (kind) {
    case ADD: return a + b;
    case SUB: return a - b;
    case MUL: return a * b;
    case DIV: return a / b;
    case MOD: return a - b * floor_of(a, b);
    case FLOOR: return floor_of(a, b);
    case CEIL: return -floor_of(-a, b);
    case MIN: return fmin(a, b);
    case MAX: return fmax(a, b);
    case LESS: return a < b;
    case AT_MOST: return a <= b;
    default: return a == b;
    }
}

static __device__ int64_t row_of(const machine &m)
{
    return m.g.rows[m.p * m.g.row_taps + m.row_tap];
}
static __device__ int64_t column_of(const machine &m)
{
    return m.g.columns[m.q * m.g.column_taps + m.column_tap];
}

/* What is outside is 0. */
static __device__ double read(const machine &m, int64_t channel)
{
    int64_t row = row_of(m), column = column_of(m);
    return row < 0 || column < 0 || channel < 0 || channel >= m.g.c ? 0 : (double)m.x[(channel * m.g.h + row) * m.g.w + column];
}

static __device__ void one_step(machine &m, const step &s)
{
    double *y = m.y + m.top, *a = m.a + m.top;
    if (s.kind <= TAP_WEIGHT) {
        if (s.kind == READ_AT)
            y--, a--, m.top--;
        *y = s.kind == NUMBER     ? s.number
             : s.kind == NAME     ? (double)m.at[s.arg]
             : s.kind == READ     ? read(m, m.at[CHANNEL])
             : s.kind == READ_AT  ? read(m, (int64_t)*y)
                                  : (m.g.row_weight ? m.g.row_weight[m.p * m.g.row_taps + m.row_tap] : 1) *
                                        (m.g.column_weight ? m.g.column_weight[m.q * m.g.column_taps + m.column_tap] : 1);
        *a = fabs(*y);
        m.top++;
    } else if (s.kind == SELECT) {
        int from = y[-3] != 0 ? -2 : -1;
        y[-3] = y[from], a[-3] = a[from];
        m.top -= 2;
    } else {
        a[-2] = s.kind == MUL ? a[-2] * a[-1] : s.kind == DIV ? a[-2] / fabs(y[-1]) : s.kind >= MIN ? fmax(a[-2], a[-1]) : a[-2] + a[-1];
        y[-2] = two(s.kind, y[-2], y[-1]);
        m.top--;
    }
}

/* Sum, largest or mean of what the steps behind it are, over the taps inside the image. */
static __device__ void over(machine &m, const step *s)
{
    double y = 0, a = 0;
    bool any = false;
    int64_t taps = m.g.row_taps * m.g.column_taps;
    for (int64_t tap = 0; tap < taps; tap++) {
        m.row_tap = tap / m.g.column_taps, m.column_tap = tap % m.g.column_taps;
        if (row_of(m) < 0 || column_of(m) < 0)
            continue;
        for (int64_t i = 1; i <= s->arg; i++)
            one_step(m, s[i]);
        m.top--;
        y = s->kind != LARGEST ? y + m.y[m.top] : any ? fmax(y, m.y[m.top]) : m.y[m.top];
        a += m.a[m.top];
        any = true;
    }
    m.row_tap = m.column_tap = 0;
    m.y[m.top] = s->kind == MEAN ? y / (double)taps : y;
    m.a[m.top++] = s->kind == MEAN ? a / (double)taps : s->kind == LARGEST ? fabs(y) : a;
}

static __device__ void all_steps(machine &m, const step *steps, int64_t count)
{
    m.top = 0;
    for (int64_t i = 0; i < count; i++)
        if (steps[i].kind >= SUM) {
            over(m, steps + i);
            i += steps[i].arg;
        } else {
            one_step(m, steps[i]);
        }
}

static __device__ void formula(const layer &g, const float *x, int64_t n, int64_t k, int64_t p, int64_t q, double &y, double &a)
{
    machine m = {g, x + n * g.c * g.h * g.w, {k, 0, p, q, 0}, p, q};
    all_steps(m, g.steps, g.step_count);
    y = m.y[0], a = m.a[0];
    if (g.size_count && g.bounds) {
        all_steps(m, g.size_steps, g.size_count);
        a = m.y[0];
    }
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

static __device__ void add(const layer &g, double v, double begun, double &y, double &e)
{
    double before = y;
    y = before + v;
    if (g.bounds)
        e = stored(g.sum_type, y, stored(g.result_type, before, e)) + (e > 0 ? begun * fabs(v) : 0);
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

static __device__ void scaled(const layer &g, double scale, double &y, double &e)
{
    double v = y * scale;
    if (g.bounds && scale != 1) {
        e = stored(g.result_type, v, fabs(scale) * stored(g.result_type, y, e) + 2.01 * 0x1p-24 * fabs(v));
        e += g.sum_type == F16 ? 2.01 * 0x1p-11 * fabs(v) : 0;
    }
    y = v;
}

static __device__ double curve_at(int64_t kind, double low, double high, double x)
{
    switch (kind) {
    case SILU: return x / (1 + exp(-x));
    case SIGMOID: return 1 / (1 + exp(-x));
    case TANH: return tanh(x);
    case GELU: return 0.5 * x * erfc(-x * 0.70710678118654752440);
    case GELU_TANH: return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    case HARD_SWISH: return x * fmin(fmax(x + 3, 0.0), 6.0) / 6;
    case ELU: return x < 0 ? expm1(x) : x;
    default: return fmin(fmax(x, low), high);
    }
}

static __device__ void curve(const layer &g, int64_t kind, double low, double high, double &y, double &e)
{
    double x = y, stretch = kind == SIGMOID ? 0.25 : kind == HARD_SWISH ? 1.5 : kind == CLIP || kind == TANH || kind == ELU ? 1 : 1.13;
    y = curve_at(kind, low, high, x);
    if (!g.bounds)
        return;
    bool exact = e == 0 && holds(g.result_type, x);
    e = stretch * stored(g.result_type, x, e);
    if (kind == CLIP)
        e = exact && holds(F32, y) ? 0 : e + 0x1p-24 * fabs(y);
    else
        e += 0x1p-20 * fabs(y) + 0x1p-22 * (fabs(x) + 1) + (g.result_type == F32 ? 0 : roundoff(g.result_type) * fabs(y));
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
    double e = g.sums && a > 0 ? bound_of_sum(g, y, a) : 0, begun = g.begun;
    for (int64_t m = 0; m < g.items; m++) {
        int64_t b = g.item[m].block, channels = g.item[m].c;
        if (g.item[m].kind == BIAS)
            add(g, to.bias[c], begun, y, e);
        else if (g.item[m].kind == RESIDUAL)
            scaled(g, g.item[m].scale, y, e), add(g, to.residual[((n * channels + c) * g.item[m].h + row) * g.item[m].w + column], begun, y, e);
        else if (g.item[m].kind == RELU || g.item[m].kind == LEAKY_RELU)
            begun = 0, slope(g, g.item[m].kind == RELU ? 0 : g.item[m].alpha, y, e);
        else if (g.item[m].kind == PRELU)
            begun = 0, slope(g, g.slopes[c], y, e);
        else if (g.item[m].kind >= SILU)
            begun = 0, curve(g, g.item[m].kind, g.item[m].alpha, g.item[m].most, y, e);
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
    int64_t channels = g.c / g.groups, taps = g.row_taps * g.column_taps, wide = (g.w + LINE - 1) / LINE;
    int64_t count = g.n * pairs * across * g.groups * parts * 32;
    /* Threads that follow one another have 32 pixels of a row, then the same pixels of other channels: what they read is the same. */
    for (int64_t t = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; t < count; t += (int64_t)gridDim.x * blockDim.x) {
        int64_t part = t / 32 % (g.groups * parts), at = t / (32 * g.groups * parts), group = part / parts;
        int64_t first = at % across * 32, p = at / across % pairs * ROWS, n = at / (across * pairs), k = part % parts * FILTERS;
        double y[SUMS] = {}, a[SUMS] = {}, left[2][SUMS];
        bool any = false;
#pragma unroll
        for (int i = 0; i < ROWS; i++)
            any |= p + i < g.p && first + t % 32 < g.q && active(g, mask, n, p + i, first + t % 32);
        if (__any_sync(~0u, any))
            sum(g, x + (n * g.h * wide * g.c + group * channels) * LINE, f + part * taps * channels * FILTERS, p, first, y, a);
#pragma unroll
        for (int m = 0; m < SUMS; m++) {
            left[0][m] = y[m];
            left[1][m] = a[m];
        }
#pragma unroll 1
        for (int m = 0; m < SUMS; m++) {
            const place of = place_of(m);
            const int64_t row = p + of.row, q = first + of.pixel, filter = k + of.filter;
            if (q >= g.q || row >= g.p || filter >= of_group)
                continue;
            const bool on = active(g, mask, n, row, q);
            leave(g, to, n, group * of_group + filter, row, q, on ? left[0][m] : 0, on ? left[1][m] : 0);
        }
    }
}

#ifndef REST
extern "C" __global__ void __launch_bounds__(THREADS, 1) reference_conv(const layer *g, const double *x, const double *f, const float *bias, const float *residual,
                                          const float *mask, double *out, float *bound)
{
    convolve(*g, x, f, mask, leaving<float>{bias, residual, out, bound});
}

#else /* conv_rest.cu: compiled at the same time, because either half takes seconds */
/* The same of activations inside a network. */
extern "C" __global__ void __launch_bounds__(THREADS, 1) reference_conv_wide(const layer *g, const double *x, const double *f, const float *bias, const double *residual,
                                               const float *mask, double *out, float *bound)
{
    convolve(*g, x, f, mask, leaving<double>{bias, residual, out, bound});
}

/* What a formula says: x as it is, one output a thread. */
extern "C" __global__ void reference_formula(const layer *layer_at, const float *x, const float *bias, const float *residual, const float *mask,
                                          double *out, float *bound)
{
    const layer &g = *layer_at;
    for (int64_t t = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; t < g.n * g.k * g.p * g.q; t += (int64_t)gridDim.x * blockDim.x) {
        int64_t q = t % g.q, p = t / g.q % g.p, k = t / (g.q * g.p) % g.k, n = t / (g.q * g.p * g.k);
        double y = 0, a = 0;
        if (active(g, mask, n, p, q))
            formula(g, x, n, k, p, q, y, a);
        leave(g, leaving<float>{bias, residual, out, bound}, n, k, p, q, y, a);
    }
}

#endif

#ifndef REST
/* Filters of n output channels in `groups` in the order in which sums read them: in double, FILTERS output channels of a group (0 past its
 * last), then the input's channels, then the taps. */
extern "C" __global__ void reference_filter(const float *from, double *to, int64_t n, int64_t groups, int64_t channels, int64_t taps)
{
    int64_t of_group = n / groups, parts = (of_group + FILTERS - 1) / FILTERS, count = groups * parts * taps * channels * FILTERS;
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < count; i += (int64_t)gridDim.x * blockDim.x) {
        int64_t c = i / FILTERS % channels, tap = i / (FILTERS * channels) % taps, part = i / (FILTERS * channels * taps);
        int64_t k = part % parts * FILTERS + i % FILTERS;
        to[i] = k < of_group ? from[((part / parts * of_group + k) * channels + c) * taps + tap] : 0;
    }
}

#endif

/* An input in the order in which sums read it: in double, LINE pixels of a row for each channel in sequence. The size of a plane is a power
 * of two times a few cache lines: as planes, the channels of a pixel would all map to the same cache sets. */
template <typename X, typename I> static __device__ void lines_as(const X *from, double *to, I n, I c, I h, I w)
{
    const I across = (w + LINE - 1) / LINE, count = n * c * h * w;
    for (int64_t t = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; t < (int64_t)count; t += (int64_t)gridDim.x * blockDim.x) {
        const I i = (I)t, x = i % w, line = i / w, y = line % h, plane = line / h;
        to[(((int64_t)(plane / c * h + y) * across + x / LINE) * c + plane % c) * LINE + x % LINE] = from[i];
    }
}
template <typename X> static __device__ void lines_of(const X *from, double *to, int64_t n, int64_t c, int64_t h, int64_t w)
{
    if (n * c * h * w >> 32 == 0) /* a division of 64 bits takes five times as long */
        lines_as<X, uint32_t>(from, to, (uint32_t)n, (uint32_t)c, (uint32_t)h, (uint32_t)w);
    else
        lines_as<X, int64_t>(from, to, n, c, h, w);
}

#ifndef REST
extern "C" __global__ void reference_input(const float *from, double *to, int64_t n, int64_t c, int64_t h, int64_t w)
{
    lines_of(from, to, n, c, h, w);
}

#else
extern "C" __global__ void reference_input_wide(const double *from, double *to, int64_t n, int64_t c, int64_t h, int64_t w)
{
    lines_of(from, to, n, c, h, w);
}
#endif
