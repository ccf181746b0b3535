/* bench 1
what: the library on 8-bit whole numbers - sums in 32 bits, results in f32, bias and activation in its graph
like: cudnn
dtype: {input: i8, filter: i8, output: f32, accumulate: i32}
math: [i8_acc32]
*/

/* cuDNN's tensor-core engines for 8 bits store 8 bits again, scaled and saturated; a layer here keeps its exact sums, as f32. For that cuDNN 9 offers two
 * engines, both without tensor cores: this row shows how slow they are, not how fast 8 bits can be. */
