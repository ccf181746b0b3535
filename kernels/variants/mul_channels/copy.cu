/* bench 1
op: mul_channels
what: a control, not the op - reads every input element once and writes as many bytes as the output has, in order
like: add/copy
let:
  others: n * c
*/

/* Row 0 of mul_channels: its compulsory traffic. */
