/* bench 1
op: resize_cubic
what: positions and weights once a pixel - lanes take vectors of its channels (NHWC), or a thread takes eight planes (NCHW)
like: resize_linear/pixel
from: element
define:
  TAPS: 4
  CUBIC: a
*/

/* As of resize_linear, with sixteen pixels. */
