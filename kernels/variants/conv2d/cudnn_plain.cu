/* bench 1
op: conv2d
what: the library's plain convolution; bias, activation and everything else run as further timed steps of ours
from: cudnn
dtype: {input: [f32, f16, bf16], output: same, bias: f32, accumulate: f32}
math: [f32, tf32, f16_acc32, bf16_acc32]
algorithm: library
steps:
  - cudnn: conv2d
*/

/* Some of cuDNN's engines exist only without an epilogue, and may beat its fused ones by more than a further pass costs. Where this row wins, it is
 * the denominator: the ratio's base is the fastest of the library's rows. */
