/* bench 1
op: upsample_bilinear
what: the variant that this shape wants, by rule - no timing, no search
layout: {input: [NHWC, NCHW], output: same}
dtype: {input: [f32, f16, bf16], output: same}
select:
  - variant: march       # claims what is whole vectors
  - variant: strip
  - variant: cell        # channels by the thousand that are no whole vectors
  - variant: element
*/
