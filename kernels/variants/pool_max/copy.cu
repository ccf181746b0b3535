/* bench 1
op: pool_max
what: a control, not the op - reads every input element once and writes as many bytes as the output has, in order
like: pool_average/copy
*/

/* Row 0 of pool_max: its compulsory traffic. */
