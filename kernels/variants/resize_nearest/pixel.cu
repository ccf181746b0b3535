/* bench 1
op: resize_nearest
what: positions and weights once a pixel - lanes take vectors of its channels (NHWC), or a thread takes eight planes (NCHW)
like: resize_linear/pixel
from: element
define:
  TAPS: 1
  UPWARD: upward
  SHIFT: shift
*/

/* As of resize_linear, with one pixel. */
