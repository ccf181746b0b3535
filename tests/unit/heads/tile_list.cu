/* bench 1
op: conv2d
what: two launches - list the active 8x8 output tiles, then a persistent grid convolves only those
from: halo_regs
needs: r == 3 and s == 3 and stride == 1 and dilation == 1 and groups == 1 and c % CC == 0 and k == 64
layout: {input: NHWC, filter: RSCK, output: NHWC, mask_in: bits, mask_out: bits}   # u32[n][h][ceil(w,32)], low bit = small x
dtype: {input: [f32, f16], output: same, bias: f32, accumulate: f32}
algorithm: direct
epilogue: [bias]
mask: {needs: input, writes: output, inactive: untouched}   # untouched (canary must survive) | zero | bias
params:
  CC: {values: [8, 16], default: 16}
  BPS: {values: [1, 2, 3], default: 2}          # persistent blocks per SM
let:
  tx: ceil(q, 8)
  ty: ceil(p, 8)
  tiles: n * ty * tx
  smem: 4 * (100 * (CC + 1) + 9 * CC * 64)
where:
  - smem <= smem_per_block_optin
define:
  INPUT_T: type(input)
  OUTPUT_T: type(output)
scratch:                        # guard zones; poisoned before the first run; bytes are a column
  list: u32[tiles]
  count: u32[1]
steps:                          # one sample = all steps, one stream; each is also a sub-row
  - fill: count = 0             # timed: without it the second run is wrong
  - kernel: list_tiles
    grid: ceil(tiles, 128)
    block: 128
    args: mask_in, mask_out, list, count, h, w, tx, ty, tiles
  - kernel: conv_tiles
    grid: min(tiles, BPS * sm_count)
    block: 256
    smem: smem
    args: input, filter, bias, output, list, count, h, w, c, tx, ty
    attributes: {carveout: 100}  # also cluster, cooperative, pdl; a value may name a parameter
columns:                        # my own numbers, read after the verified run, never from the timed one
  tiles_active: count[0]
*/
