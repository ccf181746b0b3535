/* bench 1
what: naive, after clearing the output in every call, as torch.zeros does in the notebook; every element is then written
like: naive
layout: {input: NCHW, filter: KCRS}
dtype: {input: f32}
steps:
  - fill: output = 0
  - kernel: conv_naive
    grid: ceil(line, BLOCK), ceil(p, BLOCK), select(nhwc, n, n * k)
    block: BLOCK, BLOCK
    args: input, filter, bias, output, c, h, w, k, r, s, p, q, stride_y, pad_top, dilation_y, groups
*/

/* What changed from naive: the step before it. The difference of the two is what clearing an output costs that no kernel reads. */
