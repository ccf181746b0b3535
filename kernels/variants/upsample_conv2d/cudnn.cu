/* bench 1
op: upsample_conv2d
what: two steps - our nearest upsampling, then the library's convolution of the large image
dtype: {input: [f32, f16, bf16], output: same, bias: f32, accumulate: f32}
math: [f32, tf32, f16_acc32, bf16_acc32]
algorithm: library
epilogue: [bias, relu, leaky_relu]
scratch:
  x: input[n * c * h * block * w * block]
steps:
  - {variant: upsample/nearest, input: input, output: x, with: {block: block}}
  - {variant: conv2d/cudnn, input: x, epilogue: same, with: {h: h * block, w: w * block}}
*/

/* Row 0: what a framework runs. The large image is written and read once in vain, and cuDNN multiplies every input pixel by taps that could have been added before. */
