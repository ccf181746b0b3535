/* bench 1
what: active inputs on tensor cores - what up to 64 of them contribute through each tap is one product, added up by output
like: sparse_tile
needs:
  - stride == 1 and dilation == 1 and groups == 1 and c % 16 == 0 and c <= 64 and r <= 3 and s <= 3 and k % 2 == 0
  - n * h * w < 4294967296 and n * p * q < 4294967296 and c * h * w < 2147483648 and k * p * q < 2147483648
mask: {needs: input}
params:
  ROWS: {values: [4, 8], default: 8}               # rows of a tile, which is 8 wide
  STAGES: null
let:
  group: ceil(floor(c, 8) * 1040 + 1024 * r + 128 * r * s + 264, 128) * 128 # bytes, of up to 64 inputs
  weights_at: 4 * group                            # bytes; behind the groups, the weights come before the contributions
  smem: weights_at + 64 * (r * s * 64 + 4) * 4
  whole: null
define:
  BOTH: null
  WHOLE: 0
  INPUTS: 1
*/

/* What changed from sparse_tile: if marks are scattered, most tiles are active but few of their outputs, and unmarked inputs are zero. So the columns of a product are marked
 * inputs from anywhere, and each is read once for each part of a tile that it reaches, where very_sparse reads it for every tap.
 *
 * Measured on an H200, 64 -> 64 3x3 at 720p, cold (reports/gallery/sparsity_targets-h200.md): 1 % of the inputs at random 27.7 us, where sparse_tile takes 62.9 us and wgmma_rs
 * 91.2 us; with blobs it loses, 112.3 us against 29.1 us at 10 %.
 *
 * With 1 % a block has 131 inputs in parts and 608 outputs, four groups. Its 43,000 cycles, by clock64: 7,300 until all notes have arrived, 7,800 to list tiles, 7,900 to list
 * rows and to gather (a warp alone, five times four tiles), then 5,000 a group: 1,500 to 2,000 for the products, 1,800 to add up and store, the rest barriers. Loading the
 * weights before the notes arrive delayed the notes by as much. To try: all twelve warps list, since eight are idle then; groups of 32 inputs of each consumer's own, so that
 * one multiplies while the other adds up; parts of 8 rows if no more than 64 inputs are marked. */
