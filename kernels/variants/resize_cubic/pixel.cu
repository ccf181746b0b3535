/* bench 1
op: resize_cubic
what: a thread keeps its column for many rows - lanes take vectors of the channels of a pixel (NHWC), or a thread takes eight planes (NCHW)
like: resize_linear/pixel
from: element
define:
  TAPS: 4
  CUBIC: a
*/

/* As of resize_linear, with sixteen pixels. */
