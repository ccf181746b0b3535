/* bench 1
op: conv2d
what: wgmma with the operands exchanged - pixels are the rows of the product and all output channels its columns, so that 48, 80, 96 or 160 channels waste nothing
from: wgmma_blocks
needs:
  - stride == 1 and groups == 1 and r <= 7 and s <= 7
  - c * size(input) % 16 == 0 and k * size(output) % 16 == 0     # TMA's granularity: 16 bytes of a pixel
  - c * h * w < 2147483648 and k * p * q < 2147483648
layout: {input: NHWC, filter: KRSC, output: NHWC, residual: NHWC}
dtype: {input: [f16, bf16, f32, i8], filter: same, output: [same, f32], bias: f32, accumulate: [f32, i32]}
math: [f16_acc32, bf16_acc32, tf32, i8_acc32]
slices: {input: 1, residual: size(output) == 2, output: size(output) == 2}     # what tensor maps bring and take away
algorithm: implicit_gemm
epilogue: [bias, residual, relu, leaky_relu, prelu]
claims:
  - math != f32
  - c < 112 or n * p * q >= 4096 and 3 * cover <= 4 * p * q
  - k <= 3 * c and (r * s > 1 or c <= 64 and math != tf32 or k > 64)
params:
  KB: {values: [auto, 32, 48, 64, 96, 128, 192, 256], default: auto}   # output channels a block, at most
  BLOCKS: {values: [auto, 1, 2, 4], default: auto}                 # of 64 pixels, a consumer
  SHARE: {values: [auto, 0, 1], default: auto}                     # 1: both consumers have the same tile, half of its pixels each; 0: they take tiles in turn
  SQUARE: {values: [auto, 0, 1], default: auto}                    # a block of pixels is 8 x 8, or 64 of a row
  AHEAD: {values: [auto, 3, 4, 6, 8], default: auto}               # taps of weights in shared memory, if not all fit; auto: 4, or what fits
let:
  cover: min(64 * ceil(q, 64) * p, 128 * ceil(q, 16) * ceil(p, 8), 64 * ceil(q, 8) * ceil(p, 8))      # pixels of an image with what its tiles have too much
  edge: select(group == 1, 8, 16)                                  # of a tile of squares
  groups_all: ceil(k, widest) * n * min(ceil(q, 64) * ceil(p, group), ceil(q, edge) * ceil(p, 64 * group / edge))
  columns: 16 * ceil(ceil(k, ceil(k, widest)), 16)                 # channels of a product
  steps: r * s * ceil(c * size(input), 32)
  blocks_k: ceil(k, select(KB != 'auto', KB, widest))
  kb: 16 * ceil(ceil(k, blocks_k), 16)
  blocks: select(BLOCKS != 'auto', BLOCKS, min(each, select(kb <= 96, 4, select(kb <= 192, 2, 1))))
  share: select(SHARE != 'auto', SHARE, both)
  lines: n * ceil(q, 64) * ceil(p, tile_blocks) * blocks_k         # tiles, if a block of pixels is 64 of a row
  squares: n * ceil(q, select(tile_blocks == 1, 8, 16)) * ceil(p, select(tile_blocks == 1, 8, 4 * tile_blocks)) * blocks_k
  square: select(SQUARE != 'auto', SQUARE, ceil(squares, sm_count) <= ceil(lines, sm_count))   # a smaller border, if that costs no wave
  tile_blocks: blocks * (1 + share)
  tile_w: select(square, select(tile_blocks == 1, 8, 16), 64)
  tile_h: tile_blocks * 64 / tile_w
  tile_row: tile_w + (s - 1) * dilation_x
  slice: (tile_h + (r - 1) * dilation_y) * ceil(tile_row, 8) * 1024  # 128 bytes of channels of a tile with its border
  channels: 128 / size(input)                                      # that these are
  taps: ceil(c, channels) * r * s
  fixed: 1024 + select(size(output) == 2, 32768, 0) + 512 + 4 * blocks_k * kb   # staging, barriers, biases
  resident: blocks_k == 1 and taps <= 64 and taps * kb * 128 + 2 * slice + fixed <= smem_per_block_optin
  ahead: select(resident, taps, select(AHEAD == 'auto', max(2, min(4, floor(smem_per_block_optin - fixed - 2 * slice, kb * 128 + 16))), AHEAD))
  slices: max(2, min(6, floor(smem_per_block_optin - fixed - ahead * (kb * 128 + 16), slice)))
  smem: fixed + slices * slice + ahead * kb * 128 + 16 * ahead
  tiles_x: ceil(q, tile_w)
  tiles_y: ceil(p, tile_h)
  tiles: n * tiles_y * tiles_x * blocks_k
  box: select(size(output) == 4, 16, select(blocks_k == 1 or kb % 64 == 0, 64, select(kb % 32 == 0, 32, 16)))   # channels that are stored together
candidates:
  # Five ways to cut the work. Which: the one whose waves of tiles take the least, in 64ths of a cycle. 32 bytes of a tap's channels by 64 pixels by kb channels are kb / 2
  # cycles of products; shared memory gives 16 + kb / 4 cycles of operands and takes in the tap, kb / 4 for all pixels of the tile, at four fifths of its rate.
  way:
    rows:     # channels a block; times 64 pixels of a tile, and of a consumer; one tile for both; what is left of a tile's end beside products
      own:    {widest: 96,  group: 4, each: 4, both: 0, end: 32000}     # consumers in turn, 256 pixels each
      broad:  {widest: 192, group: 2, each: 2, both: 0, end: 32000}     # in turn, 128 pixels, more channels
      flat:   {widest: 128, group: 2, each: 1, both: 1, end: 128000}    # together, 128 pixels: nobody hides a store
      little: {widest: 48,  group: 2, each: 1, both: 1, end: 128000}    # together, fewer channels
      tiny:   {widest: 64,  group: 1, each: 1, both: 0, end: 128000}    # one alone
    least: ceil(groups_all, sm_count) * (steps * max(32 * group * columns, 1280 * group + 20 * (group + 1) * columns) + end)
where:
  - cc == 90
  - blocks * kb <= 384                                             # half as many registers hold the sums of a thread
  - smem <= smem_per_block_optin
define:
  PAD_MORE: pad_left - pad_top                     # of columns, beside that of rows
  TYPE: type(input)
  FOLLOWS: follows                                 # begins before the layer before it ends
  OUTPUT_BYTES: size(output)
  BLOCK_K: kb
  PIXEL_BLOCKS: blocks
  SHARED_TILE: share
  SQUARE_BLOCKS: square
  TILE_W: tile_w
  TILE_H: tile_h
  SLICES: slices
  TAP_SLOTS: ahead
  RESIDENT: resident
  STORE_BOX: box
  EPI_BIAS: has(bias)
  EPI_RESIDUAL: has(residual)
  EPI_SLOPE: slope(epilogue)
  EPI_SCALE: scale(epilogue)
  EPI_PRELU: select(has(prelu), k, 0)
specialise: [r, s, dilation_y, dilation_x]
tensor_maps:
  input_map: {of: input, box: "channels, tile_row, 1, 1", swizzle: 128, l2: 256}
  filter_map: {of: filter, dims: "c, r * s, 1, k", box: "channels, 1, 1, kb", swizzle: 128, l2: 256}
  output_map: {of: output, box: "box, select(square, 8, 64), select(square, 8, 1), 1", swizzle: box * size(output)}
  residual_map: {of: residual, box: "box, select(square, 8, 64), select(square, 8, 1), 1", swizzle: box * size(output), l2: 256}
prepare:
  - symbol: epi_slopes = slopes
    when: has(prelu)
steps:
  - kernel: conv_wgmma_pixels
    grid: min(tiles, sm_count)
    block: 384
    smem: smem
    attributes: {pdl: follows}
    args: input_map, filter_map, output_map, residual_map, filter, bias, residual, output, c, k, p, q, pad_top, tiles_x, tiles_y, blocks_k, tiles
*/

/* What changed from wgmma_blocks: the operands change sides. wgmma's left operand always has 64 rows, its right one 8 to 256 columns in steps of 8. With channels as rows, 96 of them are two times 64, and a
 * quarter of the products is wasted; as columns they are 96. Any number of pixels is possible, so they are the rows.
 *
 *  - The 64 pixels may be 64 of an image row, or 8 x 8 (SQUARE), because the distance between two groups of 8 rows of an operand is a field of its descriptor. 48 x 48 pixels are 36 squares, without a
 *    remainder.
 *  - The cost is shared memory: reading 64 pixels takes 16 cycles and N channels N / 4, for N / 2 cycles of products. At 96 channels that is 40 of 48, at 48 channels more than there is: there wgmma_rs is
 *    better.
 *  - While a consumer stores results it computes no products, so another one must. Up to 96 channels each consumer has a tile of its own (SHARE 0) and they take turns; above, two tiles would need more bytes
 *    from L2 than it delivers, so both share one.
 *  - Weights stay in shared memory if they fit (`resident`); otherwise they are streamed, one tap at a time, from L2, into which all blocks together load them at the start.
 *  - A pixel's row in shared memory is 128 bytes and one product 32 bytes deep for every type: 64 channels of 16 bits, 32 of
 *    tf32, 128 of 8 bits. The loop is the same; the type decides the type of the sums (exact in 32 bits for whole numbers)
 *    and, if they have 4 bytes, how they are stored (dense/direct_pixels.cuh). tf32 is read as f32 and truncated, not rounded.
 *  - The taps of a dilated filter are further apart in the tile, which grows accordingly; nothing else changes.
 *
 * Its bottleneck is shared memory. Counted for own tiles of 96 channels, in cycles: 40 for operands, 6 for weights and 4 for pixels that arrive, 2 for results, for 48 of products. The measured time is longer
 * than that sum, also with 80, 128 and 192 channels, so the head's cost model multiplies it by 5 / 4.
 *
 * Measured on an H200, cold, against the library in the same run (older code, reports/gallery/auto_grid-h200.md; above 1 it is faster), at 270 x 480:
 *     80->80      36.4 us, 1.63 x     96->96       39.87 us, 1.15 x    128->128    60.0 us, 1.03 x    160->160          91.1 us, 1.30 x
 *   192->192     119.3 us, 1.10 x    128->32       32.3 us, 1.42 x     64->64 1x1  14.9 us, 1.21 x    128->128 tf32    108.8 us, 1.08 x
 * and 256->256 at 48 x 48 15.90 us, 0.930 x. At 48 x 48 108 blocks and fewer read all weights, and shared memory limits each of them; what is left to try is a cluster that shares the sums of half the channels
 * each. */
#ifdef RAGGED
#include "dense/ragged_pixels.cuh"
using stored_pixels = ragged_pixels;
constexpr int STAGED = 0, LOADERS = 224, PRODUCERS = 256; /* threads that bring pixels, and those before the consumers */
#elif OUTPUT_BYTES == 2
#include "dense/staged_pixels.cuh"
using stored_pixels = staged_pixels;
constexpr int STAGED = 2 * STAGED_BYTES, PRODUCERS = 128; /* of two consumers; threads before them */
#else
#include "dense/direct_pixels.cuh"
using stored_pixels = direct_pixels;
constexpr int STAGED = 0, PRODUCERS = 128;
#endif

constexpr int TILE_BLOCKS = PIXEL_BLOCKS * (1 + SHARED_TILE), TAPS = R * S;
constexpr int CHANNELS = 128 / sizeof(TYPE); /* of a pixel in a slice */
constexpr int TILE_ROW = TILE_W + (S - 1) * DILATION_X, PITCH = (TILE_ROW + 7) / 8 * 8; /* pixels from one row of a slice to the next: whole blocks of the swizzle */
constexpr int SLICE_ROWS = TILE_H + (R - 1) * DILATION_Y, SLICE_BYTES = SLICE_ROWS * PITCH * 128, BOX_BYTES = TILE_ROW * 128;
constexpr int TAP_BYTES = BLOCK_K * 128;

/* What the products are added up in: 8 bits exactly. */
template <typename T> struct sum_of { using type = float; };
template <> struct sum_of<signed char> { using type = int; };
using sum_type = typename sum_of<TYPE>::type;

extern __shared__ unsigned char shared_raw[];

/* Addresses in shared memory. Slices (CHANNELS channels of a tile and its border) and taps (their weights) are counted over the whole life of the block; each has a
 * barrier "full" and a barrier "empty". */
struct buffers {
    unsigned slices, taps, slice_full, slice_empty, tap_full, tap_empty, turn;
    __device__ __forceinline__ unsigned slice(int i) const { return slices + i % SLICES * SLICE_BYTES; }
    __device__ __forceinline__ unsigned tap(int i) const { return taps + i % TAP_SLOTS * TAP_BYTES; }
};

struct tile {
    int k0, q0, p0, n;
    __device__ __forceinline__ tile(int t, int tiles_x, int tiles_y, int blocks_k)
    {
        k0 = t % blocks_k * BLOCK_K;
        t /= blocks_k;
        q0 = t % tiles_x * TILE_W;
        t /= tiles_x;
        p0 = t % tiles_y * TILE_H;
        n = t / tiles_y;
    }
};

/* The work of a block. */
struct share {
    int C, K, pad, tiles_x, tiles_y, blocks_k, tiles;
    __device__ __forceinline__ tile at(int t) const { return tile(t, tiles_x, tiles_y, blocks_k); }
};

/* In a network weights are brought and places are made while the layer before still runs; what it writes is read behind this. */
static __device__ __forceinline__ void wait_for_layer_before()
{
    if (FOLLOWS)
        asm volatile("griddepcontrol.wait;" ::: "memory");
}

/* Slices and taps have a producer each: neither waits for the other's place. */
#ifdef RAGGED
/* BYTES of channels from c on of a tile and its border, to where TMA would put them. What is no channel or no pixel is zero. Of narrow tiles several rows at once. */
template <int BYTES> static __device__ __forceinline__ void copy_slice(unsigned to, const TYPE *image, int c, int y0, int x0, int H, int W)
{
    constexpr int WORD = GRAIN == 8 ? 8 : 4, UNITS = BYTES / WORD, ABREAST = LOADERS / UNITS; /* pixels at once */
    constexpr int DOWN = ABREAST >= TILE_ROW ? ABREAST / TILE_ROW : 1, TURNS = (TILE_ROW + ABREAST - 1) / ABREAST; /* rows at once, or turns of a row */
    int unit = threadIdx.x % UNITS, first = threadIdx.x / UNITS, e = c + unit * (WORD / (int)sizeof(TYPE)), row = 0;
    if (DOWN > 1)
        row = first / TILE_ROW, first %= TILE_ROW;
    if (DOWN > 1 ? row >= DOWN : first >= ABREAST)
        return;
    unsigned inside = 0;
#pragma unroll
    for (int i = 0; i < TURNS; i++)
        inside |= (unsigned)(e < RAGGED && x0 + first + i * ABREAST >= 0 && x0 + first + i * ABREAST < W) << i;
    y0 += row;
    int from = (y0 * W + x0 + first) * INPUT_PITCH + e;
    to += row * (PITCH * 128) + first * 128;
#pragma unroll 1
    for (int y = row; y < SLICE_ROWS; y += DOWN, y0 += DOWN, from += DOWN * W * INPUT_PITCH, to += DOWN * PITCH * 128) {
        unsigned own = (unsigned)y0 < (unsigned)H ? inside : 0;
#pragma unroll(GRAIN == 2 ? 1 : TURNS) /* a loader has 32 registers */
        for (int i = 0; i < TURNS; i++) {
            if (first + i * ABREAST >= TILE_ROW)
                break;
            bool there = own >> i & 1;
            const TYPE *at = image + (there ? from + i * (ABREAST * INPUT_PITCH) : 0);
            unsigned place = to + i * (ABREAST * 128) + (unit * WORD ^ (first + i * ABREAST & 7) << 4);
            if constexpr (GRAIN == 8)
                copy_async_8(place, at, there);
            else if constexpr (GRAIN == 4)
                copy_async_4(place, at, there);
            else { /* 2 bytes each: an odd number of channels */
                pack<unsigned short, 2> two;
                two.word = 0;
                if (there)
                    two.item[0] = *reinterpret_cast<const unsigned short *>(at);
                if (there && e + 1 < RAGGED)
                    two.item[1] = *reinterpret_cast<const unsigned short *>(at + 1);
                store_shared(place, two.word);
            }
        }
    }
}

/* LOADERS threads, none of which waits for its copies: the barrier counts them when they are there, and the consumers make them visible to wgmma. */
static __device__ __forceinline__ void produce_slices(const buffers &b, const share &own, const TYPE *input, int H, int W)
{
    constexpr int SIZE = sizeof(TYPE), WORD = GRAIN == 8 ? 8 : 4, WHOLE = RAGGED / CHANNELS, REST = RAGGED % CHANNELS * SIZE;
    constexpr int FILLED = REST ? (REST + 31) / 32 * 32 : 32, OWN = (REST + WORD - 1) / WORD * WORD;
    constexpr bool ALONE = WHOLE == 0 && OWN < FILLED; /* a slice is a tile: nobody overwrites the zeros behind its channels */
    int slice = 0;
    wait_for_layer_before();
    for (int t = blockIdx.x; t < own.tiles; t += gridDim.x) {
        tile at = own.at(t);
        const TYPE *image = input + (size_t)at.n * H * W * INPUT_PITCH;
#pragma unroll 1
        for (int c = 0; c < RAGGED; c += CHANNELS, slice++) {
            unsigned full = b.slice_full + slice % SLICES * 8;
            barrier_wait(b.slice_empty + slice % SLICES * 8, (slice / SLICES & 1) ^ 1);
            if (c < WHOLE * CHANNELS)
                copy_slice<128>(b.slice(slice), image, c, at.p0 - own.pad, at.q0 - own.pad - PAD_MORE, H, W);
            else if (ALONE && slice >= SLICES)
                copy_slice<ALONE ? OWN : FILLED>(b.slice(slice), image, c, at.p0 - own.pad, at.q0 - own.pad - PAD_MORE, H, W);
            else
                copy_slice<FILLED>(b.slice(slice), image, c, at.p0 - own.pad, at.q0 - own.pad - PAD_MORE, H, W);
            if (GRAIN == 2)
                barrier_arrive(full);
            else
                copy_async_arrive(full);
        }
    }
    copy_async_wait<0>();
}
#else
static __device__ __forceinline__ void produce_slices(const buffers &b, const share &own, const tensor_map *input_map)
{
    int slice = 0;
    wait_for_layer_before();
    for (int t = blockIdx.x; t < own.tiles; t += gridDim.x) {
        tile at = own.at(t);
        for (int c = 0; c < own.C; c += CHANNELS, slice++) {
            unsigned full = b.slice_full + slice % SLICES * 8;
            barrier_wait(b.slice_empty + slice % SLICES * 8, (slice / SLICES & 1) ^ 1);
            barrier_arrive_expect(full, SLICE_ROWS * BOX_BYTES);
#pragma unroll 1 /* a producer has 24 registers */
            for (int y = 0; y < SLICE_ROWS; y++)
                copy_box_4d(b.slice(slice) + y * (PITCH * 128), input_map, full, c, at.q0 - own.pad - PAD_MORE, at.p0 - own.pad + y, at.n);
        }
    }
}
#endif

static __device__ __forceinline__ void produce_taps(const buffers &b, const share &own, const tensor_map *filter_map)
{
    int tap = 0;
    for (int t = blockIdx.x; t < own.tiles; t += gridDim.x) {
        for (int c = 0; c < own.C; c += CHANNELS)
#pragma unroll 1
            for (int i = 0; i < TAPS; i++, tap++) {
                unsigned full = b.tap_full + tap % TAP_SLOTS * 8;
                barrier_wait(b.tap_empty + tap % TAP_SLOTS * 8, (tap / TAP_SLOTS & 1) ^ 1);
                barrier_arrive_expect(full, TAP_BYTES);
                copy_box_4d(b.tap(tap), filter_map, full, c, i, 0, own.at(t).k0);
            }
        if (RESIDENT)
            break;
    }
}

static __device__ __forceinline__ void release(unsigned barrier)
{
    if (threadIdx.x % 32 == 0)
        barrier_arrive(barrier);
}

/* 32 * DEPTH bytes of channels of one tap. */
template <int DEPTH>
static __device__ __forceinline__ void multiply_tap(sum_type sum[PIXEL_BLOCKS][BLOCK_K / 2], unsigned long long pixels, unsigned long long weights, bool add)
{
    wgmma_begin();
#pragma unroll
    for (int d = 0; d < DEPTH; d++)
#pragma unroll
        for (int i = 0; i < PIXEL_BLOCKS; i++) { /* descriptors count in 16 bytes: a pixel is 8, a product's depth 2 */
            int offset = SQUARE_BLOCKS ? (i / ACROSS * PITCH + i % ACROSS) * 64 : i * PITCH * 8;
            wgmma_shared<TYPE, BLOCK_K>(sum[i], pixels + offset + d * 2, weights + d * 2, add || d > 0);
        }
    wgmma_commit();
}

/* slice, tap: the first of the tile; first: the consumer's first block of pixels, in bytes from the tile's. */
static __device__ __forceinline__ void multiply_tile(sum_type sum[PIXEL_BLOCKS][BLOCK_K / 2], const buffers &b, int slice, int tap, int C, unsigned first)
{
    for (int c = 0; c < C; c += CHANNELS, slice++) {
        barrier_wait(b.slice_full + slice % SLICES * 8, slice / SLICES & 1);
#ifdef RAGGED
        fence_async(); /* the copies were ordinary ones */
#endif
        unsigned row = b.slice(slice) + first;
#pragma unroll 1
        for (int i = 0; i < TAPS; i++, tap++) {
            barrier_wait(b.tap_full + tap % TAP_SLOTS * 8, tap / TAP_SLOTS & 1);
            unsigned long long pixels = matrix_rows_128(row + (DILATION_Y == DILATION_X ? (i / S * PITCH + i % S) * DILATION_X : i / S * PITCH * DILATION_Y + i % S * DILATION_X) * 128, SQUARE_BLOCKS ? PITCH * 128 : 1024);
            unsigned long long weights = matrix_rows_128(b.tap(tap));
            int left = (C - c) * (int)sizeof(TYPE);
            if (left > 96)
                multiply_tap<4>(sum, pixels, weights, c + i > 0);
            else if (left > 64)
                multiply_tap<3>(sum, pixels, weights, c + i > 0);
            else if (left > 32)
                multiply_tap<2>(sum, pixels, weights, c + i > 0);
            else
                multiply_tap<1>(sum, pixels, weights, c + i > 0);
            wgmma_wait<1>(); /* the tap before is done */
            if (!RESIDENT && c + i > 0)
                release(b.tap_empty + (tap - 1) % TAP_SLOTS * 8);
            if (c > 0 && i == 0)
                release(b.slice_empty + (slice - 1) % SLICES * 8);
        }
    }
}

static __device__ __forceinline__ void consume(const buffers &b, const share &own, stored_pixels stored, const tensor_map *output_map,
                                               const tensor_map *residual_map)
{
    int me = warpgroup_index() - PRODUCERS / 128, slices = (own.C + CHANNELS - 1) / CHANNELS;
    constexpr int first_x = SHARED_TILE ? PIXEL_BLOCKS % ACROSS * 8 : 0, first_y = SHARED_TILE ? PIXEL_BLOCKS / ACROSS * (SQUARE_BLOCKS ? 8 : 1) : 0;
    stored.take(me);
    wait_for_layer_before();
    unsigned phase = 0;
    for (int j = SHARED_TILE ? 0 : me, t = blockIdx.x + j * gridDim.x; t < own.tiles; j += 2 - SHARED_TILE, t += (2 - SHARED_TILE) * gridDim.x) {
        tile at = own.at(t);
        int p0 = at.p0 + me * first_y, q0 = at.q0 + me * first_x;
        stored.begin(residual_map, at.k0, at.n, p0, q0);
        sum_type sum[PIXEL_BLOCKS][BLOCK_K / 2];
        if (!SHARED_TILE)
            barrier_wait(b.turn + me * 8, phase ^ (me == 0));
        multiply_tile(sum, b, j * slices, RESIDENT ? 0 : j * slices * TAPS, own.C, me * (first_y * PITCH + first_x) * 128);
        if (!SHARED_TILE)
            release(b.turn + (me ^ 1) * 8);
        wgmma_wait<0>();
        int last = (j + 1) * slices - 1;
        if (!RESIDENT)
            release(b.tap_empty + (last * TAPS + TAPS - 1) % TAP_SLOTS * 8);
        release(b.slice_empty + last % SLICES * 8);
        stored.store(sum, output_map, residual_map, own.K, at.k0, at.n, p0, q0);
        phase ^= 1;
    }
    stored.finish();
}

/* One thread, before all others. residual: barriers of residuals on their way. */
static __device__ __forceinline__ void init_barriers(const buffers &b, unsigned residual)
{
    for (int i = 0; i < SLICES; i++) {
#ifdef RAGGED
        barrier_init(b.slice_full + i * 8, LOADERS);
#else
        barrier_init(b.slice_full + i * 8, 1);
#endif
        barrier_init(b.slice_empty + i * 8, SHARED_TILE ? 8 : 4); /* a lane of each consuming warp */
    }
    for (int i = 0; i < TAP_SLOTS; i++) {
        barrier_init(b.tap_full + i * 8, 1);
        barrier_init(b.tap_empty + i * 8, SHARED_TILE ? 8 : 4);
    }
    for (int i = 0; i < 2; i++)
        barrier_init(b.turn + i * 8, 4);
    for (int i = 0; i < 4; i++)
        barrier_init(residual + i * 8, 1);
    barrier_init_done();
}

#ifdef RAGGED
extern "C" __global__ void __launch_bounds__(256) pad_weights(const TYPE *filter, TYPE *padded, int K, int c8, int all)
{
    int i = blockIdx.x * 256 + threadIdx.x, c = i % c8, tap = i / c8 % TAPS, row = i / c8 / TAPS, k = row / BLOCK_K * BLOCK_K + channel_of(row % BLOCK_K);
    if (i < all)
        padded[i] = k < K && c < RAGGED ? filter[((size_t)k * TAPS + tap) * RAGGED + c] : (TYPE)0.0f;
}

extern "C" __global__ void __launch_bounds__(512, 1)
conv_wgmma_ragged(const TYPE *input, const __grid_constant__ tensor_map filter_map, const float *bias, const OUTPUT_T *residual_at, OUTPUT_T *output_at, int H, int W, int K, int P,
                  int Q, int pad, int tiles_x, int tiles_y, int blocks_k, int tiles)
{
    constexpr int C = RAGGED;
#else
/* Once, and before the first tile: the weights are asked for in all SMs' name, so that each waits once for memory and not once for every few taps. */
static __device__ __forceinline__ void prefetch_weights(const TYPE *filter, int elements)
{
    constexpr int grain = 16 / sizeof(TYPE);
    int part = (elements / grain + gridDim.x - 1) / gridDim.x * grain, from = blockIdx.x * part;
    if (from < elements)
        prefetch_bytes(filter + from, min(part, elements - from) * (int)sizeof(TYPE));
}

extern "C" __global__ void __launch_bounds__(384, 1)
conv_wgmma_pixels(const __grid_constant__ tensor_map input_map, const __grid_constant__ tensor_map filter_map, const __grid_constant__ tensor_map output_map,
                  const __grid_constant__ tensor_map residual_map, const TYPE *filter, const float *bias, const void *residual_at, void *output_at, int C, int K,
                  int P, int Q, int pad, int tiles_x, int tiles_y, int blocks_k, int tiles)
{
    if (threadIdx.x == 0)
        prefetch_map(&input_map);
    else if (threadIdx.x == 32)
        prefetch_map(&filter_map);
    else if (threadIdx.x == 64)
        prefetch_weights(filter, K * TAPS * C);
    else if (threadIdx.x == 128)
        prefetch_map(&output_map);
#endif
    if (FOLLOWS)
        asm volatile("griddepcontrol.launch_dependents;"); /* the next layer's kernel takes the place of each block that ends */
    unsigned base = (shared_address(shared_raw) + 1023) / 1024 * 1024;
    unsigned staging = base + SLICES * SLICE_BYTES, taps = staging + STAGED, at = taps + TAP_SLOTS * TAP_BYTES;
    buffers b = {base, taps, at, at + SLICES * 8, at + SLICES * 16, at + SLICES * 16 + TAP_SLOTS * 8, at + SLICES * 16 + TAP_SLOTS * 16};
    unsigned residual = b.turn + 16, biases = residual + 32;
    if (EPI_BIAS)
        for (int k = threadIdx.x; k < blocks_k * BLOCK_K; k += 256 + PRODUCERS)
            store_shared(biases + k * 4, k < K ? __float_as_uint(bias[k]) : 0);
    if (threadIdx.x == 0)
        init_barriers(b, residual);
    __syncthreads();
    share own = {C, K, pad, tiles_x, tiles_y, blocks_k, tiles};
#ifdef RAGGED
    if (threadIdx.x < PRODUCERS) {
        give_registers<32>();
        if (threadIdx.x < LOADERS)
            produce_slices(b, own, input, H, W);
        else if (threadIdx.x == LOADERS)
            produce_taps(b, own, &filter_map);
    } else {
        take_registers<224>();
        unsigned char *lines = shared_raw + ((biases + 4 * blocks_k * BLOCK_K + 15) / 16 * 16 - shared_address(shared_raw));
        stored_pixels stored = {output_at, residual_at, P, Q, biases, lines};
        consume(b, own, stored, nullptr, nullptr);
    }
#else
    if (threadIdx.x < 128) {
        give_registers<24>();
        if (threadIdx.x == 0)
            produce_slices(b, own, &input_map);
        else if (threadIdx.x == 32)
            produce_taps(b, own, &filter_map);
    } else {
        take_registers<240>();
#if OUTPUT_BYTES == 2
        stored_pixels stored = {staging, residual, biases, 0, 0};
#else
        stored_pixels stored = {(float *)output_at, (const float *)residual_at, P, Q, biases};
#endif
        consume(b, own, stored, &output_map, &residual_map);
    }
#endif
}
