/* bench 1
op: mul
what: a control, not the op - reads every input element once and writes as many bytes as the output has, in order
like: add/copy
*/

/* Row 0 of mul: its compulsory traffic. */
