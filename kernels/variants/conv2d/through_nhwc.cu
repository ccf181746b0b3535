/* bench 1
op: conv2d
what: NCHW of any width through NHWC - both layout changes at copy speed, between them the convolution that `auto` chooses
from: wgmma_rs_nchw
needs: groups == 1 and c * h * w < 2147483648 and k * p * q < 2147483648
layout: {input: NCHW, filter: KRSC, output: NCHW, residual: NCHW}
dtype: {input: [f16, bf16, f32], output: same, bias: f32, accumulate: f32}
math: [f16_acc32, bf16_acc32, tf32]
algorithm: library
epilogue: [bias, residual, relu, leaky_relu]
params:
  BY: {values: [auto, mma_sync], default: auto}   # whose convolution: mma_sync is the one that runs on every chip, and on emu
claims: cc == 90 and dtype != f32 and n * p * q >= 8192
scratch:
  x: input[n * c * h * w]
  y: input[n * k * p * q]
  z: input[select(has(residual), n * k * p * q, 1)]
steps:
  - {variant: layout/convert, input: input, output: x, with: {to: NHWC}}
  - {variant: layout/convert, input: residual, output: z, with: {to: NHWC}, when: has(residual)}
  - {variant: conv2d/auto, input: x, residual: z, output: y, epilogue: same, with: {layout: NHWC}, when: BY == 'auto'}
  - {variant: conv2d/mma_sync, input: x, residual: z, output: y, epilogue: same, with: {layout: NHWC}, when: BY == 'mma_sync'}
  - {variant: layout/convert, input: y, output: output, with: {c: k, h: p, w: q, layout: NHWC, to: NCHW}}
*/

/* What changed from wgmma_rs_nchw: it supports every shape. A row of NCHW whose width is no multiple of 8 begins at any element, and TMA can neither address nor
 * store such rows. The library converts every NCHW shape in this way, too; the layout changes here run at the speed of a copy (layout/convert), the library's
 * take two to ten times as long.
 *
 * Cost: input and output are read and written once more. Where wgmma_rs_nchw can run it is faster. */
