/* bench 1
what: active pixels on tensor cores - 64 of them a product, gathered tap by tap; only marked inputs are read
like: sparse_tile
needs:
  - stride <= 4 and (s - 1) * dilation < 32 and groups == 1 and c % 16 == 0 and r * s * c <= 576 and r <= 9 and s <= 9 and k % 2 == 0
  - r * s <= 16 and n * c * h * w < 34359738368 and c * h * w < 2147483648 and k * p * q < 2147483648
params:
  STAGES: null
let:
  taps: 20 * floor(c, 8) * 1040 + 16384                                     # bytes, of taps of 64 pixels and what is being stored
  weights_at: select(taps + weights + 28672 <= smem_per_block_optin, taps, 0)     # behind them, or there before
  smem: max(taps, weights_at + weights)
  whole: null
where:
  - cc == 90
  - blocks_k <= sm_count                           # all blocks run at once
  - smem + 28672 <= smem_per_block_optin
define:
  WHOLE: 0
  PIXELS: 1
specialise: [c, r, s, stride, dilation]
*/

/* What changed from sparse_tile: with scattered marks most tiles are active, but few of their pixels. Here the columns of a product are 64 active pixels from
 * anywhere. The taps of a pixel share nothing, so each is loaded by itself: 8 KiB of shared memory a tap and 64 pixels. An unmarked input is a zero that is
 * not read, and an isolated marked one is read nine times, eight of them from L2. */
