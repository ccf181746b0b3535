/* bench 1
op: pool_average
what: a control, not the op - reads every input element once and writes as many bytes as the output has, in order
like: add/copy
let:
  other: 0
  others: 0
  outputs: n * k * p * q
*/

/* Row 0 of pool_average: its compulsory traffic. */
