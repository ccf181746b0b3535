/* bench 1
op: pool_max
what: the largest of each window, one thread an output element; any layout
like: pool_average/element
define:
  MEAN: 0
*/

/* The definition. */
