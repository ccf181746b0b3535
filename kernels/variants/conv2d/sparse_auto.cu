/* bench 1
op: conv2d
what: the sparse variant for this shape, by rule, or a dense one if the mask hardly matters; what depends on the mask is decided on the device
dtype: {input: [f32, f16, bf16], output: same, bias: f32}
math: [f32, tf32, f16_acc32, f16_acc16, bf16_acc32]
epilogue: [bias, relu, leaky_relu]
mask: {needs: [input, both], writes: output, inactive: untouched}
let:
  half: dtype == f16 or dtype == bf16
  plain: stride == 1 and dilation == 1 and groups == 1
  # up to two waves of tiles: to look at the mask takes as long as it saves at most densities
  few: c <= 64 and k <= 64 and r * s <= 9 and n * p * q >= 4096 and n * p * q <= select(half and c % 16 == 0 and c <= 32 and k <= 32, 32768, 60000) or c <= 128 and k <= 64 and r * s <= 9 and n * p * q >= 4096 and n * p * q <= 8192
  light: r * s == 1 and c <= 64 and k <= 128 and n * p * q >= 4096 and n * p * q <= select(half, 16384, 131072)      # a pixel is hardly more than its bytes
  scattered: pattern(mask) == 'iid' or pattern(mask) == 'scanline'      # most tiles are active long before most outputs are
  clustered: pattern(mask) == 'blobs' or pattern(mask) == 'box' or pattern(mask) == 'pixel' or pattern(mask) == 'empty'
  hardly: pattern(mask) == 'pixel' or pattern(mask) == 'empty' or clustered and density(mask) < 0.01
  mostly: cc == 90 and (density(mask) >= 0.6 or r * s > 1 and scattered and density(mask) * r * select(pattern(mask) == 'iid', s, 1) >= 0.25)      # measured there alone
  dense: groups == 1 and (plain and (few or light) and not pattern(mask) == 'empty' or mostly) and marks(mask) != 'both' and (half or math == tf32)
  instead: groups == 1 and marks(mask) != 'both'      # a dense row may run
  thin: instead and n * p * q <= 300000
  # not so: where the rule's choice won each race, at 5, 25 and 100 %
  open: not (half and plain and c == 64 and k == 64 and r * s == 9 and n * p * q >= 500000 and (density(mask) == 1 or pattern(mask) == 'blobs' and density(mask) >= 0.05 and density(mask) <= 0.25))
measured: cc == 90
select:
  # dense rows: they write no mask, and compute all outputs
  - {variant: auto, when: dense}
  - {variant: sparse_stages, when: half and plain and (c % 16 != 0 and (n * p * q <= 65536 or r * s == 1 and n * p * q <= 131072) or pattern(mask) == 'empty' and n * p * q <= 16384)}
  - {variant: sparse_sync, when: half and plain and hardly and (c > 64 and k <= 64 or k <= 48) and n * p * q <= 700000}    # little is left but to look
  - {variant: sparse_sync, when: half and plain and (r * s == 1 or n * p * q <= 16384 or r * s == 25 and c <= 64 and k <= 64 and n * p * q <= 65536 or c <= 32 and k <= 32 and (n * p * q <= 393216 or c <= 16 and n * p * q <= 786432) or c <= 16 and k <= 64 and n * p * q <= 65536 or k <= 32 and n * p * q <= 131072 or c > 64 and n * p * q <= 40000)}
  - {variant: sparse_deep, when: half and plain and c <= 32 and k <= 32}
  - {variant: sparse_deep, when: half and plain and (c <= 32 and k > 64 and k <= 80 and n * p * q <= 262144 or c <= 64 and k > 64 and n * p * q > 40000 and n * p * q <= 262144)}    # of two blocks of 64 channels much would be empty
  - {variant: sparse_deep, when: half and plain and c > 32 and k <= 32 and n * p * q > 131072}
  - {variant: sparse_queue, when: half and plain and (clustered or n * p * q <= 262144) and c <= 64 and r <= 3 and s <= 3}
  - {variant: sparse_either, when: half and plain}       # up to 64 channels and 3x3: decides on the device
  - {variant: sparse_queue, when: half and plain}        # wider filters
  - {variant: sparse_deep, when: half and plain}         # more channels
  - {variant: sparse_stages, when: half and stride > 1 and n * p * q <= 200000}      # few tiles: one block each
  - {variant: sparse_mma, when: half and stride > 1, params: {ROWS: 16}}
  - {variant: very_sparse, when: half}                   # dilations, many rows
  - variant: sparse_mma                                 # any channels; f32 in TF32
  - {variant: sparse_stages, when: half and cc != 90}    # weights that fit into no shared memory
  - {variant: delta_depthwise, when: groups > 1}
  - variant: delta_tile
  - {variant: wgmma_pixels, when: math == tf32 and marks(mask) != 'both'}    # dense: no sparse kernel has room for so many channels
  - variant: sparse_naive
# who may be faster for this pattern and density
race:
  - {variant: sparse_sync, when: open and half}
  - {variant: sparse_stages, when: open and half}
  - {variant: sparse_deep, when: open and half and plain}
  - {variant: sparse_queue, when: open and half and plain}
  - {variant: sparse_inputs, when: open and half and plain}
  - {variant: very_sparse, when: open and half}
  - {variant: sparse_mma, when: open and (half or math == tf32)}
  - {variant: delta_tile, when: math == f32 or math == f16_acc16}
  - {variant: delta_very_sparse, when: math == f32 or math == f16_acc16}
  - {variant: auto, when: open and instead}
  - {variant: wgmma_ragged, when: thin and half and plain}
  - {variant: wgmma_taps, when: thin and half and plain}
  - {variant: mma_any, when: thin and (half or math == tf32)}
  - {variant: cudnn, when: instead and (thin or not half) and cc >= 80}
*/

/* No kernel but a rule, as conv2d/auto is for dense layers. The host knows only the shape. sparse_either chooses the method for a mask on the device, where the
 * mask is; the rule knows beforehand only whether all pixels are marked. Rows of a dense variant (`is`) take part in no network with masks. */
