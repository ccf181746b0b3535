/* bench 1
op: resize_nearest
what: one thread per output element; any layout, any size
like: resize_linear/element
define:
  TAPS: 1
  UPWARD: upward
  SHIFT: shift
*/

/* As of resize_linear, with one pixel. */
