/* bench 1
op: truncate
what: a control, not the op - reads every input element once and writes as many bytes as the output has, in order
like: add/copy
let:
  other: stored
*/

/* Row 0 of truncate: its compulsory traffic. */
