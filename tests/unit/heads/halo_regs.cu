/* bench 1
op: conv2d
what: halo tile and weights in shared memory, 4 pixels x 8 channels a thread in registers
from: tiled_halo                # parent chapter: list, report and compare show the difference from it
needs: r == 3 and s == 3 and stride == 1 and dilation == 1 and groups == 1 and c % CC == 0 and k % KB == 0
layout: {input: NHWC, filter: RSCK, output: NHWC}   # the filter is permuted once, outside the time, and the row says so
dtype: {input: [f32, f16], output: same, bias: f32, accumulate: f32}
algorithm: direct               # or winograd, split3 ...: sets tolerance and which FLOP count may be quoted
epilogue: [bias, relu, leaky_relu]   # what I fuse, any prefix; the rest of the layer runs as further timed steps
params:
  TH: {values: [4, 8, 16], default: 8}
  TW: {values: [8, 16, 32], default: 16}
  KB: {values: [32, 64], default: 64}
  CC: {values: [4, 8, 16], default: 16}
let:
  threads: TH * TW * KB / 32
  smem: 4 * ((TH + 2) * (TW + 2) * (CC + 1) + 9 * CC * KB)
where:                          # a failing point is a row naming the clause and both values
  - threads <= 1024
  - smem <= smem_per_block_optin
define:                         # -D names of my choosing; params are defined under their own names
  INPUT_T: type(input)
  OUTPUT_T: type(output)
  EPI_BIAS: has(bias)
  EPI_SLOPE: slope(epilogue)    # 1 none, 0 relu, alpha leaky_relu
steps:
  - kernel: conv3x3_halo_regs
    grid: ceil(q, TW), ceil(p, TH), n * (k / KB)     # plain scalar: a YAML flow list would break at the commas
    block: threads
    smem: smem                  # dynamic; above 48 KiB bench opts in
    args: input, filter, bias, output, h, w, c, k   # by name, my order; checked against the compiled signature
*/
extern "C" __global__ void __launch_bounds__(TH *TW *KB / 32)
conv3x3_halo_regs(const INPUT_T *x, const INPUT_T *f, const float *bias, OUTPUT_T *y, int H, int W, int C, int K)
