/* bench 1
op: pool_global
what: a control, not the op - reads every input element once and writes as many bytes as the output has, in order
like: add/copy
let:
  other: input
  others: 0
  outputs: n * c
*/

/* Row 0 of pool_global: its compulsory traffic. */
