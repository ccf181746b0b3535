/* bench 1
op: conv3d
what: the library - cuDNN's best plan for this shape, bias and activation in its graph where an engine takes them
dtype: {input: [f32, f16, bf16], output: same, bias: f32, accumulate: f32}
math: [f32, tf32, f16_acc32, bf16_acc32]
algorithm: library
epilogue: [bias, relu, leaky_relu]
steps:
  - cudnn: conv3d
*/

/* Row 0, as conv2d/cudnn with tensors of five dimensions. */
