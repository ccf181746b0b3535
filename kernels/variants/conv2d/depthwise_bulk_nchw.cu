/* bench 1
op: conv2d
what: depthwise on tensor cores, NCHW, sm_90 - depthwise_mma_nchw with lines that come by the copy engine into a ring of each warp's own
from: depthwise_mma_nchw
needs: groups == c and k == c and w % 8 == 0 and c * h * w < 2147483648 and n * k * p * q < 2147483648 and r * (2 * deep + half) <= 48 and live <= 16
layout: {input: NCHW, filter: RSCK, output: NCHW}
dtype: {input: [f16, bf16], output: same, bias: f32, accumulate: f32}
epilogue: [bias, relu, leaky_relu, prelu]
params:
  DOWN: {values: [auto, 1, 2, 3, 4, 5, 6, 8, 12, 16], default: auto}           # periods of lines that a warp goes down
  RING: {values: [2, 3, 4, 6], default: 2}                     # periods in shared memory
  WARPS: {values: [1, 2, 4, 8], default: 4}
  RESIDENT: {values: [1, 4, 5, 6, 8], default: 5}              # blocks of an SM, at least: bounds the registers
let:
  live: floor((r - 1) * dilation_y, stride_y) + 1              # lines of outputs that one line of the input belongs to
  period: live * stride_y                          # lines of input that come together
  shift: 2 * ceil(pad_left, 2) - pad_left          # columns that are multiplied before the first one that counts: 4 bytes are loaded together
  reach: shift + 7 * stride_x + (s - 1) * dilation_x + 1
  half: reach % 16 >= 1 and reach % 16 <= 8
  deep: floor(reach + 7, 16)                       # products of 16 columns
  lead: 8 * ceil(pad_left + shift, 8) - pad_left - shift      # columns before these: a copy begins at a multiple of 16 bytes
  box_w: 8 * ceil(lead + 120 * stride_x + 16 * deep + 8 * half, 8)
  slot: 128 * ceil(period * box_w * 2, 128)
  tiles_x: ceil(q, 128)
  planes: tiles_x * n * k
  rows: floor(select(DOWN != 'auto', DOWN, fit_down) * period - (r - 1) * dilation_y - 1, stride_y) + 1
  parts: ceil(p, rows)
  smem: 128 + WARPS * RING * (slot + 8)
  slots: max(1, min(floor(64, WARPS), floor(2048, WARPS * (44 + 4 * live + 4 + r * (2 * deep + half)))))   # blocks of an SM at once, by their registers
candidates:
  height:
    rows:
      d1:  {fit_down: 1}
      d2:  {fit_down: 2}
      d3:  {fit_down: 3}
      d4:  {fit_down: 4}
      d5:  {fit_down: 5}
      d6:  {fit_down: 6}
      d8:  {fit_down: 8}
      d12: {fit_down: 12}
      d16: {fit_down: 16}
    least: ceil(ceil(planes * ceil(p, floor(fit_down * period - (r - 1) * dilation_y - 1, stride_y) + 1), WARPS), sm_count * slots) * (fit_down * period + 8)   # waves; lines, and a start that is worth some
where:
  - cc >= 90
  - box_w <= 256
  - smem <= smem_per_block_optin
define:
  INPUT_T: type(input)
  SHIFT: shift
  DEEP: deep
  HALF: half
  LEAD: lead
  BOX_W: box_w
  SLOT: slot
  PAIRS: q % 2 == 0
  EPI_BIAS: has(bias)
  EPI_SLOPE: slope(epilogue)
  EPI_PRELU: select(has(prelu), k, 0)
specialise: [r, s, stride_y, stride_x, dilation_y, dilation_x]
tensor_maps:
  input_map: {of: input, box: "box_w, period, 1, 1", l2: 256}
prepare:
  - symbol: epi_slopes = slopes
    when: has(prelu)
steps:
  - kernel: conv_depthwise_lines
    grid: ceil(planes * parts, WARPS)
    block: 32 * WARPS
    smem: smem
    args: input_map, filter, bias, output, k, p, q, pad_top, pad_left + shift + lead, tiles_x, rows, parts, n
*/

/* What changed from depthwise_mma_nchw: how a line comes. There its operands are loaded straight into registers, so that what is on its way is bounded by them: 1 KiB of a warp. Here
 * a warp's lines come by the copy engine, a period at a time (dense/depthwise_planes.cuh), into a ring of its own. What is outside of the image arrives as zeros, and nobody computes addresses.
 *
 * Cost: lines of whole 16 bytes, the chip's copy engine, and 128 outputs side by side: for wide images. As there, an infinity spreads to the outputs of its eights. */
static __device__ __forceinline__ void multiply_bands(float sum[4], const unsigned a[4], const unsigned b[2]);
static __device__ __forceinline__ void multiply_bands_half(float sum[4], const unsigned a[2], unsigned b);
#include "dense/depthwise_planes.cuh"

static __device__ __forceinline__ void multiply_bands(float sum[4], const unsigned a[4], const unsigned b[2]) { multiply_16x8x16<INPUT_T>(sum, a, b); }
static __device__ __forceinline__ void multiply_bands_half(float sum[4], const unsigned a[2], unsigned b) { multiply_16x8x8<INPUT_T>(sum, a, b); }

extern "C" __global__ void __launch_bounds__(32 * WARPS, RESIDENT)
conv_depthwise_lines(const __grid_constant__ tensor_map input_map, const INPUT_T *__restrict__ filter, const float *__restrict__ bias, INPUT_T *__restrict__ output, int K,
                     int P, int Q, int pad, int pad_x, int tiles_x, int rows, int parts, int images)
{
    convolve_planes<float>(&input_map, filter, bias, output, K, P, Q, pad, pad_x, tiles_x, rows, parts, images);
}
