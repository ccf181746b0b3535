/* bench 1
op: pool_max
what: the largest of each window, one thread per output element; any layout
like: pool_average/element
define:
  DIVISOR: 0
  MEAN: 0
*/

/* The definition. */
