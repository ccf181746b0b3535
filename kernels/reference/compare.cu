/* An output against its reference, where it lies. Right is only what a comparison says is right: NaN on either side is wrong. */
#include "storage.cuh"

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
    return ((const float *)storage)[at];
}

static __device__ double rounded(int type, double v)
{
    if (type == F16)
        return __half2float(__double2half(v));
    if (type == BF16)
        return __bfloat162float(__double2bfloat16(v));
    if (type == I8)
        return fmax(-127.0, fmin(127.0, rint(v)));
    return type == F32 ? (float)v : type == F64 ? v : trunc(v); /* of whole numbers as the CPU stores them */
}

/* What counts[] holds afterwards. */
enum { COMPARED, WRONG, WORST };

/* Logical a, b, c, d as in data_pack. bound NULL: values must be the reference, rounded. mask (a, c / block, d / block; NULL: everything counts):
 * elsewhere an element must have the bits `inactive` where inactive_is is 1, equal 0 where it is 2, satisfy the reference where it is 3,
 * and is not looked at where it is 0. carried: by channel (b), what a network's earlier layers may add to an error; NULL: nothing. WORST: of right elements the largest error over tolerance as a float's bits, above the inverted index. */
extern "C" __global__ void compare_output(const void *storage, int type, int64_t a, int64_t b, int64_t c, int64_t d, int64_t sa, int64_t sb,
                                          int64_t sc, int64_t sd, const double *reference, const float *bound, double factor, const float *carried,
                                          const float *mask, int64_t block, int inactive_is, uint32_t inactive,
                                          unsigned long long *counts)
{
    /* Of storage whose channels lie side by side 32 threads have 32 pixels of a row, the next ones the same pixels of the next channel: references
     * and bounds are read in whole lines, and the few lines of storage stay in the cache. */
    int64_t across = (d + 31) / 32, count = sb == 1 ? a * c * across * b * 32 : a * b * c * d;
    unsigned long long compared = 0, wrong = 0, worst = 0;
    double below = 0; /* a smaller ratio is not the thread's worst: it needs no division */
    for (int64_t t = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; t < count; t += (int64_t)gridDim.x * blockDim.x) {
        element e = sb == 1 ? element_of_line(t, b, c, d, sa, sc, sd) : element_of(t, b, c, d, sa, sb, sc, sd);
        if (e.l >= d)
            continue;
        bool active = !mask || mask[(e.i * (c / block) + e.k / block) * (d / block) + e.l / block] != 0;
        if (!active && !inactive_is)
            continue;
        double got = value_at(storage, type, e.at);
        compared++;
        if (!active && inactive_is == 1) {
            bool same = type == F32  ? ((const uint32_t *)storage)[e.at] == inactive
                        : type == I8 ? false /* no pattern of one byte is poison: the CPU looks */
                                     : ((const uint16_t *)storage)[e.at] == (uint16_t)inactive;
            wrong += !same;
            continue;
        }
        if (!active && inactive_is == 2) {
            wrong += !(got == 0);
            continue;
        }
        double want = reference[e.index], off = bound ? (double)bound[e.index] : 0, tolerance = 0;
        double brought = carried ? (double)carried[e.index / (c * d) % b] : 0;
        if (off == 0 && brought == 0) {
            want = rounded(type, want);
        } else {
            off = off * factor + brought;
            tolerance = off + roundoff(type) * (fabs(want) + off) + underflow(type);
        }
        double error = fabs(got - want);
        if (!(got == want || error <= tolerance)) {
            wrong++;
        } else if (got == want || error >= below * tolerance) {
            float ratio = got == want ? 0 : (float)(error / tolerance);
            unsigned long long key = (unsigned long long)__float_as_uint(ratio) << 32 | (uint32_t)~(uint32_t)e.index;
            worst = key > worst ? key : worst;
            below = fmax(below, ratio * (1 - 0x1p-20));
        }
    }
    for (int lane = 16; lane; lane >>= 1) {
        compared += __shfl_xor_sync(~0u, compared, lane);
        wrong += __shfl_xor_sync(~0u, wrong, lane);
        unsigned long long other = __shfl_xor_sync(~0u, worst, lane);
        worst = other > worst ? other : worst;
    }
    if (threadIdx.x % 32 == 0) {
        atomicAdd(&counts[COMPARED], compared);
        atomicAdd(&counts[WRONG], wrong);
        atomicMax(&counts[WORST], worst);
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
