/* bench 1
op: channels
what: a control, not the op - reads and writes as many bytes as the output has, in order
like: add/copy
let:
  other: input
  inputs: n * k * h * w
  others: 0
  outputs: n * k * h * w
*/

/* Row 0 of channels: its compulsory traffic. */
