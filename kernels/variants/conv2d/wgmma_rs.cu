/* bench 1
what: wgmma_rows with the weights stationary in registers - shared memory serves pixels only
like: wgmma_rows
claims: c >= 24 and (k <= 4 * c or c > 32 and k <= 8 * c) and (r * s > 1 or k <= 64)
params:
  RING: {values: [7, 8, 10], default: 8}              # image rows in shared memory
let:
  split: select(k > 64, 2, 1)                          # 2: the consumers hold different output channels, 1: they take rows in turn
  areas: 1 + has(residual)                             # the next row's residual is on its way while a row is multiplied
  rest: RING * row_bytes + 2 * areas * strip * 128     # image rows, then results of two consumers; weights pass through the end of it
  smem: 1024 + max(rest, r * row_bytes + split * r * s * 8192) + 16 * RING + 32 + 16 * areas
  blocks_k: ceil(k, 64 * split)
where:
  - cc == 90
  - RING > 2 * r
  - smem <= smem_per_block_optin
define:
  WEIGHTS_SHARED: 0
  SPLIT: split
  RESIDUAL_AHEAD: 1
*/

/* What changed from wgmma_rows: wgmma takes its left operand from registers too, and all 64 x 576 weights of a 3x3 filter fit there: 144 registers a thread,
 * loaded once. With 64 for the sums and the addresses a consumer needs about 235; the producer's warpgroup gives its own away (setmaxnreg).
 *
 * Shared memory now reads 32 of 64 cycles, at any width of the strip, which leaves room for the ring's traffic; and 72 KiB of it are free, so that up to 128
 * output channels are one block: the two consumers hold different halves of the filter and read the same rows.
 *
 * With operands resident a pair of products takes the ideal 128 cycles on an H200. What remains is feeding it: 2304 cycles an output row against 16.6 KB of input and
 * 16.4 KB of output. What gained on the way, by weight: results through the copy engine (stored by the threads a row's epilogue took longer than the other consumer's
 * products), no division in the loop over rows, relu on pairs, weights through the copy engine. Without stores, and without loads too, it is hardly faster: the products
 * are what it takes, at the clock that the power limit leaves.
 *
 * A residual is asked for a row ahead, into the staging area that the row before has left: asked for with its row's products it came after them. At 720 x 1280 it costs 10.2 %
 * over the bare convolution, 2.3 % when the same copies come from L2, and 3.2 % under sustained load: what is left is the clock, which falls with what DRAM moves
 * (reports/gallery/residual-h200.txt). */
