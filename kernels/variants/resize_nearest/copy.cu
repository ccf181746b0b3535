/* bench 1
op: resize_nearest
what: a control, not the op - reads every input element once and writes as many bytes as the output has, in order
like: pool_average/copy
*/

/* Row 0 of resize_nearest: its compulsory traffic. */
