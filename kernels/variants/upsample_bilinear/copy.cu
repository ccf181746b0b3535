/* bench 1
op: upsample_bilinear
what: a control, not the op - reads every input element once and writes as many bytes as the output has, in order
like: upsample/copy
*/

/* Row 0, as of upsample: the factor is the same. */
