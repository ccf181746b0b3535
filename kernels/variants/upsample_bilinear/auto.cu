/* bench 1
op: upsample_bilinear
what: the variant that this shape wants, by rule - no timing, no search
layout: {input: [NHWC, NCHW], output: same}
dtype: {input: [f32, f16, bf16], output: same}
measured: cc == 90
select:
  - variant: march       # claims what is whole vectors
  - variant: strip
  - variant: cell        # channels by the thousand that are no whole vectors
  - variant: element
*/

/* No kernel: a rule. march has everything that is whole vectors, at 0.98 of the speed of `copy` or more (its head has the figures); strip the rest, 0.88 to 0.96. On whole vectors strip is as fast at
 * 64 channels x2 and far behind at x8, where a block's piece of the output leaves room for few warps. */
