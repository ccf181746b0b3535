/* bench 1
what: wgmma_rs without fusion - bias, activation, residual and depth_to_space run as further timed steps; the difference is the gain of fusing
like: wgmma_rs
epilogue: null
define:
  EPI_BIAS: 0
  EPI_RESIDUAL: 0
  EPI_SLOPE: 1
tensor_maps:
  residual_map: null
steps:
  - kernel: conv_wgmma_rows
    grid: ceil(rows_all, rows_block), blocks_k
    block: 384
    smem: smem
    args: input_map, filter_map, output_map, output_map, 0, k, p, pad_top, strips, rows_all, rows_block
*/
