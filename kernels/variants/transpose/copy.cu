/* bench 1
op: transpose
what: a control, not the op - reads every element once and writes as many bytes as the output has, in order
like: softmax/copy
*/
