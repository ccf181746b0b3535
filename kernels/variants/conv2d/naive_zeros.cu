/* bench 1
what: naive into an output that is cleared with every call, as torch.zeros does in the notebook; every element is written afterwards
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
