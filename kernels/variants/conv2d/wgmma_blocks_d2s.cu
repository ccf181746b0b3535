/* bench 1
what: wgmma_blocks whose store is the depth_to_space
like: wgmma_blocks
needs:
  - stride == 1 and dilation == 1 and groups == 1 and r <= 3 and s <= 9
  - c % 8 == 0 and has(depth_to_space) and k % (block(epilogue) * block(epilogue)) == 0
  - line % 64 == 0 or line % 32 == 0 or line % 16 == 0 # a warp's channels lie in one line of the output
  - mode(epilogue) == DCR or depth % 8 == 0            # filters come in groups of 8 rows, as the swizzle has them
  - c * h * w < 2147483648 and k * p * q < 2147483648
epilogue: [bias, relu, leaky_relu, depth_to_space]
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
*/

/* What changed from wgmma_blocks: where results go, and from which rows of the filter the weights come; wgmma_rs_d2s.cu says why TMA does both. */
