/* bench 1
what: sparse_tile or sparse_inputs, decided on the device from the numbers of active tiles and inputs
like: sparse_tile
needs:
  - stride == 1 and dilation == 1 and groups == 1 and c % 16 == 0 and c <= 64 and r <= 3 and s <= 3 and k % 2 == 0
  - n * h * w < 4294967296 and n * p * q < 4294967296 and c * h * w < 2147483648 and k * p * q < 2147483648
mask: {needs: input}
params:
  ROWS: {values: [4, 8], default: 8}               # rows of a tile, which is 8 wide
  SWITCH: {values: [4, 6, 8, 10, 12, 16, 24], default: 8}   # inputs are taken when an active tile has fewer of them
let:
  group: ceil(floor(c, 8) * 1040 + 1024 * r + 128 * r * s + 264, 128) * 128 # bytes, of up to 64 inputs
  inputs: 4 * group + 64 * (r * s * 64 + 4) * 4                             # groups, and their contributions
  weights_at: select(max(4 * group, whole) + weights + 10240 <= smem_per_block_optin, max(4 * group, whole), 0)   # behind groups or tiles, or there before
  smem: max(inputs, whole, weights_at + weights)
define:
  BOTH: null
  INPUTS: 1
  SWITCH: null
*/

/* Every block counts the active tiles and the marked inputs, and makes the same choice, so the choice needs no launch and is part of the time.
 *
 * On an H200 (reports/gallery/sparse_auto_grid-h200.md and sparsity_targets-h200.md) inputs are faster from three active tiles a block on, while a tile has fewer than
 * about 8 of them (the code that counts them is longer). When those pages were measured, few tiles were also computed by inputs: single pixels were 9 to 16 % slower
 * there than with sparse_tile, which is the reason for FEW_TILES. */
