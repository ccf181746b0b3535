/* bench 1
what: depthwise_bulk_nchw on f32, multiplied in TF32
like: depthwise_bulk_nchw
dtype: {input: f32, filter: f32, output: f32}
math: [tf32]
*/

/* A lane's word is one column, so a product is 8 columns deep, and 7x7 takes two of them for a row of the filter. Loaded values are rounded
 * to TF32 once for all rows. */
