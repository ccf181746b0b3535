/* bench 1
what: by_hand whose arithmetic is functions - inlined or called, their operands by value or by reference
from: by_hand
like: by_hand
params:
  INLINE: {values: [1, 0], default: 0}                       # 0: called, as a debug build does, or a function that is too large
  REFERENCE: {values: [0, 1], default: 1}                    # 1: pixel and operand by reference: where a call is not inlined they need an address, that is local memory
*/

/* What changed from by_hand: times, minus and over are three functions of a pixel and its operand. Inlined they are the same machine code, however operands are
 * passed; called by value they cost moves; called by reference every one of them writes the pixel to local memory and reads it again
 * (48 bytes of stack a thread; none of the other three has any). */
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
#define FUNCTION(NAME, OPERATOR) \
    static __device__ CALLED void NAME(rgb &p, const operand &o) \
    { \
        for (int c = 0; c < 3; c++) \
            p.v[c] = p.v[c] OPERATOR o.by[c]; \
    }
#define APPLY(NAME, p, o) NAME(p, o)
#else
#define FUNCTION(NAME, OPERATOR) \
    static __device__ CALLED rgb NAME(rgb p, operand o) \
    { \
        for (int c = 0; c < 3; c++) \
            p.v[c] = p.v[c] OPERATOR o.by[c]; \
        return p; \
    }
#define APPLY(NAME, p, o) p = NAME(p, o)
#endif
FUNCTION(times, *)
FUNCTION(minus, -)
FUNCTION(over, /)

extern "C" __global__ void __launch_bounds__(256)
thumbnail(const unsigned char *input, const int *boxes, float *output, int h, int w, int crops, int to_h, int to_w)
{
    int pixel = blockIdx.x * 256 + threadIdx.x, x = pixel % to_w, y = pixel / to_w, b = blockIdx.z;
    if (y >= to_h)
        return;
    int4 box = ((const int4 *)boxes)[b]; /* x, y, width, height */
    bool wide = box.z * to_h > box.w * to_w;
    int own_h = wide ? max((box.w * to_w + box.z / 2) / box.z, 1) : to_h, own_w = wide ? to_w : max((box.z * to_h + box.w / 2) / box.w, 1);
    int v = y - (to_h - own_h) / 2, u = x - (to_w - own_w) / 2;
    rgb p = {};
    if (v >= 0 && v < own_h && u >= 0 && u < own_w) {
        int down = (2 * v + 1) * box.w - own_h, along = (2 * u + 1) * box.z - own_w;
        int top = down >= 0 ? down / (2 * own_h) : -1, left = along >= 0 ? along / (2 * own_w) : -1;
        float fy = (float)(down - top * 2 * own_h) / (float)(2 * own_h), fx = (float)(along - left * 2 * own_w) / (float)(2 * own_w);
        const unsigned char *image = input + (size_t)(b / crops) * h * w * 3;
        const unsigned char *upper = image + ((size_t)(box.y + max(top, 0)) * w + box.x) * 3,
                            *lower = image + ((size_t)(box.y + min(top + 1, box.w - 1)) * w + box.x) * 3;
        int l = max(left, 0) * 3, r = min(left + 1, box.z - 1) * 3;
#pragma unroll
        for (int c = 0; c < 3; c++) {
            float above = upper[l + c] + ((float)upper[r + c] - (float)upper[l + c]) * fx,
                  below = lower[l + c] + ((float)lower[r + c] - (float)lower[l + c]) * fx;
            p.v[c] = above + (below - above) * fy;
        }
    }
    operand factor = {{1.4f, 1.4f, 1.4f}}, half = {{0.5f, 0.5f, 0.5f}}, most = {{255, 255, 255}};
    APPLY(times, p, factor);
    APPLY(minus, p, half);
    APPLY(over, p, most);
#pragma unroll
    for (int c = 0; c < 3; c++)
        output[PLANAR ? ((size_t)(b * 3 + c) * to_h + y) * to_w + x : ((size_t)(b * to_h + y) * to_w + x) * 3 + c] = p.v[2 - c];
}
