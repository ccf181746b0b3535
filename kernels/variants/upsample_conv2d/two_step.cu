/* bench 1
op: upsample_conv2d
what: two steps - nearest upsampling, then the convolution of the large image that `auto` chooses
from: cudnn
dtype: {input: [f32, f16, bf16], output: same, bias: f32, accumulate: f32}
math: [f32, tf32, f16_acc32, bf16_acc32]
algorithm: library
epilogue: [bias, residual, relu, leaky_relu]
scratch:
  x: input[n * c * h * block * w * block]
steps:
  - {variant: upsample/nearest, input: input, output: x, with: {block: block}}
  - {variant: conv2d/auto, input: x, epilogue: same, with: {h: h * block, w: w * block}}
*/

/* What changed from cudnn: the second step is ours where ours is better. The work is the same; so is its floor, which `collapsed` lowers. */
