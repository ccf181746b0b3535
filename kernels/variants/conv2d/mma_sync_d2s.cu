/* bench 1
what: mma_sync whose store is the depth_to_space - the shuffle costs address arithmetic, no pass over memory
like: mma_sync
needs:
  - has(depth_to_space) and k % (8 * block(epilogue) * block(epilogue)) == 0   # eight neighbours of a store share (dy, dx)
  - groups == 1 and c % 16 == 0 and c * h * w < 2147483648 and k * p * q < 2147483648
  - 3 * stride_y + (r - 1) * dilation_y < 12   # rows of fragments that a warp holds in registers
epilogue: [bias, relu, leaky_relu, depth_to_space]
define:
  D2S_BLOCK: block(epilogue)
  D2S_CRD: mode(epilogue) == CRD
steps:
  - kernel: conv_mma_sync
    grid: min(tiles, max(1, floor(per_sm * sm_count, ceil(k, kb)))), ceil(k, kb)
    block: threads
    smem: smem
    args: input, filter, bias, 0, output, h, w, k, p, q, pad_top, tiles_x, tiles_y, tiles
*/

/* What changed from mma_sync: the address of a result. The kernel is that file, compiled with D2S_BLOCK and D2S_CRD.
 *
 * depth_to_space maps each output channel k to a pixel (dy, dx) of a block and a channel c of the result. If k counts in the order (dy, dx, c), which is DCR,
 * all channels of one dy are contiguous in row p * block + dy of the result, and those of the next pixel follow them: the store of a plain NHWC convolution
 * with another row pitch. PyTorch's order CRD counts (c, dy, dx); for it, every block loads the weights, once, from other rows of the filter. The bias
 * follows.
 *
 * So the shuffle is free: the same number of bytes, the same 16-byte stores, and none of the graph's three to seven passes. A lane's eight channels must
 * belong to one (dy, dx), hence k % (8 * block * block) == 0. */
