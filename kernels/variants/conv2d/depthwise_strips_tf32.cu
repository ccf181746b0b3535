/* bench 1
what: depthwise_strips on f32, multiplied in TF32
like: depthwise_strips
from: depthwise_bulk_f32
dtype: {input: f32, filter: f32, output: f32}
math: [tf32]
needs: groups == c and k == c and c % 4 == 0 and c * h * w < 2147483648 and k * p * q < 2147483648 and live <= 16
params:
  CHANNELS: {values: [16, 32], default: 16}                    # of a block; a warp has two
*/

/* A word is one pixel of one channel, so a product is eight pixels deep: 7x7 takes two for a row of the filter. What is loaded is rounded once for all rows. */
