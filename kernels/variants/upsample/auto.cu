/* bench 1
op: upsample
what: the variant that this shape wants, by rule - no timing, no search
layout: {input: [NHWC, NCHW], output: same}
dtype: {input: [f32, f16, bf16], output: same}
let:
  row: select(layout == NHWC, c, w)     # what whole vectors must divide
measured: cc == 90
select:
  - {variant: nearest, when: row * size(input) % 16 == 0}
  - variant: nearest_strip
  - variant: nearest     # channels by the thousand that are no whole vectors
  - variant: nearest_element
*/

/* No kernel: a rule. Where pixels (NHWC) or rows (NCHW) are whole vectors nearest is at the speed of `copy` without shared memory; elsewhere strips are ahead of it, 0.96 to 0.99 for 0.55. */
