/* bench 1
op: thumbnails
what: fused by hand - one thread a pixel of a result, everything between in registers
needs: crops > 0
dtype: {input: u8, boxes: i32, output: f32}
layout: {output: [NCHW, NHWC]}
define:
  PLANAR: layout(output) == NCHW
steps:
  - kernel: thumbnail
    grid: ceil(to_w * to_h, 256), 1, n * crops
    block: 256
    args: input, boxes, output, h, w, crops, to_h, to_w
*/

/* What one writes without stages: the same maths in one function. It is here to be compared with stages/backwards, which the compiler puts together
 * from six headers: what the generality costs is the difference of the two. */
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
    float p[3] = {0, 0, 0};
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
            p[c] = above + (below - above) * fy;
        }
    }
#pragma unroll
    for (int c = 0; c < 3; c++) {
        float value = (p[2 - c] * 1.4f - 0.5f) / 255;
        output[PLANAR ? ((size_t)(b * 3 + c) * to_h + y) * to_w + x : ((size_t)(b * to_h + y) * to_w + x) * 3 + c] = value;
    }
}
