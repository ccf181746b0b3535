/* bench 1
op: conv2d
what: Boda's k1conv - 1x1 filters as a matrix product, a grid of MT pixels by NT channels per thread, KB input channels in shared memory at a time
from: tconv
needs:
  - r == 1 and s == 1 and p == h and q == w and groups == 1
  - n * c * h * w < 2147483648 and n * k * p * q < 2147483648
layout: {input: NCHW, filter: KCRS, output: NCHW}
dtype: {input: f32, output: f32, bias: f32, accumulate: f32}
epilogue: [bias, relu, leaky_relu]
params:                         # Boda's MNt = MT:NT, MNb = MB:NB, Kb, vw
  MT: {values: [4, 8], default: 8}         # pixels a thread
  NT: {values: [4, 8], default: 8}         # output channels a thread
  MB: {values: [8, 16, 32], default: 16}   # threads side by side over pixels
  NB: {values: [4, 8, 16], default: 8}     # and over channels
  KB: {values: [4, 8, 16], default: 8}     # input channels at a time
  VW: {values: [auto, 1, 4], default: auto}   # floats of the input in a load
let:
  depth: c
  pixels: h * w
  vw: select(VW == 'auto', select(pixels % 4 == 0, 4, 1), VW)
  channels: ceil(k, NB * NT) * NB * NT
  smem: 4 * KB * (MB * MT + NB * NT)
  registers: MT * NT + MT + NT
where:
  - pixels % vw == 0
  - smem <= smem_per_block
  - registers <= 224
predict: {threads: MB * NB, smem: smem, registers: registers}
define:
  VECTOR: vw
  EPI_BIAS: has(bias)
  EPI_SLOPE: slope(epilogue)
scratch:
  weights: f32[depth * channels]
prepare:
  - kernel: transpose_filter
    grid: ceil(depth * channels, 256)
    block: 256
    args: filter, weights, k, depth, channels
steps:
  - kernel: tile_product
    grid: ceil(n * pixels, MB * MT), channels / (NB * NT)
    block: MB * NB
    args: input, weights, bias, output, n, depth, k, pixels, channels
*/

/* What changed from tconv: a filter of one tap needs no lines, so the pixels of all images are one row, and several input channels are in shared memory between barriers.
 * The head's model states a configuration's cost. Boda writes the input blocks out beforehand; here consecutive threads load consecutive pixels. */
#include "dense/tile_product.cuh"
