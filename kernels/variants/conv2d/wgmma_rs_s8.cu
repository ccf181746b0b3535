/* bench 1
what: wgmma_rs on 8-bit whole numbers - up to 128 channels, exact sums in 32 bits, results of 4 bytes through shared memory and TMA
like: wgmma_rs
needs:
  - stride == 1 and dilation == 1 and groups == 1 and r * s <= 9 and c <= 128
  - c % 16 == 0 and k % 4 == 0                          # 16 bytes of a pixel: TMA's granularity
  - c * h * w < 2147483648 and k * p * q < 2147483648
dtype: {input: i8, filter: i8, output: f32, accumulate: i32}
math: [i8_acc32]
epilogue: [bias, relu, leaky_relu, prelu]
params:
  STRIP: {values: [auto, 64, 96, 128], default: auto}  # auto: 96 where it wastes fewer columns than 64 and 128 do
  RING: {values: [7, 8, 9], default: 8}
let:
  strip: select(STRIP == 'auto', select(ceil(q, 96) * 96 < ceil(q, 64) * 64, 96, select(ceil(q, 64) % 2 == 1 and q < 256, 64, 128)), STRIP)
  areas:
  rest: RING * row_bytes + 2 * strip * 256             # image rows, then results of two consumers; weights pass through the end of it
  smem: 1024 + max(rest, r * row_bytes + split * r * s * 8192) + 16 * RING + 48
define:
  WORDS: 1
  EPI_RESIDUAL:
  EPI_SCALE:
  RESIDUAL_AHEAD:
tensor_maps:
  input_map: {box: "128, strip + s - 1, 1, 1"}
  filter_map: {box: "128, 1, 1, 64"}
  output_map: {box: "32, strip, 1, 1"}
  residual_map:
steps:
  - kernel: conv_wgmma_rows_s8
    grid: ceil(rows_all, rows_block), blocks_k
    block: 384
    smem: smem
    args: input_map, filter_map, output_map, bias, k, p, pad_top, strips, rows_all, rows_block
*/

/* What changed from wgmma_rs: an element has one byte, so a pixel's 128 bytes are 128 channels and a product is 32 deep, at twice the rate of tensor cores. Registers
 * hold the weights of 128 channels and nine taps, as many bytes as before, and shared memory still serves pixels only: 32 of a product's 64 cycles.
 *
 * The results have 4 bytes, four times the bytes of the input, and storing them from registers takes longer than a warpgroup's products (wgmma_ragged, wgmma_pixels).
 * Here they go through shared memory (dense/staged_words.cuh).
 *
 * For an image of 480 columns, five strips of 96 waste no column, and four of 128 waste 32. */
#define EPI_RESIDUAL 0
#include "tensor_core/wgmma_narrow.cuh"
#include "dense/wgmma_rows.cuh"

extern "C" __global__ void __launch_bounds__(384, 1)
conv_wgmma_rows_s8(const __grid_constant__ tensor_map input_map, const __grid_constant__ tensor_map filter_map, const __grid_constant__ tensor_map output_map, const float *bias,
                   int K, int P, int pad, int strips, int rows_all, int rows_block)
{
    convolve_rows(&input_map, &filter_map, &output_map, nullptr, bias, K, P, pad, strips, rows_all, rows_block);
}
