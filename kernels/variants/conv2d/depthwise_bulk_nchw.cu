/* bench 1
op: conv2d
what: depthwise on tensor cores, NCHW, sm_90 - depthwise_mma_nchw with whole lines that come by TMA into a ring of the block's
from: depthwise_mma_nchw
needs:
  - groups == c and k == c and w * size(input) % 16 == 0
  - c * h * w < 2147483648 and n * k * p * q < 2147483648
  - r * (2 * deep + half) <= 48 and live <= 16     # registers of weights
  - size(input) > 1 or r * s < 256                 # sums of bytes stay below 2^22
layout: {input: NCHW, filter: RSCK, output: NCHW}
dtype: {input: [f16, bf16], output: same, bias: f32, accumulate: f32}
epilogue: [bias, relu, leaky_relu, prelu]
params:
  ROWS: {values: [auto, 4, 6, 8, 12, 16, 20, 24, 32, 48, 64], default: auto}         # lines of outputs a block goes down
  RING: {values: [2, 3, 4, 6], default: 2}                     # periods in shared memory
  RESIDENT: {values: [auto, 1, 2, 3, 4, 5, 6, 8], default: auto}   # blocks of an SM, at least: bounds the registers
let:
  live: floor((r - 1) * dilation_y, stride_y) + 1              # lines of outputs that one line of the input belongs to
  period: live * stride_y                          # lines of input that come together
  word: 4 / size(input)                            # columns
  vector: 16 / size(input)                         # a copy begins at a multiple
  # columns that are multiplied before the first one that counts: 4 bytes are loaded together
  shift: word * ceil(pad_left, word) - pad_left
  reach: shift + 7 * stride_x + (s - 1) * dilation_x + 1
  half: reach % (2 * vector) >= 1 and reach % (2 * vector) <= vector
  deep: floor(reach + vector - 1, 2 * vector)      # products of 32 bytes of columns
  before: vector * ceil(pad_left + shift, vector)  # columns before a block's first output
  registers: 38 + 4 * live + 4 * deep + 2 * half + r * (2 * deep + half)
  across: 128                                      # outputs of a warp
  seen: group * stride_x * (across * warps / group - 1) + strip        # columns under all outputs of a block
  strip: vector * (2 * deep + half)                # columns under a group of outputs
  group: 8
  margin: max(before, vector * ceil(max(0, seen - pad_left - shift - w), vector))   # of zeros, between whole lines
  pitch: select(tiles_x == 1, w + margin, vector * ceil(before - pad_left - shift + seen, vector))
  tail: select(tiles_x == 1, margin, 0)
  slot: period * pitch * size(input)
  tiles_x: ceil(q, 1024)
  warps: ceil(ceil(q, tiles_x), across)
  resident: select(RESIDENT == 'auto', max(1, floor(4 * floor(64, ceil(registers, 8)), warps)), RESIDENT)    # of each quarter's 64 x 256 registers
  all: tiles_x * n * k
  fitting: ceil(p, fit_parts)
  each: ceil(all * ceil(p, fitting), sm_count)     # an SM's blocks
  busy: ceil(select(size(input) < 4, 24, 12), warps)           # so many keep it busy
  rows: select(ROWS != 'auto', ROWS, fitting)
  # Large filters: as many lines for each block, wherever a plane ends. Others: parts of a plane, a block each
  even: r * s >= 49 and ROWS == 'auto'
  extra: select(even, ceil((r - 1) * dilation_y, stride_y) + 8, rows * ceil(p, rows) - p)      # what a block's start costs, in lines
  share: select(even, max(ceil(all * (p + extra), sm_count * min(resident, busy)), min(p, extra)), rows)
  smem: 128 + RING * (slot + 16) + tail * size(input)
candidates:
  height:
    rows:
      p1:  {fit_parts: 1}
      p2:  {fit_parts: 2}
      p3:  {fit_parts: 3}
      p4:  {fit_parts: 4}
      p5:  {fit_parts: 5}
      p6:  {fit_parts: 6}
      p7:  {fit_parts: 7}
      p8:  {fit_parts: 8}
      p10: {fit_parts: 10}
      p12: {fit_parts: 12}
      p16: {fit_parts: 16}
      p24: {fit_parts: 24}
      p32: {fit_parts: 32}
      p48: {fit_parts: 48}
    # blocks, in whole waves if there are several; lines, and a start that is worth ten
    least: select(each <= resident, max(each, min(busy, resident)), resident * ceil(each, resident)) * ((fitting - 1) * stride_y + (r - 1) * dilation_y + 11)
where:
  - cc >= 90
  - resident * 32 * warps <= 2048
  - smem <= smem_per_block_optin
define:
  INPUT_T: type(input)
  OUTPUT_T: type(output)
  SHIFT: shift
  DEEP: deep
  HALF: half
  BEFORE: select(tiles_x == 1, margin, before)
  PAD_LEFT: pad_left
  PITCH: pitch
  TAIL: tail
  WHOLE: tiles_x == 1
  WIDTH: w
  COLUMNS: q
  WARPS: warps
  BLOCKS: resident
  EVEN: even
  EXTRA: extra
  PAIRS: q % 2 == 0
  EPI_BIAS: has(bias)
  EPI_SLOPE: slope(epilogue)
  EPI_PRELU: select(has(prelu), k, 0)
specialise: [r, s, stride_y, stride_x, dilation_y, dilation_x]
prepare:
  - symbol: epi_slopes = slopes
    when: has(prelu)
steps:
  - kernel: conv_depthwise_lines
    grid: ceil(all * (p + extra), share)
    block: 32 * warps
    smem: smem
    args: input, filter, bias, output, k, h, p, pad_top, tiles_x, all, share
*/

/* What changed from depthwise_mma_nchw: how lines are loaded. There operands are loaded straight into registers, which limit the bytes in
 * flight to 1 KiB a warp. Here TMA loads whole lines, a period at a time (dense/depthwise_planes.cuh), with zeros between them, so that no
 * thread checks which columns exist or, in most periods, which lines.
 *
 * Cost: lines of whole 16 bytes, TMA, and 128 adjacent outputs per warp: for wide images. As there, an infinity spreads to its group of eight
 * outputs. */
#include "dense/depthwise_bands.cuh"

extern "C" __global__ void __launch_bounds__(32 * WARPS, BLOCKS)
conv_depthwise_lines(const INPUT_T *__restrict__ input, const INPUT_T *__restrict__ filter, const float *__restrict__ bias,
                     OUTPUT_T *__restrict__ output, int K, int H, int P, int pad, int tiles_x, int all, int each)
{
    convolve_planes<bands<INPUT_T>>(input, filter, bias, output, K, H, P, pad, tiles_x, all, each);
}
