/* bench 1
what: mma_stages with a mask - tiles without an active output end at once; unmarked inputs are zeros that are not read
like: mma_stages
layout: {input: NHWC, filter: KRSC, output: NHWC, mask_in: bits, mask_out: bits}
epilogue: [bias, relu, leaky_relu]
mask: {needs: input, writes: output, inactive: untouched, reads: active, tile: [8, 16], weights: k * c * r * s * size(filter)}
steps:
  - kernel: conv_mma_stages
    grid: ceil(q, 16), ceil(p, 8), n * ceil(k, kb)
    block: 256
    smem: smem
    args: input, filter, bias, 0, mask_in, mask_out, output, h, w, k, p, q, pad_top
*/

/* What changed from mma_stages: the mask, which that kernel supports. It is the sparse kernel for chips without wgmma and for layers whose weights do not fit into
 * shared memory. A block has one tile, active or not: at a few percent most blocks only read marks and end. */
