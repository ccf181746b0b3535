/* An output against its reference, where it lies. Right is only what a comparison says is right: NaN on either side is wrong. */
#include "storage.cuh"

#define SOME 4 /* elements of a thread: all are asked for before the first is looked at */

static __device__ double value_at(const void *storage, int type, int64_t at)
{
    if (type == F16)
        return __half2float(((const __half *)storage)[at]);
    if (type == BF16)
        return __bfloat162float(((const __nv_bfloat16 *)storage)[at]);
    if (type == I8)
        return ((const int8_t *)storage)[at];
    if (type == U8)
        return ((const uint8_t *)storage)[at];
    if (type == U16)
        return ((const uint16_t *)storage)[at];
    if (type == I32)
        return ((const int32_t *)storage)[at];
    if (type == U32)
        return ((const uint32_t *)storage)[at];
    if (type == F64)
        return ((const double *)storage)[at];
    if (is_narrow(type))
        return narrow_at(storage, type, at);
    if (type == BOOL)
        return ((const uint8_t *)storage)[at];
    if (type == I64)
        return ((const int64_t *)storage)[at];
    if (type == U64)
        return ((const uint64_t *)storage)[at];
    return ((const float *)storage)[at];
}

static __device__ double rounded(int type, double v)
{
    if (type == F16)
        return __half2float(__double2half(v));
    if (type == BF16)
        return __bfloat162float(__double2bfloat16(v));
    uint8_t bits;
    if (is_narrow(type))
        return narrow_rounded(type, v, &bits);
    return type == F32 ? (float)v : v; /* a whole number is held as it is or not at all */
}

/* What counts[] holds afterwards. */
enum { COMPARED, WRONG, WORST, SUSPECTS };

/* What is compared with what: logical a, b, c, d as in data_pack, and what there is beside it. */
struct compared {
    const void *storage;
    int type;
    int64_t a, b, c, d, sa, sb, sc, sd;
    const double *reference;
    const float *bound, *carried, *mask;
    double factor, unit, least;   /* least: what is lost of a value that underflows */
    double lowest, highest;       /* that the activation can leave */
    bool narrow;                  /* suspects (measure/verify/verify_errors.c): what no correct sum rounds to, */
    double large;                 /* or an error above this share of the tolerance */
    bool whole;                   /* whole numbers, of a value between two the nearer one */
    int64_t block, rows, columns; /* of the mask */
    int inactive_is;
    uint32_t inactive;
    bool side_by_side; /* SOME channels of a pixel are one word of storage */
};
struct tally {
    unsigned long long compared, wrong, worst, suspects;
    double below; /* a smaller ratio is not the worst of the 32 threads: it needs no division */
};

static __device__ bool is_active(const compared &o, const element &e)
{
    int64_t k = e.k, l = e.l;
    if (o.block > 1)
        k = (uint32_t)k / (uint32_t)o.block, l = (uint32_t)l / (uint32_t)o.block;
    return !o.mask || o.mask[(e.i * o.rows + k) * o.columns + l] != 0;
}

static __device__ bool is_suspect(const compared &o, double got, double want, double error, double most, double tolerance)
{
    const double flushed = 0x1p-126;
    if (most == 0)
        return false;
    if (!o.narrow)
        return error > o.large * tolerance + flushed;
    most += 0x1p-22 * fabs(want) + flushed;
    return error > most + o.unit / 2 * fabs(want) && (got < rounded(o.type, want - most) || got > rounded(o.type, want + most));
}

/* One whose reference is asked for. */
static __device__ void look(const compared &o, tally &t, int64_t index, double got, double want, float off, float brought)
{
    double most = off * o.factor + brought, tolerance = 0;
    if (o.whole)
        tolerance = most + (want == rint(want) ? 0 : 0.5);
    else if (most == 0)
        want = rounded(o.type, want);
    else
        tolerance = most + o.unit * (fabs(want) + most) + o.least;
    double error = fabs(got - want);
    if (!(got == want || (error <= tolerance && got >= o.lowest && got <= o.highest))) {
        t.wrong++;
        return;
    }
    t.suspects += is_suspect(o, got, want, error, off * o.factor, tolerance);
    if (got == want || error >= t.below * tolerance) {
        float ratio = got == want ? 0 : (float)(error / tolerance);
        unsigned long long key = (unsigned long long)__float_as_uint(ratio) << 32 | (uint32_t)~(uint32_t)index;
        t.worst = key > t.worst ? key : t.worst;
        t.below = fmax(t.below, ratio * (1 - 0x1p-20));
    }
}

/* Of a thread in a turn: number m of `count` lies at index + m * apart, in storage at at[m]; bits of `active` are set for active ones. */
struct some {
    int count;
    unsigned active;
    int64_t index, apart, at[SOME];
    float brought[SOME]; /* by its channel */
};

static __device__ bool untouched(const compared &o, int64_t at)
{
    if (o.type == F16 || o.type == BF16 || o.type == U16)
        return ((const uint16_t *)o.storage)[at] == (uint16_t)o.inactive;
    if (o.type == F32 || o.type == I32 || o.type == U32)
        return ((const uint32_t *)o.storage)[at] == o.inactive;
    return false; /* no pattern of one byte is poison, nor of eight: the CPU looks */
}

static __device__ void look_at_one(const compared &o, tally &t, bool active, int64_t index, int64_t at, float brought)
{
    if (!active && !o.inactive_is)
        return;
    t.compared++;
    if (!active && o.inactive_is == 1) {
        t.wrong += !untouched(o, at);
        return;
    }
    double got = value_at(o.storage, o.type, at);
    if (!active && o.inactive_is == 2)
        t.wrong += !(got == 0);
    else
        look(o, t, index, got, o.reference[index], o.bound ? o.bound[index] : 0, brought);
}

/* Nobody's element is out of the tensor, or inactive. */
static __device__ void look_at_all(const compared &o, tally &t, const some &s)
{
    double got[SOME], want[SOME];
    float off[SOME];
    __half halves[SOME];
    if (o.side_by_side) {
        const uint2 word = *(const uint2 *)((const __half *)o.storage + s.at[0]);
        memcpy(halves, &word, sizeof word);
    }
#pragma unroll
    for (int m = 0; m < SOME; m++) {
        if (o.type == F16 && !o.side_by_side)
            halves[m] = ((const __half *)o.storage)[s.at[m]];
        else if (o.type != F16)
            got[m] = value_at(o.storage, o.type, s.at[m]);
        want[m] = o.reference[s.index + m * s.apart];
        off[m] = o.bound ? o.bound[s.index + m * s.apart] : 0;
    }
    t.compared += SOME;
#pragma unroll
    for (int m = 0; m < SOME; m++)
        look(o, t, s.index + m * s.apart, o.type == F16 ? __half2float(halves[m]) : got[m], want[m], off[m], s.brought[m]);
}

/* 32 threads come here together. */
static __device__ void look_at(const compared &o, tally &t, some &s)
{
    double before = t.below;
    if (__all_sync(~0u, s.count == SOME && s.active == (1u << SOME) - 1)) {
        look_at_all(o, t, s);
    } else if (__all_sync(~0u, s.count == SOME && !s.active) && o.inactive_is == 1) {
        t.compared += SOME;
#pragma unroll
        for (int m = 0; m < SOME; m++)
            t.wrong += !untouched(o, s.at[m]);
    } else {
#pragma unroll 1
        for (int m = 0; m < s.count; m++) {
            look_at_one(o, t, s.active >> m & 1, s.index + m * s.apart, s.at[0], s.brought[0]);
#pragma unroll
            for (int i = 1; i < SOME; i++)
                s.at[i - 1] = s.at[i], s.brought[i - 1] = s.brought[i];
        }
    }
    if (!__any_sync(~0u, t.below > before))
        return;
    float below = __double2float_rd(t.below);
    for (int lane = 16; lane; lane >>= 1)
        below = fmaxf(below, __shfl_xor_sync(~0u, below, lane));
    t.below = fmax(t.below, (double)below);
}

/* If channels are contiguous (sb 1), 32 threads have 32 pixels of a row and SOME of their channels, then the next channels: they read
 * references and bounds in whole lines, and the few lines of storage stay in the cache. */
static __device__ void channels(const compared &o, int64_t turn, some &s)
{
    element e = element_of(turn, (o.b + SOME - 1) / SOME, o.c, (o.d + 31) / 32, 0, 1, 0, 0); /* of some channels and 32 pixels as one */
    e.j *= SOME, e.l = e.l * 32 + threadIdx.x % 32;
    s.count = e.l < o.d ? (int)min(o.b - e.j, (int64_t)SOME) : 0;
    s.active = s.count && is_active(o, e) ? (1u << SOME) - 1 : 0;
    s.index = ((e.i * o.b + e.j) * o.c + e.k) * o.d + e.l;
    s.apart = o.c * o.d;
#pragma unroll
    for (int m = 0; m < SOME; m++) {
        s.at[m] = e.i * o.sa + e.j + e.k * o.sc + e.l * o.sd + m;
        s.brought[m] = o.carried && m < s.count ? o.carried[e.j + m] : 0;
    }
}

/* Else they have 32 elements that follow one another, SOME times. stored: so does their storage. */
static __device__ void in_order(const compared &o, int64_t turn, bool stored, some &s)
{
    const int64_t count = o.a * o.b * o.c * o.d;
    element e = {0};
    s.count = 0;
    s.active = (1u << SOME) - 1;
    s.index = turn * (32 * SOME) + threadIdx.x % 32;
    s.apart = 32;
    stored = stored && !o.mask && !o.carried; /* no more is wanted */
    if (!stored)
        e = element_of(s.index, o.b, o.c, o.d, o.sa, o.sb, o.sc, o.sd);
#pragma unroll
    for (int m = 0; m < SOME; m++) {
        s.at[m] = s.index + m * 32;
        s.brought[m] = 0;
        if (s.at[m] >= count)
            continue;
        s.count = m + 1;
        if (stored)
            continue;
        s.at[m] = e.i * o.sa + e.j * o.sb + e.k * o.sc + e.l * o.sd;
        s.brought[m] = o.carried ? o.carried[e.j] : 0;
        if (!is_active(o, e))
            s.active &= ~(1u << m);
        for (e.l += 32; e.l >= o.d; e.l -= o.d)
            if (++e.k == o.c && (e.k = 0, ++e.j == o.b))
                e.j = 0, e.i++;
    }
}

/* bound NULL: values must equal the rounded reference. mask (a, c / block, d / block; NULL: all elements count): inactive_is says what an inactive element
 * must do: 1: have the bits `inactive`; 2: equal 0; 3: satisfy the reference; 0: anything. carried: by channel (b), what a network's earlier layers may
 * add to an error; NULL: nothing. WORST: the largest ratio of error to tolerance among right elements, as a float's bits, above the inverted index. */
extern "C" __global__ void __launch_bounds__(256, 2)
compare_output(const void *storage, int type, int64_t a, int64_t b, int64_t c, int64_t d, int64_t sa, int64_t sb, int64_t sc, int64_t sd,
               const double *reference, const float *bound, double factor, double roundings, double lowest, double highest, int narrow, double large, const float *carried, const float *mask,
               int64_t block, int inactive_is, uint32_t inactive, unsigned long long *counts)
{
    const compared o = {storage,  type, a, b, c, d, sa, sb, sc, sd, reference, bound, carried, mask, factor, roundings * roundoff(type),
                        roundings * underflow(type), lowest, highest, narrow != 0, large, roundoff(type) == 0, block, mask ? c / block : 0, mask ? d / block : 0, inactive_is, inactive,
                        type == F16 && sb == 1 && ((uint64_t)storage / 2 | b | sa | sc | sd) % SOME == 0};
    tally t = {0, 0, 0, 0, 0};
    const bool stored = (d == 1 || sd == 1) && (c == 1 || sc == d) && (b == 1 || sb == c * d) && (a == 1 || sa == b * c * d);
    const int64_t some_each = 32 * SOME,
                  turns = sb == 1 ? a * c * ((d + 31) / 32) * ((b + SOME - 1) / SOME) : (a * b * c * d + some_each - 1) / some_each;
    for (int64_t turn = (blockIdx.x * (int64_t)blockDim.x + threadIdx.x) / 32; turn < turns; turn += (int64_t)gridDim.x * blockDim.x / 32) {
        some s;
        if (sb == 1)
            channels(o, turn, s);
        else
            in_order(o, turn, stored, s);
        look_at(o, t, s);
    }
    unsigned long long compared = t.compared, wrong = t.wrong, worst = t.worst, suspects = t.suspects;
    for (int lane = 16; lane; lane >>= 1) {
        compared += __shfl_xor_sync(~0u, compared, lane);
        wrong += __shfl_xor_sync(~0u, wrong, lane);
        suspects += __shfl_xor_sync(~0u, suspects, lane);
        unsigned long long other = __shfl_xor_sync(~0u, worst, lane);
        worst = other > worst ? other : worst;
    }
    if (threadIdx.x % 32 == 0) {
        atomicAdd(&counts[COMPARED], compared);
        atomicAdd(&counts[WRONG], wrong);
        atomicMax(&counts[WORST], worst);
        if (suspects)
            atomicAdd(&counts[SUSPECTS], suspects);
    }
}

/* Masks of bits, 32 columns a word, which past the last column are 0: words that are other than `mask` says. */
extern "C" __global__ void compare_bits(const uint32_t *words, const float *mask, int64_t rows, int64_t width, unsigned long long *counts)
{
    int64_t across = (width + 31) / 32;
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < rows * across; i += (int64_t)gridDim.x * blockDim.x) {
        int64_t first = i / across * width + i % across * 32, count = min(width - i % across * 32, (int64_t)32);
        uint32_t want = 0;
        for (int64_t x = 0; x < count; x++)
            want |= (uint32_t)(mask[first + x] != 0) << x;
        if (words[i] != want)
            atomicAdd(&counts[WRONG], 1ull);
    }
}
