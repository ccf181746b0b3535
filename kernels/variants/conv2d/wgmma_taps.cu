/* bench 1
op: conv2d
what: all taps of a filter row in one product - its s * c values of an NHWC image are contiguous, so 20 channels are 60 of a product's 64
from: wgmma_ragged
needs:
  - stride == 1 and dilation == 1 and groups == 1 and r <= 7 and s <= 7
  - pad_top < r and pad_left < s and pad_bottom < r and pad_right < s
  - c * size(input) % 8 == 0 and k % 4 == 0 and c <= 64    # 8 bytes of a pixel are what a lane loads, 4 channels what it stores
  - n * c * h * w < 1073741824 and n * k * p * q < 1073741824
layout: {input: NHWC, filter: KRSC, output: NHWC, residual: NHWC}
dtype: {input: [f16, bf16, i8], filter: same, output: [same, f32], bias: f32, accumulate: [f32, i32]}
math: [f16_acc32, bf16_acc32, i8_acc32]
algorithm: implicit_gemm
epilogue: [bias, residual, relu, leaky_relu]
params:
  TEAMS: {values: [auto, 3, 4], default: auto}           # warpgroups: of 128 registers per thread, or 96 beside a warp that brings rows
  LINES: {values: [auto, 0, 1], default: auto}           # 1: pixels that are no whole sectors leave through shared memory, side by side
let:
  blocks_k: ceil(k, 128)
  kb: 16 * ceil(ceil(k, blocks_k), 16)
  pixel: c * size(input)
  depth: 32 * ceil(s * pixel, 32)                        # bytes, of a row of the filter
  tiled: ceil(r * depth, 128) * kb * 128
  ragged: blocks_k == 1 and k * size(output) % 32 != 0   # a pixel is no whole sectors
  lines: select(LINES == 'auto', ragged and k > 64, LINES)
  line: select(lines == 1 and ragged, 16 * k * size(output), 0)     # bytes of a warp's 16 pixels
  room: smem_per_block_optin - 2048 - 4 * kb - depth - tiled - 16 * line
  widest: max(1, floor(floor(room, r + 4) - 160 - pixel * pad_left, pixel) - s + 1)
  strips: ceil(q, min(widest, 128))                      # narrow: a block reads fewer rows twice, and begins sooner
  wide: ceil(q, strips)                                  # columns of a strip
  row_bytes: 16 * ceil(pixel * pad_left, 16) + 16 * ceil((wide + s - 1) * pixel + 80, 16)
  slots: min(16, floor(room, row_bytes))
  tiles: n * strips * ceil(p * wide, 64)                 # 64 pixels of a strip, one after another through its rows
  blocks: max(1, min(tiles, floor(sm_count, blocks_k)))
  each: ceil(tiles, blocks)
  # at most: where a block goes on in the next strip, r more
  block_rows: floor(each * 64 - 2, wide) + r + 1 + ceil(each - 1, ceil(p * wide, 64)) * r
  teams: select(TEAMS == 'auto', select(block_rows <= slots, 4, 3), TEAMS)
  whole: teams == 4 and block_rows <= slots              # all rows of a block are asked for at once: no warp has to bring them
  smem: 1024 + tiled + slots * row_bytes + depth + 64 + 4 * kb + 16 * slots + 48 + 4 * teams * line
where:
  - cc == 90
  - slots >= r + 2 + floor(63, wide) and wide >= 16
  - smem <= smem_per_block_optin
  - teams == 3 or whole or kb / 2 + depth / 8 + 32 <= 96          # sums, operands and what else a thread keeps
  - lines == 0 or line > 0
define:
  TYPE: type(input)
  OUTPUT_T: type(output)
  IMAGES: n
  CHANNELS: c
  HEIGHT: h
  WIDTH: w
  OUTPUTS: k
  ROWS: p
  COLUMNS: q
  R: r
  S: s
  PAD_TOP: pad_top
  PAD_LEFT: pad_left
  BLOCK_K: kb
  STRIPS: strips
  WIDE: wide
  ROW_BYTES: row_bytes
  SLOTS: slots
  BLOCKS: blocks
  WARPGROUPS: teams
  WHOLE_BLOCK: whole
  LINE: line
  EPI_BIAS: has(bias)
  EPI_RESIDUAL: has(residual)
  EPI_SCALE: scale(epilogue)
  EPI_SLOPE: slope(epilogue)
scratch:
  arranged: filter[blocks_k * tiled / size(input)]
prepare:
  - kernel: arrange_weights
    grid: ceil(blocks_k * tiled / size(input), 256)
    block: 256
    args: filter, arranged
steps:
  - kernel: conv_wgmma_taps
    grid: blocks, blocks_k
    block: 128 * teams + 32 * (1 - whole)
    smem: smem
    args: input, arranged, bias, residual, output
*/

/* What changed from wgmma_ragged: the depth of a product. In NHWC the pixels under a row of the filter are contiguous, and so are their s *
 * c values: the depth of a product runs through them, and is rounded up to 32 bytes once a row of the filter, not once a tap. 3x3 of 20
 * channels in 16 bits take 12 products instead of 18.
 *
 *  - Pixels are the rows of a product, in registers: a lane loads its values from the image row as it is in memory, which a bulk copy
 *    brings to shared memory whole. So no channel is padded, and no tile has a border of its own: the 64 pixels of a tile continue in the
 *    strip's next row. A strip is as wide as the shared memory allows.
 *  - Where a tap is outside the image, or the depth ends, the lane loads a zero.
 *  - A lane loads 8 bytes at once, or 16 if a pixel is a multiple of 64 bytes. The assignment
 *    of pixels to rows of the product avoids bank conflicts, unless a pixel is a multiple of
 *    128 bytes: 64->64 at 720p in 16 bits takes an H200 2.5 times as long as with wgmma_rs.
 *  - If pixels are no whole sectors, TMA stores a warp's line from shared memory, provided its parts are whole 16 bytes.
 *  - Each warpgroup has every third or fourth tile, and the next rows arrive meanwhile. If all rows of a block fit, the lanes of a warp
 *    start the copies, one each, before anything else: waiting for the bias first was 7 % of the time of 20->100 at 270x480, cold. Without
 *    a warp for that, four warpgroups have 128 registers per thread.
 *  - Warpgroups multiply in turn. Otherwise they also all stored at once, while the tensor cores were idle: 36->36 at 811x639 takes 7 %
 *    less in turn. */
#include "element/element.cuh"
#include "element/epilogue.cuh"
#include "tensor_core/wgmma_narrow.cuh"

constexpr int GROUPS = WARPGROUPS; /* a further warp brings the pixels, unless WHOLE_BLOCK */
constexpr int BUFFERS = GROUPS == 3 || WHOLE_BLOCK ? 2 : 1; /* of operands, of a row of the filter each */
constexpr int SIZE = sizeof(TYPE), PIXEL = CHANNELS * SIZE;     /* bytes */
constexpr int GAP = (PAD_LEFT * PIXEL + 15) / 16 * 16;          /* in front of an image row in shared memory */
constexpr int STEPS = (S * PIXEL + 31) / 32;                    /* products of a row of the filter: 32 bytes of the depth each */
constexpr int PAIR = PIXEL % 64 == 0 ? 2 : 1, PIECE = 8 * PAIR; /* products that a lane loads for at once, and bytes of that */
constexpr int TILES = (R * STEPS + 3) / 4, TILE = BLOCK_K * 128; /* swizzled rows of 128 bytes */
constexpr int BLOCKS_STRIP = (ROWS * WIDE + 63) / 64, BLOCKS_ALL = IMAGES * STRIPS * BLOCKS_STRIP;
constexpr int REACH = ROWS + R - 2 - PAD_TOP, LAST_ROW = REACH < HEIGHT - 1 ? REACH : HEIGHT - 1; /* of the image, that is read */
constexpr int ZEROS = STEPS * 32;
constexpr bool STAGED = LINE > 0;
constexpr int FIRST_ASKS = WHOLE_BLOCK ? 0 : 128 * GROUPS; /* the warp that brings rows */
/* A line's parts are whole 16 bytes. */
constexpr bool BULK = STAGED && (OUTPUTS * sizeof(OUTPUT_T) % 16 == 0 || COLUMNS % 2 == 0 && WIDE % 2 == 0);
constexpr bool PAIRS = sizeof(OUTPUT_T) == 2 && EPI_SLOPE == 0; /* relu after rounding, two at a time */
template <int SIZE_OF> struct sum_of_bytes {
    using type = float;
};
template <> struct sum_of_bytes<1> {
    using type = int;
};
using sum_of = typename sum_of_bytes<SIZE>::type;

extern __shared__ unsigned char shared_raw[]; /* up to 1023 bytes in front, weights, image rows, zeros, bias, barriers */

/* The layout of the operands: a lane holds PIECE adjacent bytes of
 * the depth of PAIR products, and 4 adjacent output channels. */
static __device__ __forceinline__ int depth_at(int step, int byte)
{
    return step / PAIR * (32 * PAIR) + byte % 16 / 4 * PIECE + step % PAIR * 8 + byte / 16 * 4 + byte % 4;
}
static __device__ __forceinline__ int output_at(int column)
{
    return column / 16 * 16 + column % 8 / 2 * 4 + column / 8 % 2 * 2 + column % 2;
}

extern "C" __global__ void __launch_bounds__(256) arrange_weights(const TYPE *filter, TYPE *arranged)
{
    constexpr int WIDTH_TILE = 128 / SIZE;
    int i = blockIdx.x * 256 + threadIdx.x, byte = i % WIDTH_TILE * SIZE, column = i / WIDTH_TILE % BLOCK_K;
    int tile = i / WIDTH_TILE / BLOCK_K % TILES, block = i / WIDTH_TILE / BLOCK_K / TILES;
    if (block * BLOCK_K >= OUTPUTS)
        return;
    int step = tile * 4 + byte / 32, r = step / STEPS, at = depth_at(step % STEPS, byte % 32) / SIZE;
    int k = block * BLOCK_K + output_at(column);
    TYPE v{};
    if (r < R && at < S * CHANNELS && k < OUTPUTS)
        v = filter[((size_t)k * R + r) * (S * CHANNELS) + at];
    arranged[((size_t)(block * TILES + tile) * TILE + column * 128 + (byte / 16 ^ column % 8) * 16 + byte % 16) / SIZE] = v;
}

/* Row g + 8 i of a warp's 16: the four pixels that half a warp loads at once lie an odd multiple of 32 bytes apart, if they can. */
static __device__ __forceinline__ int pixel_of(int g, int i)
{
    return PIXEL % 16 == 8 ? g % 4 * 4 + g / 4 + i * 2 : PIXEL % 32 == 16 ? g % 4 * 2 + g / 4 + i * 8 : g + i * 8;
}

struct places {
    unsigned weights, slots, zeros, bias, full, empty, come, turn;
    unsigned char *lines;
};

/* The work of a block: tiles first .. end - 1. A tile is 64 pixels of a strip. The image rows that they need arrive in order, each once in
 * a strip, and are counted from the block's first. */
struct share {
    int first, end, strip, top; /* its first strip, and that one's first image row */
};
static __device__ __forceinline__ share share_of()
{
    constexpr int each = BLOCKS_ALL / BLOCKS, more = BLOCKS_ALL % BLOCKS;
    int block = blockIdx.x, first = block * each + min(block, more), strip = first / BLOCKS_STRIP;
    return {first, first + each + (block < more), strip, max(0, (first - strip * BLOCKS_STRIP) * 64 / WIDE - PAD_TOP)};
}
static __device__ __forceinline__ int count_of(const share &own, int strip, int y)
{
    return (strip - own.strip) * (LAST_ROW + 1) - own.top + y;
}
/* The last image row that a tile needs. */
static __device__ __forceinline__ int bottom_of(int local)
{
    return min(LAST_ROW, min(ROWS - 1, (local * 64 + 63) / WIDE) + R - 1 - PAD_TOP);
}
static __device__ __forceinline__ int first_column(int strip) { return max(0, strip % STRIPS * WIDE - PAD_LEFT); }
/* How far the first column of an image row lies behind a multiple of 16 bytes. */
static __device__ __forceinline__ int shift_of(int line, int column) { return (line * (WIDTH * PIXEL % 16) + column * PIXEL) % 16; }

/* The block's first output channel. */
static __device__ __forceinline__ int first_output() { return OUTPUTS > BLOCK_K ? blockIdx.y * BLOCK_K : 0; }

static __device__ __forceinline__ void ask_weights(const places &at, const TYPE *arranged, const float *bias)
{
    int k = first_output(), biases = EPI_BIAS ? min(BLOCK_K, OUTPUTS - k) * 4 : 0;
    barrier_arrive_expect(at.come, TILES * TILE + biases);
    copy_bytes(at.weights, arranged + (size_t)(k / BLOCK_K) * (TILES * TILE / SIZE), TILES * TILE, at.come);
    if (EPI_BIAS)
        copy_bytes(at.bias, bias + k, biases, at.come);
}

/* A whole block's rows are asked for by a lane each. */
static __device__ __forceinline__ void produce(const places &at, const share &own, const TYPE *input, const TYPE *arranged,
                                               const float *bias)
{
    constexpr int step = WHOLE_BLOCK ? 32 : 1;
    int last = (own.end - 1) / BLOCKS_STRIP, rows = count_of(own, last, bottom_of(own.end - 1 - last * BLOCKS_STRIP)) + 1;
    int strip = own.strip, begin = WHOLE_BLOCK ? threadIdx.x : 0, y = own.top + begin;
    for (int i = begin; i < rows; i += step, y += step) {
        for (; y > LAST_ROW; y -= LAST_ROW + 1)
            strip++;
        unsigned slot = i % SLOTS, full = at.full + slot * 8;
        int column = first_column(strip), line = strip / STRIPS * HEIGHT + y;
        int columns = min(WIDTH, strip % STRIPS * WIDE + WIDE - PAD_LEFT + S - 1) - column;
        int shift = shift_of(line, column);
        size_t from = ((size_t)line * WIDTH + column) * PIXEL - shift, all = (size_t)IMAGES * HEIGHT * WIDTH * PIXEL;
        unsigned to = at.slots + slot * ROW_BYTES + GAP, bytes = (shift + columns * PIXEL + 15) / 16 * 16;
        const unsigned char *source = reinterpret_cast<const unsigned char *>(input) + from;
        if (!WHOLE_BLOCK)
            barrier_wait(at.empty + slot * 8, i / SLOTS & 1 ^ 1);
        if (IMAGES * HEIGHT * WIDTH * PIXEL % 16 != 0 && from + bytes > all) { /* TMA moves 16 bytes at least; 8 are left */
            bytes -= 16;
            uint2 v = *reinterpret_cast<const uint2 *>(source + bytes);
            asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(to + bytes), "r"(v.x), "r"(v.y) : "memory");
        }
        barrier_arrive_expect(full, bytes);
        copy_bytes(to, source, bytes, full);
        if (!WHOLE_BLOCK && i == min(2, rows - 1))
            ask_weights(at, arranged, bias);
    }
}

/* Rows that a warp has waited for, and that it needs no more. */
struct progress {
    int seen, gone;
    __device__ __forceinline__ void wait(const places &at, int rows)
    {
        for (; seen < rows; seen++)
            barrier_wait(at.full + seen % SLOTS * 8, seen / SLOTS & 1);
    }
    __device__ __forceinline__ void release(const places &at, int rows)
    {
        __syncwarp();
        for (; !WHOLE_BLOCK && gone < rows; gone++) {
            wait(at, gone + 1);
            if (threadIdx.x % 32 == 0)
                barrier_arrive(at.empty + gone % SLOTS * 8);
        }
    }
};

template <typename T> static __device__ __forceinline__ void relu_pairs(pack<T, 4> &out)
{
    if constexpr (PAIRS)
        out.word.x = relu_of<T>(out.word.x), out.word.y = relu_of<T>(out.word.y);
}

/* Bytes side by side from shared memory, a multiple of 16, both ends at multiples of 16. */
static __device__ __forceinline__ void store_bytes(void *to, unsigned from, int bytes)
{
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(from), "r"(bytes) : "memory");
}

/* A warp's 16 pixels leave as words side by side. */
static __device__ __forceinline__ void send(OUTPUT_T *output, const OUTPUT_T *line, int image, int first, int left)
{
    constexpr int WORD = 8 / (int)sizeof(OUTPUT_T), WORDS = OUTPUTS / WORD; /* of 8 bytes */
    int p = first / WIDE, q = first - p * WIDE, split = min(16, WIDE - q); /* so many in row p, the others in the next */
    int here = p < ROWS ? min(split, COLUMNS - left - q) * WORDS : 0;
    int there = p + 1 < ROWS ? (split + min(16 - split, COLUMNS - left)) * WORDS : 0;
    OUTPUT_T *to = output + (((size_t)image * ROWS + p) * COLUMNS + left + q) * OUTPUTS;
    constexpr int jump = (COLUMNS - WIDE) * OUTPUTS;
    if (BULK) { /* TMA moves them */
        fence_async();
        __syncwarp();
        if (threadIdx.x % 32 == 0) {
            unsigned from = shared_address(line);
            if (here > 0)
                store_bytes(to, from, here * 8);
            if (there > split * WORDS)
                store_bytes(to + split * OUTPUTS + jump, from + split * WORDS * 8, (there - split * WORDS) * 8);
            store_commit();
        }
        return;
    }
    __syncwarp();
#pragma unroll
    for (int j = 0; j < (16 * WORDS + 31) / 32; j++) {
        int i = j * 32 + threadIdx.x % 32;
        bool next = i >= split * WORDS;
        if (i < (next ? there : here))
            *reinterpret_cast<uint2 *>(to + i * WORD + (next ? jump : 0)) = *reinterpret_cast<const uint2 *>(line + i * WORD);
    }
    __syncwarp(); /* before the next pixels are put there */
}

/* A lane's two pixels of a tile: the address of their first taps in each row of the filter, or zeros; and in which products its tap is
 * inside the image. */
struct lane_pixels {
    int p[2], q[2];
    unsigned address[2][R];
    bool keep[2][STEPS / PAIR];
    __device__ __forceinline__ void find(const places &at, const share &own, int strip, int first)
    {
        int t = threadIdx.x % 4, image = strip / STRIPS, left = strip % STRIPS * WIDE, column = first_column(strip);
#pragma unroll
        for (int i = 0; i < 2; i++) {
            int pixel = first + pixel_of(threadIdx.x % 32 / 4, i);
            p[i] = pixel / WIDE;
            q[i] = pixel - p[i] * WIDE + left;
            int slot = (count_of(own, strip, p[i] - PAD_TOP) + SLOTS) % SLOTS; /* of a row that is above the image, too */
            unsigned place = at.slots + GAP + (q[i] - PAD_LEFT - column) * PIXEL;
#pragma unroll
            for (int r = 0; r < R; r++) {
                int y = p[i] + r - PAD_TOP;
                unsigned row = place + slot * ROW_BYTES + shift_of(image * HEIGHT + y, column);
                address[i][r] = (p[i] < ROWS && y >= 0 && y < HEIGHT ? row : at.zeros) + t * PIECE;
                slot = slot == SLOTS - 1 ? 0 : slot + 1;
            }
#pragma unroll
            for (int k = 0; k < STEPS / PAIR; k++) {
                int depth = k * 32 * PAIR + t * PIECE, x = q[i] - PAD_LEFT + depth / PIXEL;
                keep[i][k] = depth < S * PIXEL && x >= 0 && x < WIDTH;
            }
        }
    }
    __device__ __forceinline__ void load(unsigned v[PAIR][4], int i, int r, int k, unsigned zeros) const
    {
        unsigned from = keep[i][k] ? address[i][r] + k * 32 * PAIR : zeros;
        if constexpr (PAIR == 2)
            asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(v[0][i]), "=r"(v[0][2 + i]), "=r"(v[1][i]), "=r"(v[1][2 + i])
                         : "r"(from)
                         : "memory");
        else
            asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(v[0][i]), "=r"(v[0][2 + i]) : "r"(from) : "memory");
    }
};

/* Issues all products of a tile, and loads its pixels. Warpgroups
 * take turns, so that one's products run while the others store. */
static __device__ __forceinline__ void multiply(sum_of sum[BLOCK_K / 2], unsigned v[BUFFERS][STEPS][4], const lane_pixels &own,
                                                const places &at, int me, int round)
{
    unsigned long long matrix = matrix_rows_128(at.weights);
#pragma unroll
    for (int r = 0; r < R; r++) {
        if (r >= BUFFERS)
            wgmma_wait<BUFFERS - 1>();
#pragma unroll
        for (int k = 0; k < STEPS / PAIR; k++)
#pragma unroll
            for (int i = 0; i < 2; i++)
                own.load(v[r % BUFFERS] + k * PAIR, i, r, k, at.zeros);
        if (r == 0)
            barrier_wait(at.turn + me * 8, (round & 1) ^ (me == 0));
        wgmma_begin();
#pragma unroll
        for (int k = 0; k < STEPS; k++) {
            int step = r * STEPS + k;
            wgmma_registers<TYPE, BLOCK_K>(sum, v[r % BUFFERS][k], matrix + step / 4 * (TILE / 16) + step % 4 * 2, step > 0);
        }
        wgmma_commit();
    }
    if (threadIdx.x % 32 == 0)
        barrier_arrive(at.turn + (me == GROUPS - 1 ? 0 : me + 1) * 8);
}

/* A lane's pixels to where they belong, or with STAGED to the warp's line, which has room for those outside the image, too. */
static __device__ __forceinline__ void store(const sum_of sum[BLOCK_K / 2], const bool inside[2], const places &at,
                                             const OUTPUT_T *residual, const int from[2], OUTPUT_T *output,
                                             const int to[2])
{
    int t = threadIdx.x % 4;
    float2 b[BLOCK_K / 8] = {};
#pragma unroll
    for (int j = 0; j < BLOCK_K / 16; j++) {
#pragma unroll
        for (int i = j; EPI_BIAS && i < (STAGED ? BLOCK_K / 16 : j + 1) && (j == 0 || !STAGED); i++) /* loads cannot pass stores */
#pragma unroll
            for (int e = 0; e < 2; e++)
                b[i * 2 + e] = load_shared_2(at.bias + (i * 16 + t * 4 + e * 2) * 4);
        if (OUTPUTS % BLOCK_K != 0 && first_output() + j * 16 + t * 4 >= OUTPUTS)
            continue;
#pragma unroll
        for (int i = 0; i < 2; i++) {
            if (!inside[i] && (!STAGED || EPI_RESIDUAL))
                continue;
            float x[4];
#pragma unroll
            for (int e = 0; e < 4; e++)
                x[e] = (float)sum[j * 8 + e / 2 * 4 + i * 2 + e % 2];
            if (EPI_BIAS)
                x[0] += b[j * 2].x, x[1] += b[j * 2].y, x[2] += b[j * 2 + 1].x, x[3] += b[j * 2 + 1].y;
            if (EPI_RESIDUAL) {
                pack<OUTPUT_T, 4> more = load_pack<OUTPUT_T, 4>(residual + from[i] + j * 16);
#pragma unroll
                for (int e = 0; e < 4; e++)
                    x[e] = branch(x[e]) + to_f32(more.item[e]);
            }
            if (!PAIRS)
#pragma unroll
                for (int e = 0; e < 4; e++)
                    x[e] = activate(x[e]);
            pack<OUTPUT_T, 4> out = rounded<OUTPUT_T, 4>(x);
            relu_pairs(out);
            store_pack<OUTPUT_T, 4>(output + to[i] + j * 16, out);
        }
    }
}

static __device__ __forceinline__ void consume(const places &at, const share &own, const OUTPUT_T *residual, OUTPUT_T *output)
{
    OUTPUT_T *line = reinterpret_cast<OUTPUT_T *>(at.lines + threadIdx.x / 32 * LINE);
    int me = warpgroup_index(), warp = threadIdx.x / 32 % 4, t = threadIdx.x % 4;
    int last = (own.end - 1) / BLOCKS_STRIP, rows = count_of(own, last, bottom_of(own.end - 1 - last * BLOCKS_STRIP)) + 1;
    progress mine = {0, 0};
    int round = 0;
    for (int m = own.first + me; m < own.end; m += GROUPS, round++) {
        int strip = m / BLOCKS_STRIP, local = m - strip * BLOCKS_STRIP, image = strip / STRIPS, left = strip % STRIPS * WIDE;
        lane_pixels lane;
        sum_of sum[BLOCK_K / 2];
        unsigned v[BUFFERS][STEPS][4];
        lane.find(at, own, strip, local * 64 + warp * 16);
        mine.wait(at, count_of(own, strip, bottom_of(local)) + 1);
        if (round == 0)
            barrier_wait(at.come, 0);
        multiply(sum, v, lane, at, me, round);
        int next = m + GROUPS, below = next / BLOCKS_STRIP;
        mine.release(at, next < own.end ? count_of(own, below, max(0, (next - below * BLOCKS_STRIP) * 64 / WIDE - PAD_TOP)) : rows);
        wgmma_wait<0>();
        if (BULK) {
            if (threadIdx.x % 32 == 0)
                store_wait_read(); /* the line before */
            __syncwarp();
        }
        bool inside[2];
        int from[2], to[2];
#pragma unroll
        for (int i = 0; i < 2; i++) {
            inside[i] = lane.p[i] < ROWS && lane.q[i] < COLUMNS && lane.q[i] < left + WIDE;
            from[i] = ((image * ROWS + lane.p[i]) * COLUMNS + lane.q[i]) * OUTPUTS + first_output() + t * 4;
            to[i] = STAGED ? pixel_of(threadIdx.x % 32 / 4, i) * OUTPUTS + t * 4 : from[i];
        }
        store(sum, inside, at, residual, from, STAGED ? line : output, to);
        if (STAGED)
            send(output, line, image, local * 64 + warp * 16, left);
    }
    mine.release(at, rows); /* a warpgroup without a tile */
    if (BULK && threadIdx.x % 32 == 0)
        store_wait_read(); /* before the block gives its shared memory back */
}

extern "C" __global__ void __launch_bounds__(128 * GROUPS + (WHOLE_BLOCK ? 0 : 32), 1)
conv_wgmma_taps(const TYPE *input, const TYPE *arranged, const float *bias, const OUTPUT_T *residual, OUTPUT_T *output)
{
    unsigned base = (shared_address(shared_raw) + 1023) / 1024 * 1024, slots = base + TILES * TILE, zeros = slots + SLOTS * ROW_BYTES;
    unsigned biases = zeros + ZEROS + 64, barriers = biases + BLOCK_K * 4, come = barriers + SLOTS * 16;
    unsigned char *lines = shared_raw + (come + 48 - shared_address(shared_raw));
    const places at = {base, slots, zeros, biases, barriers, barriers + SLOTS * 8, come, come + 8, lines};
    unsigned asks = threadIdx.x - FIRST_ASKS;
    share own = share_of();
    if (asks < 32) {
        if (asks < SLOTS) {
            barrier_init(at.full + asks * 8, 1);
            if (!WHOLE_BLOCK)
                barrier_init(at.empty + asks * 8, 4 * GROUPS);
        }
        if (asks < GROUPS)
            barrier_init(at.turn + asks * 8, 4);
        if (asks == 31)
            barrier_init(at.come, 1);
        barrier_init_done();
        if (WHOLE_BLOCK) { /* each lane's copies tell a barrier that is its own work */
            if (asks == 31)
                ask_weights(at, arranged, bias);
            produce(at, own, input, arranged, bias);
        }
    }
    for (unsigned i = threadIdx.x * 4; i < ZEROS + 64; i += blockDim.x * 4)
        store_shared(zeros + i, 0);
    if (EPI_BIAS && threadIdx.x < BLOCK_K && first_output() + (int)threadIdx.x >= OUTPUTS) /* what no copy brings */
        store_shared(biases + threadIdx.x * 4, 0);
    __syncthreads();
    if (!WHOLE_BLOCK && asks == 0)
        produce(at, own, input, arranged, bias);
    if (threadIdx.x < 128 * GROUPS)
        consume(at, own, residual, output);
}
