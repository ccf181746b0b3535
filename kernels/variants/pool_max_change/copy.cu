/* bench 1
op: pool_max_change
what: a control, not the op - reads every input element once and writes as many bytes as the output has, in order
like: pool_average/copy
let:
  other: stored
  others: n * c * h * w
*/

/* Row 0 of pool_max_change: its compulsory traffic. */
