/* bench 1
op: upsample_bilinear
what: one thread per output element; any layout
like: upsample/nearest_element
*/

/* The definition: the position of the output pixel's centre in the input, the four pixels around it, the edge repeated. Every input element is loaded 4 * block *
 * block times, nearly always from L1; three divisions and four loads for one element make the instructions the limit. */
#include "element/element.cuh"
#include "element/tensor.cuh"

extern "C" __global__ void __launch_bounds__(256) upsample_elements(const ELEMENT_T *input, ELEMENT_T *output, int C, int H, int W, int factor)
{
    int i = blockIdx.x * 256 + threadIdx.x; /* in the output image */
    int Q = W * factor, elements = C * H * factor * Q;
    if (i >= elements)
        return;
    int c = NHWC ? i % C : i / (H * factor * Q), pixel = NHWC ? i / C : i % (H * factor * Q);
    float y = (pixel / Q + 0.5f) / factor - 0.5f, x = (pixel % Q + 0.5f) / factor - 0.5f;
    int y0 = (int)floorf(y), x0 = (int)floorf(x);
    float down = y - y0, across = x - x0;
    int top = max(y0, 0), bottom = min(y0 + 1, H - 1), left = max(x0, 0), right = min(x0 + 1, W - 1);
    input += (size_t)blockIdx.y * C * H * W;
    float upper = (1 - across) * to_f32(input[at(c, top, left, C, H, W)]) + across * to_f32(input[at(c, top, right, C, H, W)]);
    float lower = (1 - across) * to_f32(input[at(c, bottom, left, C, H, W)]) + across * to_f32(input[at(c, bottom, right, C, H, W)]);
    output[(size_t)blockIdx.y * elements + i] = from_f32<ELEMENT_T>((1 - down) * upper + down * lower);
}
