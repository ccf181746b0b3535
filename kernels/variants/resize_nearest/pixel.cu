/* bench 1
op: resize_nearest
what: a thread keeps its column for many rows - lanes take vectors of the channels of a pixel (NHWC), or a thread takes eight planes (NCHW)
like: resize_linear/pixel
from: element
define:
  TAPS: 1
  UPWARD: upward
  SHIFT: shift
*/

/* As of resize_linear, with one pixel. */
