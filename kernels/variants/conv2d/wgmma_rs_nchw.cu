/* bench 1
what: wgmma_rs for NCHW - the producer transposes every row once on its way through shared memory
like: wgmma_rs
needs:
  - stride == 1 and dilation == 1 and groups == 1 and r * s <= 9 and c <= 64
  - c % 8 == 0 and w % 8 == 0 and q % 8 == 0            # 16 bytes: TMA's granularity
  - c * h * w < 2147483648 and k * p * q < 2147483648
layout: {input: NCHW, output: NCHW, residual: NCHW}
claims: c > 48 and k > 48
params:
  RING: {values: [7], default: 7}                     # image rows in shared memory, after three that are still NCHW
let:
  row_bytes: (strip + 16) * 128
  areas: 1
  smem: 1024 + 3 * row_bytes + max(rest, r * row_bytes + r * s * 8192) + 16 * RING + 72
  blocks_k: ceil(k, 64)
define:
  SPLIT: 1
  RESIDUAL_AHEAD: 0
  NCHW: 1
tensor_maps:
  input_map: {box: "strip + 16, 1, 64, 1", swizzle: null}
  output_map: {box: "64, 1, 64, 1"}
  residual_map: {box: "64, 1, 64, 1"}
*/

/* What changed from wgmma_rs: the loads and the stores. In NCHW a pixel's channels are a whole image apart, and no tensor-core operand can be read like that and
 * shifted by one pixel, because 2 bytes is no valid alignment. The library makes NHWC copies of the whole input and of the whole output, three times the traffic.
 *
 *  - Input: dense/turned_rows.cuh. Every row is still read once, in lines of a channel, and transposed in shared memory: 36 pairs of ldmatrix and stmatrix for four
 *    warps in 2304 cycles.
 *  - Output: rows of the result are channels already, so stmatrix does not transpose them, and TMA stores 128 bytes of each of 64 lines.
 *
 * Cost: 54 KiB for rows in flight, so the ring is shorter, and no room to pass the weights of 128 output channels through it: more than 64 are several blocks, each
 * of which reads the image. TMA does not support widths that are no multiple of 8 pixels. Measured on an H200, 64->64 at 720 x 1280, cold: 101.2 us; wgmma_rs in
 * NHWC 91.6 us (older code). */
