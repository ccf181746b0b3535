/* bench 1
op: conv2d
what: auto, and Winograd where its larger error is allowed, on 16-bit tensor cores
dtype: {input: f16, filter: same, output: same, bias: f32, accumulate: f32}
layout: {input: NHWC, output: same}
epilogue: [bias, residual, relu, leaky_relu, depth_to_space]
measured: cc == 90
select:
  - {variant: winograd_row, claimed: yes}
  - variant: auto
race:      # on images of few units it is a matter of how many blocks the last round leaves idle
  - {variant: winograd_row, when: c >= 128 and k >= 128}
  - {variant: winograd_rs, when: c >= 56 and n * p * q >= 400000}
*/
