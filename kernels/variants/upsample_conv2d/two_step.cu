/* bench 1
what: two steps - nearest upsampling, then the convolution of the large image that `auto` chooses
like: cudnn
epilogue: [bias, residual, relu, leaky_relu]
steps:
  - {variant: upsample/nearest, input: input, output: x, with: {block: block}}
  - {variant: conv2d/auto, input: x, epilogue: same, with: {h: h * block, w: w * block}}
*/

/* What changed from cudnn: the second step is ours where ours is better. The work is the same; so is its floor, which `collapsed` lowers. */
