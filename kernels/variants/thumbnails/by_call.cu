/* bench 1
what: by_hand with functions for the arithmetic - inlined or called, operands by value or by reference
from: by_hand
like: by_hand
params:
  INLINE: {values: [1, 0], default: 0}                       # 0: called, as a debug build does, or a function that is too large
  REFERENCE: {values: [0, 1], default: 1}                    # 1: pixel and operand by reference: where a call is not inlined they need an address, that is local memory
*/

/* What changed from by_hand: times, minus and divided are three functions of a pixel and its operand. Inlined they are the same machine code, however operands are
 * passed; called by value they cost moves; called by reference each of them writes the pixel to local memory and reads it again (48 bytes of stack a thread; the
 * other three have none). */
#include "stage/pixel.cuh"
#if LARGE
typedef size_t index_type;
#else
typedef unsigned index_type;
#endif
#if INLINE
#define CALLED __forceinline__
#else
#define CALLED __noinline__
#endif
struct rgb {
    float v[3];
};
struct operand {
    float by[3];
};

#if REFERENCE
#define FUNCTION(NAME, RESULT) \
    static __device__ CALLED void NAME(rgb &p, const operand &o) \
    { \
        for (int c = 0; c < 3; c++) \
            p.v[c] = RESULT(p.v[c], o.by[c]); \
    }
#define APPLY(NAME, p, o) NAME(p, o)
#else
#define FUNCTION(NAME, RESULT) \
    static __device__ CALLED rgb NAME(rgb p, operand o) \
    { \
        for (int c = 0; c < 3; c++) \
            p.v[c] = RESULT(p.v[c], o.by[c]); \
        return p; \
    }
#define APPLY(NAME, p, o) p = NAME(p, o)
#endif
#define PRODUCT(a, b) a * b
#define DIFFERENCE(a, b) a - b
#define PLAIN_QUOTIENT(a, b) a / b
FUNCTION(times, PRODUCT)
FUNCTION(minus, DIFFERENCE)
#if INLINE
FUNCTION(divided, over)
#else
FUNCTION(divided, PLAIN_QUOTIENT) /* by what is not known here */
#endif

extern "C" __global__ void __launch_bounds__(256)
thumbnail(const unsigned char *input, const int *boxes, float *output)
{
    unsigned pixel = blockIdx.x * 256 + threadIdx.x, b = blockIdx.z;
    int x = pixel % TO_W, y = pixel / TO_W;
    if (y >= TO_H)
        return;
    int4 box = __ldg((const int4 *)boxes + b); /* x, y, width, height: at most 70 and 59 (the op's file) */
    constexpr bool few = 70 * (TO_H > TO_W ? TO_H : TO_W) < 1 << 20;
    bool wide = box.z * TO_H > box.w * TO_W;
    int by = wide ? box.z : box.w, scaled = max(floor_of((wide ? box.w * TO_W : box.z * TO_H) + by / 2, by, few, reciprocal(by, 0.0f)), 1);
    int own_h = wide ? scaled : TO_H, own_w = wide ? TO_W : scaled, v = y - (unsigned)(TO_H - own_h) / 2, u = x - (unsigned)(TO_W - own_w) / 2;
    rgb p = {};
    if ((unsigned)v < (unsigned)own_h && (unsigned)u < (unsigned)own_w) {
        place<float> down = place_of(v, box.w, own_h, few, reciprocal(2 * own_h, 0.0f)), along = place_of(u, box.z, own_w, few, reciprocal(2 * own_w, 0.0f));
        index_type upper = ((index_type)(b / CROPS) * H + box.y + max(down.at, 0)) * W + box.x,
              lower = ((index_type)(b / CROPS) * H + box.y + min(down.at + 1, box.w - 1)) * W + box.x;
        int l = max(along.at, 0), r = min(along.at + 1, box.z - 1);
        const unsigned char *upper_left = input + (size_t)(upper + l) * 3, *upper_right = input + (size_t)(upper + r) * 3,
                            *lower_left = input + (size_t)(lower + l) * 3, *lower_right = input + (size_t)(lower + r) * 3;
#pragma unroll
        for (int c = 0; c < 3; c++) {
            float above = upper_left[c] + ((float)upper_right[c] - (float)upper_left[c]) * along.part,
                  below = lower_left[c] + ((float)lower_right[c] - (float)lower_left[c]) * along.part;
            p.v[c] = above + (below - above) * down.part;
        }
    }
    operand factor = {{1.4f, 1.4f, 1.4f}}, half = {{0.5f, 0.5f, 0.5f}}, most = {{255, 255, 255}};
    APPLY(times, p, factor);
    APPLY(minus, p, half);
    APPLY(divided, p, most);
    float *at = output + (PLANAR ? ((index_type)b * 3 * TO_H + y) * TO_W + x : (size_t)(((index_type)b * TO_H + y) * TO_W + x) * 3);
#pragma unroll
    for (int c = 0; c < 3; c++)
        at[PLANAR ? c * TO_H * TO_W : c] = p.v[2 - c];
}
