/* bench 1
op: densify
what: stored + input, one thread per vector of elements; any layout, every pixel
like: add/element
let:
  other: stored
*/

/* The definition, dense: every change is added, also those that are 0. */
