/* bench 1
op: gemm
what: a matrix product as a 1x1 convolution - transposes b, then runs the tensor-core kernel that conv2d uses for that shape
needs: dtype != f32
dtype: {a: [f16, bf16], b: same, c: same}
scratch:
  turned: b[k * n]
steps:
  - {variant: transpose/tiled, input: b, output: turned, with: {rows: k, cols: n}}
  - {variant: conv2d/wgmma_pixels, input: a, filter: turned, output: c, with: {n: 1, c: k, h: 1, w: m, k: n, kernel: 1, stride: 1, pad: 0, dilation: 1, groups: 1, layout: NHWC}}
*/

/* What changed from tiled: everything. Rows of a are pixels, its columns channels; the columns of b are the filters of a convolution with one tap, each of
 * them contiguous, so b is transposed first, in a step of its own that is part of the time. */
