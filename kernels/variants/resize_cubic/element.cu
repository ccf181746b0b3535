/* bench 1
op: resize_cubic
what: one thread per output element; any layout, any size
like: resize_linear/element
define:
  TAPS: 4
  CUBIC: a
*/

/* As of resize_linear, with sixteen pixels. */
