/* bench 1
op: conv2d
what: the library - cuDNN's best plan for this shape, bias and activation in its graph where an engine takes them
dtype: {input: [f32, f16, bf16], output: same, bias: f32, accumulate: f32}
math: [f32, tf32, f16_acc32, bf16_acc32]
slices: [input, residual, output]     # its descriptors have strides
algorithm: library
epilogue: [bias, relu, leaky_relu]
steps:
  - cudnn: conv2d
*/

/* Row 0. Nothing is compiled here: bench asks cuDNN's heuristics for plans in the case's math mode, times the first of them and keeps the
 * fastest; engine, knobs and workspace are columns. Operations that cuDNN cannot fuse (always depth_to_space) run as further timed steps. */
