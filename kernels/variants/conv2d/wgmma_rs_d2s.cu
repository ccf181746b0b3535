/* bench 1
what: wgmma_rs whose store is the depth_to_space
like: wgmma_rs
needs:
  - stride == 1 and dilation == 1 and groups == 1 and r * s <= 9 and c <= 64
  - c % 8 == 0 and has(depth_to_space) and k % (block(epilogue) * block(epilogue)) == 0
  - line % 64 == 0 or line % 32 == 0 or line % 16 == 0 # a warp's channels lie in one line of the output
  - mode(epilogue) == DCR or depth % 8 == 0            # filters come in groups of 8 rows, as the swizzle has them
  - c * h * w < 2147483648 and k * p * q < 2147483648
epilogue: [bias, relu, leaky_relu, depth_to_space]
claims: c == 64 and n * p * q >= 65536
let:
  line: k / block(epilogue)                            # channels that lie side by side in the output; see mma_sync_d2s.cu
  depth: k / (block(epilogue) * block(epilogue))
  box: select(line % 64 == 0, 64, select(line % 32 == 0, 32, 16))
  spread: select(mode(epilogue) == CRD, block(epilogue) * block(epilogue), 1)   # CRD: filters of neighbouring channels of a line lie so many rows apart
  filter_box: select(mode(epilogue) == DCR, 64, select(depth % 64 == 0, 64, select(depth % 32 == 0, 32, select(depth % 16 == 0, 16, 8))))
define:
  D2S_BLOCK: block(epilogue)
  D2S_CRD: mode(epilogue) == CRD
  STORE_BOX: box
  FILTER_BOX: filter_box
tensor_maps:
  filter_map: {dims: "c, r * s, spread, k / spread", box: "64, 1, 1, filter_box"}
  output_map: {dims: "line, q, p * block(epilogue), n", box: "box, strip, 1, 1", swizzle: box * 2}
steps:
  - kernel: conv_wgmma_rows
    grid: ceil(rows_all, rows_block), blocks_k
    block: 384
    smem: smem
    attributes: {pdl: follows}
    args: input_map, filter_map, output_map, bias, k, p, pad_top, strips, rows_all, rows_block
*/

/* What changed from wgmma_rs: where a row of results is stored, and from which rows of the filter the weights come; mma_sync_d2s.cu explains both. TMA
 * does it: for one dy the B * C' channels of a pixel are contiguous in the output, so its tensor map is [n][p * B][q][B * C'] and a staged row is stored
 * in boxes of up to 64 of these channels. With 128 output channels and a block of 2, one consumer computes the upper and the other the lower row of every
 * pair of output rows. It has not one instruction more than wgmma_rs. */

#include "dense/wgmma_rows.cuh"

extern "C" __global__ void __launch_bounds__(384, 1)
conv_wgmma_rows(const __grid_constant__ tensor_map input_map, const __grid_constant__ tensor_map filter_map, const __grid_constant__ tensor_map output_map,
              const float *bias, int K, int P, int pad, int strips, int rows_all, int rows_block)
{
    convolve_rows(&input_map, &filter_map, &output_map, nullptr, bias, K, P, pad, strips, rows_all, rows_block);
}
