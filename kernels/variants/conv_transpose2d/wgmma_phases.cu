/* bench 1
op: conv_transpose2d
what: stride 2 on wgmma - four convolutions 2x2 of the input, one for each phase of the output; the store interleaves
from: phases
needs:
  - stride == 2 and dilation == 1 and groups == 1 and pad <= 1 and p == 2 * h and q == 2 * w and c <= 64 and c % 8 == 0 and k % 8 == 0
  - c * h * w < 2147483648 and k * p * q < 2147483648
layout: {input: NHWC, filter: KRSC, output: NHWC}
dtype: {input: [f16, bf16], output: same, bias: f32, accumulate: f32}
algorithm: implicit_gemm
epilogue: [bias, relu, leaky_relu]
params:
  STRIP: {values: [auto, 64, 128], default: auto}     # pixels of a row that are one product; auto: what wastes less of the last strip
  RING: {values: [7, 8, 10], default: 8}              # image rows in shared memory
let:
  side: select(k % 64 == 0, 2, 3)                      # of the filters that are multiplied: 2, or 3 with zeros where a block's channels belong to two phases
  box: select(2 * k % 64 == 0, 64, select(2 * k % 32 == 0, 32, 16))
  strip: select(STRIP == 'auto', select(ceil(w, 64) % 2 == 1 and w < 256, 64, 128), STRIP)
  row_bytes: ceil(strip + 2, 8) * 1024
  rest: RING * row_bytes + 2 * strip * 128             # image rows, then results of two consumers; weights pass through the end of it
  smem: 1024 + max(rest, 3 * row_bytes + 2 * side * side * 8192) + 16 * RING + 48
  blocks_k: ceil(4 * k, 128)
  strips: ceil(w, strip)
  rows_all: n * strips * h
  blocks: max(1, min(rows_all, floor(sm_count, blocks_k)))
  rows_block: ceil(rows_all, blocks)                   # of the small image, one after another in a strip
where:
  - cc == 90
  - smem <= smem_per_block_optin
define:
  TYPE: type(input)
  R: 3                                                 # pixels in reach, each way
  S: 3
  CHANNELS: c
  STRIP_WIDTH: strip
  SPLIT: 2
  EPI_BIAS: has(bias)
  EPI_RESIDUAL: 0
  EPI_SLOPE: slope(epilogue)
  COLLAPSED: 1
  TAP_ROWS: side
  TAP_COLUMNS: side
  D2S_BLOCK: 2
  D2S_CRD: 0
  STORE_BOX: box
scratch:
  phases: input[4 * k * side * side * c]
tensor_maps:
  input_map: {of: input, box: "64, strip + 2, 1, 1", swizzle: 128, l2: 256}
  filter_map: {of: phases, dims: "c, side * side, 1, 4 * k", box: "64, 1, 1, 64", swizzle: 128, l2: 256}
  output_map: {of: output, dims: "2 * k, w, 2 * h, n", box: "box, strip, 1, 1", swizzle: box * 2}
prepare:
  - kernel: part_filters
    grid: ceil(4 * k * side * side * c, 256)
    block: 256
    args: filter, phases, k, c, r, s, pad
steps:
  - kernel: conv_transpose_wgmma
    grid: ceil(rows_all, rows_block), blocks_k
    block: 384
    smem: smem
    args: input_map, filter_map, output_map, bias, 4 * k, h, strips, rows_all, rows_block
*/

/* What changed from phases: tensor cores multiply. Along each axis an output of phase d depends on at most two inputs, y - 1 + d and the next, through taps pad + 2 - d and
 * pad - d of the filter: for 4x4 with pad 1, 3x3 with pad 1 and output_pad 1 and 2x2 without padding, which all make the output exactly twice as large. So the four phases
 * are convolutions 2x2 of the input with 4 k channels, and the store interleaves their pixels: the kernel of upsample_conv2d/collapsed, with other filters in `prepare`.
 * Taps that the filter does not have are zero.
 *
 * Cost: that of collapsed. 3x3 computes 16 products where 9 would do. */
#include "element/element.cuh"
#define WEIGHTS_SHARED 0
#include "dense/wgmma_rows.cuh"

/* phases[phase * K + k][a][b][c]: tap (a, b) of a phase, which begins at its own pixel. */
extern "C" __global__ void __launch_bounds__(256) part_filters(const TYPE *filter, TYPE *phases, int K, int C, int rows, int columns, int pad)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= 4 * K * TAPS * C)
        return;
    int c = i % C, tap = i / C % TAPS, k = i / C / TAPS % K, phase = i / C / TAPS / K, dy = phase / 2, dx = phase % 2;
    int a = tap / TAP_COLUMNS - (TAP_ROWS == 3 ? dy : 0), b = tap % TAP_COLUMNS - (TAP_ROWS == 3 ? dx : 0);
    int r = pad + 2 - dy - 2 * a, s = pad + 2 - dx - 2 * b;
    bool valid = a >= 0 && a < 2 && b >= 0 && b < 2 && r >= 0 && r < rows && s >= 0 && s < columns;
    phases[i] = valid ? filter[((k * rows + r) * columns + s) * C + c] : from_f32<TYPE>(0);
}

extern "C" __global__ void __launch_bounds__(384, 1)
conv_transpose_wgmma(const __grid_constant__ tensor_map input_map, const __grid_constant__ tensor_map filter_map, const __grid_constant__ tensor_map output_map,
                     const float *bias, int K, int P, int strips, int rows_all, int rows_block)
{
    convolve_rows(&input_map, &filter_map, &output_map, nullptr, bias, K, P, 1, strips, rows_all, rows_block);
}
