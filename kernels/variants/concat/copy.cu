/* bench 1
op: concat
what: a control, not the op - reads every input element once and writes as many bytes as the output has, in order
like: add/copy
let:
  others: n * (k - c) * h * w
  outputs: n * k * h * w
*/

/* Row 0 of concat: its compulsory traffic. */
