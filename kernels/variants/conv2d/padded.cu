/* bench 1
what: cudnn_padded with the convolution that auto chooses for padded channels - ours, if there are enough channels and pixels
like: cudnn_padded
steps:
  - kernel: pad_channels
    grid: ceil(n * h * w * (c8 / 8), 256)
    block: 256
    args: input, x8, n * h * w, c, c8
    when: wide
  - {variant: conv2d/auto, input: x8, filter: f8, bias: b8, output: y8, with: {c: c8, k: k8}, epilogue: same, when: wide and deep}
  - {variant: conv2d/auto, input: x8, filter: f8, bias: b8, with: {c: c8}, epilogue: same, when: wide and not deep}
  - {variant: conv2d/auto, filter: f8, bias: b8, output: y8, with: {k: k8}, epilogue: same, when: deep and not wide}
  - kernel: cut_channels
    grid: ceil(n * p * q * k, 256)
    block: 256
    args: y8, output, n * p * q * k, k, k8
    when: deep
*/

/* What changed from cudnn_padded: our kernel convolves. TMA needs 16 bytes of a pixel, so wgmma_pixels and the like cannot read 354 channels either, but they can
 * read 360. From some millions of products a pixel on, that gains more than two passes over the tensors cost. mma_any pads on the way into shared memory instead,
 * which needs no pass and is better for small layers. */
