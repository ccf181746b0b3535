/* bench 1
op: conv2d
what: a seed for the fuzzer
like: wgmma_rs
needs:
layout: {input: NCHW, residual: null}
params: {RING: {default: 8}, STRIP: null}
let:
  strip: 64
  row_bytes: (strip + 16) * 128
  split: null
define: {SPLIT: 1, NCHW: 1}
candidates:
  way:
    rows:
      own: {widest: 96, group: 4, when: c > 3}
      flat: {widest: 128, group: k / 4}
    least: ceil(k, widest) * group
tensor_maps:
  input_map: {box: "strip + 16, 1, 64, 1", swizzle: null}
*/
