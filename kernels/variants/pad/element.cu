/* bench 1
op: pad
what: one thread per output element; any layout, any size
like: resize_linear/element
let:
  far: 1
define:
  RESIZE: null
  TAPS: 1
  FILL: select(fill == 'constant', 0, select(fill == 'reflect', 1, select(fill == 'edge', 2, 3)))
steps:
  - kernel: gather_elements
    grid: ceil(elements, 256)
    block: 256
    args: input, output, elements, c, h, w, p, q, 0, pad_top, 1, 0, pad_left, 1, value
*/

/* As of resize_linear: the place of a pixel is shifted, mirrored or cut. */
