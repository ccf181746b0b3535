/* bench 1
what: mine, its steps written out
like: mine
steps:
  - kernel: conv_naive
    grid: ceil(line, BLOCK), ceil(p, BLOCK), select(nhwc, n, n * k)
    block: BLOCK, BLOCK
    args: input, filter, bias, output, c, h, w, k, r, s, p, q, stride, pad, dilation, groups
*/
