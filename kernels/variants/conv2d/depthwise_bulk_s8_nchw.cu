/* bench 1
op: conv2d
what: depthwise_bulk_nchw on 8-bit whole numbers - exact sums, results of 4 bytes
from: depthwise_bulk_nchw
needs: groups == c and k == c and w % 16 == 0 and c * h * w < 2147483648 and n * k * p * q < 2147483648 and r * (2 * deep + half) <= 48 and live <= 16
layout: {input: NCHW, filter: RSCK, output: NCHW}
dtype: {input: i8, filter: i8, output: f32, bias: f32, accumulate: i32}
math: [i8_acc32]
epilogue: [bias, relu, leaky_relu, prelu]
params:
  DOWN: {values: [auto, 1, 2, 3, 4, 5, 6, 8, 12, 16], default: auto}           # periods of lines that a warp goes down
  RING: {values: [2, 3, 4, 6], default: 2}                     # periods in shared memory
  WARPS: {values: [1, 2, 4, 8], default: 4}
  RESIDENT: {values: [1, 4, 5, 6, 8], default: 5}              # blocks of an SM, at least: bounds the registers
let:
  live: floor((r - 1) * dilation_y, stride_y) + 1              # lines of outputs that one line of the input belongs to
  period: live * stride_y                          # lines of input that come together
  shift: 4 * ceil(pad_left, 4) - pad_left          # columns that are multiplied before the first one that counts: 4 bytes are loaded together
  reach: shift + 7 * stride_x + (s - 1) * dilation_x + 1
  half: reach % 32 >= 1 and reach % 32 <= 16
  deep: floor(reach + 15, 32)                      # products of 32 columns
  lead: 16 * ceil(pad_left + shift, 16) - pad_left - shift      # columns before these: a copy begins at a multiple of 16 bytes
  box_w: 16 * ceil(lead + 120 * stride_x + 32 * deep + 16 * half, 16)
  slot: 128 * ceil(period * box_w, 128)
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
  - kernel: conv_depthwise_lines_s8
    grid: ceil(planes * parts, WARPS)
    block: 32 * WARPS
    smem: smem
    args: input_map, filter, bias, output, k, p, q, pad_top, pad_left + shift + lead, tiles_x, rows, parts, n
*/

/* What changed from depthwise_bulk_nchw: the instruction. A product of 16 columns of 8 bits is all that eight outputs of 7x7 look at. The results are four fifths of all that moves. */
static __device__ __forceinline__ void multiply_bands(int sum[4], const unsigned a[4], const unsigned b[2]);
static __device__ __forceinline__ void multiply_bands_half(int sum[4], const unsigned a[2], unsigned b);
#include "dense/depthwise_planes.cuh"
#include "tensor_core/mma_s8.cuh"

static __device__ __forceinline__ void multiply_bands(int sum[4], const unsigned a[4], const unsigned b[2]) { multiply_16x8x32(sum, a, b); }
static __device__ __forceinline__ void multiply_bands_half(int sum[4], const unsigned a[2], unsigned b) { multiply_16x8x16(sum, a, b); }

extern "C" __global__ void __launch_bounds__(32 * WARPS, RESIDENT)
conv_depthwise_lines_s8(const __grid_constant__ tensor_map input_map, const signed char *__restrict__ filter, const float *__restrict__ bias, float *__restrict__ output, int K,
                        int P, int Q, int pad, int pad_x, int tiles_x, int rows, int parts, int images)
{
    convolve_planes<int>(&input_map, filter, bias, output, K, P, Q, pad, pad_x, tiles_x, rows, parts, images);
}
