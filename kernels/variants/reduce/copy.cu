/* bench 1
op: reduce
what: a control, not the op - reads every element once and writes as many bytes as the output has, in order
like: softmax/copy
let:
  outputs: rows
  v: select(inputs * size(input) % 16 == 0, 16 / size(input), 1)   # what the results are beyond whole vectors is left out
*/
