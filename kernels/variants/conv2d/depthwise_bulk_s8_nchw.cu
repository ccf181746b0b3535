/* bench 1
what: depthwise_bulk_nchw on 8-bit whole numbers - exact sums, results of 4 bytes
like: depthwise_bulk_nchw
dtype: {input: i8, filter: i8, output: f32, accumulate: i32}
math: [i8_acc32]
*/

/* A product of 32 columns of 8 bits is all that eight outputs of 7x7 look at. The results are four fifths of all that moves. */
