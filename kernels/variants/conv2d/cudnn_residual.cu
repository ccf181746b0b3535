/* bench 1
op: conv2d
what: the library with the residual in its graph too - bias, residual and activation by one of its engines
from: cudnn
needs: has(residual)
dtype: {input: [f32, f16, bf16], output: same, bias: f32, accumulate: f32}
math: [f32, tf32, f16_acc32, bf16_acc32]
algorithm: library
epilogue: [bias, residual, relu, leaky_relu]
steps:
  - cudnn: conv2d
*/

/* Which of cuDNN's engines take an addition of a whole tensor depends on type, layout and version; where none does, the row says so. Where this row wins it is
 * the denominator, as with cudnn_plain. */
