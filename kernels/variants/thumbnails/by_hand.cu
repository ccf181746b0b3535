/* bench 1
op: thumbnails
what: fused by hand - one thread per pixel of a result, all intermediate values in registers
needs: crops > 0
dtype: {input: u8, boxes: i32, output: f32}
layout: {output: [NCHW, NHWC]}
define:
  PLANAR: layout(output) == NCHW
  H: h
  W: w
  CROPS: crops
  TO_H: to_h
  TO_W: to_w
  LARGE: n * max(h * w, 3 * crops * to_h * to_w) >= 2147483648
steps:
  - kernel: thumbnail
    grid: ceil(to_w * to_h, 256), 1, n * crops
    block: 256
    args: input, boxes, output
*/

/* The code without stages: the same arithmetic in one function, with sizes that the compiler knows. It is here to be compared with stages/backwards, which the compiler
 * builds from six headers: the difference is the cost of the generality. */
#include "stage/pixel.cuh"
#if LARGE
typedef size_t index_type;
#else
typedef unsigned index_type;
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
    float p[3] = {0, 0, 0};
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
            p[c] = above + (below - above) * down.part;
        }
    }
    float *at = output + (PLANAR ? ((index_type)b * 3 * TO_H + y) * TO_W + x : (size_t)(((index_type)b * TO_H + y) * TO_W + x) * 3);
#pragma unroll
    for (int c = 0; c < 3; c++) {
        float value = over(p[2 - c] * 1.4f - 0.5f, 255);
        at[PLANAR ? c * TO_H * TO_W : c] = value;
    }
}
