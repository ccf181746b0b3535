/* bench 1
what: naive with threadIdx.x along the rows, as in the notebook's numba kernel; the lanes of a warp are a whole line apart
like: naive
steps:
  - kernel: conv_naive_uncoalesced
    grid: ceil(p, BLOCK), ceil(line, BLOCK), select(nhwc, n, n * k)
    block: BLOCK, BLOCK
    args: input, filter, bias, output, c, h, w, k, r, s, p, q, stride_y, pad_top, dilation_y, groups
*/

/* What changed from naive, and nothing else: threadIdx.x counts rows instead of columns, as in numba's `row, col = cuda.grid(2)`.
 *
 * Adjacent lanes are a whole image row apart, so a warp's load or store of 32 values touches 16 or 32 sectors
 * of 32 bytes instead of 2 to 4, and uses one value of each. L1 saves part of the loads (the next tap of the
 * same lane is in the same sector); nothing saves the stores. The sectors per request in the report show it.
 *
 * On an H200: the notebook's image takes 46.9 us in blocks of 16 x 16, naive 46.4 us (older code), since then L1 keeps the lines until the neighbours come; in blocks of 32 x 32,
 * its own choice there, and on EDSR's body it falls far behind. */
#include "element/element.cuh"
#include "element/epilogue.cuh"
#include "element/tensor.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK *BLOCK)
conv_naive_uncoalesced(const INPUT_T *input, const INPUT_T *filter, const float *bias, OUTPUT_T *output, int C, int H, int W, int K, int R, int S,
                       int P, int Q, int stride, int pad, int dilation, int groups)
{
    int p = blockIdx.x * BLOCK + threadIdx.x;
    int i = blockIdx.y * BLOCK + threadIdx.y; /* along one line of the output */
    if (p >= P || i >= (NHWC ? Q * K : Q))
        return;
    int q = NHWC ? i / K : i;
    int k = NHWC ? i % K : blockIdx.z % K;
    int n = NHWC ? blockIdx.z : blockIdx.z / K;
    int group_channels = C / groups;
    int c0 = k / (K / groups) * group_channels;
    input += (size_t)n * C * H * W;
    output += (size_t)n * K * P * Q;

    float sum = 0.0f;
    for (int r = 0; r < R; r++) {
        int y = p * stride - pad + r * dilation;
        if (y < 0 || y >= H)
            continue; /* zero padding */
        for (int s = 0; s < S; s++) {
            int x = q * (STRIDE_ACROSS ? STRIDE_ACROSS : stride) - (pad + PAD_MORE) + s * (DILATION_ACROSS ? DILATION_ACROSS : dilation);
            if (x < 0 || x >= W)
                continue;
            for (int c = 0; c < group_channels; c++)
                sum += to_f32(input[at(c0 + c, y, x, C, H, W)]) * to_f32(filter[filter_at(k, c, r, s, K, group_channels, R, S)]);
        }
    }
    output[at(k, p, q, K, P, Q)] = from_f32<OUTPUT_T>(epilogue(sum, bias, k));
}
