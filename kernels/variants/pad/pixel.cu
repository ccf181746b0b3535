/* bench 1
op: pad
what: a thread keeps its column for many rows - lanes take vectors of the channels of a pixel (NHWC), or a thread takes eight planes (NCHW)
like: resize_linear/pixel
from: element
let:
  far: 1
define:
  RESIZE: null
  TAPS: 1
  FILL: select(fill == 'constant', 0, select(fill == 'reflect', 1, select(fill == 'edge', 2, 3)))
steps:
  - kernel: gather_pixels
    grid: across, min(65535, ceil(rows, 8))
    block: 256
    args: input, output, rows, c, h, w, p, q, 0, pad_top, 1, 0, pad_left, 1, value
*/

/* As of resize_linear: the place of a pixel is shifted, mirrored or cut. */
