/* bench 1
op: conv2d
what: the sparse variant that this shape wants, by rule; what the mask wants is decided on the device
dtype: {input: [f32, f16, bf16], output: same, bias: f32}
math: [f32, tf32, f16_acc32, f16_acc16, bf16_acc32]
epilogue: [bias, relu, leaky_relu]
mask: {needs: [input, both], writes: output, inactive: untouched}
let:
  half: dtype == f16 or dtype == bf16
  plain: stride == 1 and dilation == 1 and groups == 1
measured: cc == 90
select:
  - {variant: sparse_sync, when: half and plain and c <= 32 and k <= 32 and n * p * q <= 262144}   # two tiles a block at most; of more, scattered inputs pay
  - {variant: sparse_either, when: half and plain}       # up to 64 channels and 3x3
  - {variant: sparse_tile, when: half and plain}         # wider filters
  - {variant: sparse_deep, when: half and plain}         # more channels
  - {variant: sparse_mma, when: half and stride > 1, params: {ROWS: 16}}
  - {variant: very_sparse, when: half}                   # dilations, many rows
  - variant: sparse_mma                                 # any channels; f32 in TF32
  - {variant: sparse_stages, when: half and cc != 90}    # weights that fit into no shared memory
  - {variant: delta_depthwise, when: groups > 1}
  - variant: delta_tile
  - variant: sparse_naive
*/

/* No kernel: a rule, as conv2d/auto is for dense layers. The host knows the shape only; which way of computing a mask wants, sparse_either finds out on the device,
 * where the mask is. */
