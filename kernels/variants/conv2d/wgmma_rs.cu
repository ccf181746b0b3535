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

/* What changed from wgmma_rows: wgmma can also take its left operand from registers, and all 64 x 576 weights of a 3x3 filter fit there: 144 registers per thread, loaded
 * once. With 64 for the sums and the addresses a consumer needs about 235; the producer's warpgroup releases its own (setmaxnreg).
 *
 * Shared memory is now read in 32 of 64 cycles, at any width of the strip, which leaves time for the ring's traffic; and 72 KiB of it are free, so that up to 128 output
 * channels are one block: the two consumers hold different halves of the filter and read the same rows.
 *
 * With all operands in place a pair of products takes the ideal 128 cycles on an H200. The rest is loading: 2304 cycles per output row against 16.6 KB of input and 16.4 KB
 * of output. The optimisations, by effect: results by TMA (stored by the threads, a row's epilogue took longer than the other consumer's products), no division in the loop
 * over rows, relu on pairs, weights by TMA. Without stores, and even without loads, it is hardly faster: the products take the time, at the clock that the power limit
 * permits.
 *
 * A residual is loaded one row ahead, into the staging area of the row before: loaded with its row's products it arrived after them. At 720 x 1280 it costs 10.2 % over the
 * bare convolution, 2.3 % when the same copies come from L2, and 3.2 % under sustained load: the rest is the clock, which falls with the DRAM traffic
 * (reports/gallery/residual-h200.txt). */
