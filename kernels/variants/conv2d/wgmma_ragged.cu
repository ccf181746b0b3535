/* bench 1
what: wgmma_pixels for any number of channels - seven warps load the pixels by cp.async and pad them with zeros, weights are padded once
like: wgmma_pixels
needs:
  - stride == 1 and groups == 1 and r <= 7 and s <= 7 and c * size(input) % 2 == 0 and (size(input) == 2 or c % 4 == 0)
  - pitch(input) * h * w < 2147483648 and k * p * q < 2147483648
claims:
  - cc == 90 and math != i8_acc32
  - c % 2 == 0 and c >= 16 and (c % 8 != 0 or k % 8 != 0)
  - r * s > 1 and n * p * q >= 4096 and k >= 12 and c * r * s * k >= 8000
dtype: {input: [f16, bf16, i8]}
slices: {input: 1, residual: null, output: not has(residual) and line == 0}     # a residual is found where the output is
math: [f16_acc32, bf16_acc32, i8_acc32]
let:
  c8: piece * ceil(c, piece)
  piece: 16 / size(input)
  four: size(output) == 4
  line: select(blocks_k == 1 and not four and k % 2 == 1, 16 * k + 16, 0)   # bytes of 8 pixels, which leave together
  fixed: 1024 + 512 + 4 * blocks_k * kb + select(line > 0, 16 + 8 * line, 0)   # barriers, biases, a line of each warp
define:
  RAGGED: c
  INPUT_PITCH: pitch(input)
  OUTPUT_PITCH: select(pitch(output) == k, 0, pitch(output))
  OUTPUT_T: type(output)
  GRAIN: select(c * size(input) % 8 == 0, 8, select(c * size(input) % 4 == 0, 4, 2))   # bytes of a pixel that are copied together
  EVEN: k % 2 == 0
  LINE_BYTES: line
  JOINED: select(k % 8 == 0 and kb % 32 == 0 and not four, 4, select(k % 4 == 0, 2, 1))
tensor_maps:
  input_map:
  output_map:
  residual_map:
  filter_map: {of: padded, dims: "c8, r * s, 1, blocks_k * kb"}
scratch:
  padded: filter[c8 * r * s * blocks_k * kb]
prepare:
  - symbol: epi_slopes = slopes
    when: has(prelu)
  - kernel: pad_weights
    grid: ceil(c8 * r * s * blocks_k * kb, 256)
    block: 256
    args: filter, padded, k, c8, c8 * r * s * blocks_k * kb
steps:
  - kernel: conv_wgmma_ragged
    grid: min(tiles, sm_count)
    block: 512
    smem: smem
    attributes: {pdl: follows}
    args: input, filter_map, bias, residual, output, h, w, k, p, q, pad_top, tiles_x, tiles_y, blocks_k, tiles
*/

/* What changed from wgmma_pixels: threads load the pixels. TMA needs pixels whose channels are a multiple of 16 bytes. Here 224 threads copy 8 bytes each, or 4 or 2 if c is
 * no multiple of 4 or 2, to where TMA would have put them, with zeros up to the depth of a product (16 channels), so the products are the same.
 *
 *  - A thread always has the same bytes of a pixel and the same columns of the tile: a copy is an addition to both addresses and a test whether the row is in the image.
 *  - No thread waits for its copies: cp.async arrives at the slice's mbarrier by itself. It writes as ordinary stores do, so the consumers fence before their products.
 *  - Results are stored from registers (dense/ragged_pixels.cuh). The order of channels in a product gives each lane adjacent ones: the weights are ordered accordingly. */
