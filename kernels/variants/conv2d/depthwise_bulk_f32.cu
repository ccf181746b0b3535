/* bench 1
op: conv2d
what: depthwise in f32, NHWC, sm_90 - a lane has some outputs of a line, of one channel; lines come by TMA
from: depthwise_rows
needs: groups == c and k == c and c % 4 == 0 and c * h * w < 2147483648 and k * p * q < 2147483648 and live <= 16
layout: {input: NHWC, filter: RSCK, output: NHWC}
dtype: {input: f32, filter: f32, output: f32, bias: f32, accumulate: f32}
math: [f32, tf32]
epilogue: [bias, relu, leaky_relu, prelu]
params:
  PX: {values: [auto, 2, 4, 8], default: auto}                 # neighbouring outputs of a lane
  CHANNELS: {values: [auto, 16, 32], default: auto}            # of a block
  WARPS: {values: [4, 8], default: 4}
  ROWS: {values: [auto, 4, 6, 8, 12, 16, 20, 24, 32, 48, 64, 96], default: auto}         # lines of outputs a block goes down
  TOGETHER: {values: [auto, 0, 1], default: auto}              # 1: lines come a period at a time, 0: one by one
  RING: {values: [auto, 2, 3, 4, 6, 8], default: auto}         # so many times in shared memory
  RESIDENT: {values: [auto, 1, 2, 3, 4], default: auto}        # blocks of an SM, at least: bounds the registers
let:
  live: floor((r - 1) * dilation_y, stride_y) + 1              # lines of outputs that one line of the input belongs to
  px: select(PX == 'auto', select(r * s >= 49 or r * s <= 9, 4, 8), PX)
  held: r * s + live * px + (px - 1) * stride_x + (s - 1) * dilation_x + 1    # registers: weights, sums, a line
  # a quarter of an SM has 512 registers for a lane
  resident: select(RESIDENT == 'auto', max(1, floor(4 * floor(512, 8 * ceil(24 + held, 8)), WARPS)), RESIDENT)
  channels: select(CHANNELS == 'auto', 32, CHANNELS)
  across: px * WARPS * 32 / channels                           # outputs side by side
  box_w: (across - 1) * stride_x + (s - 1) * dilation_x + 1
  together: select(TOGETHER == 'auto', r * s >= 49 or r * s <= 9, TOGETHER)
  piece: select(together == 1, live * stride_y, 1)             # lines of input that come together
  ring: select(RING == 'auto', select(together == 1, 2, 6), RING)
  slot: 4 * channels * box_w * piece
  parts_k: ceil(c, channels)
  tiles_x: ceil(q, across)
  all: parts_k * tiles_x * n
  fitting: ceil(p, max(1, min(p, floor(fit_waves * sm_count * resident, all))))   # lines, if blocks are to fill so many waves
  rows: select(ROWS != 'auto', ROWS, fitting)
  parts: ceil(p, rows)
  smem: 128 + ring * (slot + 16)
candidates:
  waves:
    rows:
      w1:  {fit_waves: 1}
      w2:  {fit_waves: 2}
      w3:  {fit_waves: 3}
      w4:  {fit_waves: 4}
      w5:  {fit_waves: 5}
      w6:  {fit_waves: 6}
      w7:  {fit_waves: 7}
      w8:  {fit_waves: 8}
      w10: {fit_waves: 10}
      w12: {fit_waves: 12}
      w16: {fit_waves: 16}
      w24: {fit_waves: 24}
      w32: {fit_waves: 32}
      w64: {fit_waves: 64}
    # waves; lines, and a start that is worth four
    least: ceil(all * ceil(p, fitting), sm_count * resident) * (fitting * stride_y + (r - 1) * dilation_y + 4)
where:
  - cc >= 90
  - held <= 200
  - box_w <= 256
  - smem <= smem_per_block_optin
define:
  PIXELS: px
  BLOCK_CHANNELS: channels
  BOX_W: box_w
  PIECE: piece
  RING_FIT: ring
  BLOCKS: resident
  EPI_BIAS: has(bias)
  EPI_SLOPE: slope(epilogue)
  EPI_PRELU: select(has(prelu), k, 0)
specialise: [c, r, s, stride_y, stride_x, dilation_y, dilation_x]
tensor_maps:
  input_map: {of: input, box: "channels, box_w, piece, 1", l2: 256}
prepare:
  - symbol: epi_slopes = slopes
    when: has(prelu)
steps:
  - kernel: conv_depthwise_bulk_f32
    grid: all * parts
    block: 32 * WARPS
    smem: smem
    args: input_map, filter, bias, output, p, q, pad_top, pad_left, parts_k, tiles_x, rows, parts
*/

/* What changed from depthwise_rows: how lines are loaded. There a thread loads the next line into
 * registers, which limit the bytes in flight. Here TMA loads lines of 32 channels for the whole block,
 * for 3x3 and 7x7 a whole period of sums at once, with zeros outside the image; all registers are free
 * for weights and sums. A warp reads a pixel's 32 channels with one load, and stores them with one.
 *
 * It computes tf32 layers in f32, as depthwise_rows does. Its bottleneck is the FMA pipe for 7x7, DRAM below. */
#include "element/epilogue.cuh"
#include "tensor_core/wgmma.cuh"

constexpr int LIVE = (R - 1) * DILATION_Y / STRIDE_Y + 1, PERIOD = LIVE * STRIDE_Y, PIXEL = BLOCK_CHANNELS * 4, SLOT = PIECE * BOX_W * PIXEL;
constexpr int STRIP = (PIXELS - 1) * STRIDE_X + (S - 1) * DILATION_X + 1;

extern __shared__ unsigned char shared_raw[]; /* up to 127 bytes in front, ring, barriers */

/* Line u of a period under all rows of the filter; sums begin with the first row. It also adds to outputs that are not stored: a branch for
 * each row of the filter costs more. */
static __device__ __forceinline__ void add_line(float sum[LIVE][PIXELS], const float line[STRIP], const float weights[R * S], int u,
                                                float own_bias)
{
#pragma unroll
    for (int t = 0; t < R * S; t++) {
        int reach = u + (LIVE - 1) * STRIDE_Y - t / S * DILATION_Y;
        if (reach % STRIDE_Y)
            continue;
#pragma unroll
        for (int x = 0; x < PIXELS; x++) {
            float &own = sum[reach / STRIDE_Y % LIVE][x];
            own = line[x * STRIDE_X + t % S * DILATION_X] * weights[t] + (t == 0 ? own_bias : own);
        }
    }
}

static __device__ __forceinline__ void load_line(float line[STRIP], unsigned from)
{
#pragma unroll
    for (int x = 0; x < STRIP; x++)
        line[x] = __uint_as_float(load_shared(from + x * PIXEL));
}

static __device__ __forceinline__ void put(const float sum[PIXELS], float *to, int k, int left)
{
#pragma unroll
    for (int x = 0; x < PIXELS; x++)
        if (x < left)
            to[x * C] = activate_channel(sum[x], k);
}

extern "C" __global__ void __launch_bounds__(32 * WARPS, BLOCKS)
conv_depthwise_bulk_f32(const __grid_constant__ tensor_map input_map, const float *__restrict__ filter, const float *__restrict__ bias,
                        float *__restrict__ output, int P, int Q, int pad, int pad_x, int parts_k, int tiles_x, int rows, int parts)
{
    int i = blockIdx.x, lane = threadIdx.x % 32, first = threadIdx.x / BLOCK_CHANNELS * PIXELS;
    int block_k = i % parts_k * BLOCK_CHANNELS, x0 = i / parts_k % tiles_x * (PIXELS * WARPS * 32 / BLOCK_CHANNELS);
    int p0 = i / parts_k / tiles_x % parts * rows, n = i / parts_k / tiles_x / parts;
    int q0 = x0 + first, k = block_k + threadIdx.x % BLOCK_CHANNELS, y = p0 * STRIDE_Y - pad;
    rows = min(rows, P - p0);
    int lines = (rows - 1) * STRIDE_Y + (R - 1) * DILATION_Y + 1, asked = 0;
    unsigned ring = (shared_address(shared_raw) + 127) / 128 * 128, come = ring + RING_FIT * SLOT, gone = come + RING_FIT * 8;
    auto ask = [&](unsigned slot) {
        barrier_arrive_expect(come + slot * 8, SLOT);
        copy_box_4d(ring + slot * SLOT, &input_map, come + slot * 8, block_k, x0 * STRIDE_X - pad_x, y + asked, n);
        asked += PIECE;
    };
    if (threadIdx.x == 0) {
        for (int a = 0; a < RING_FIT; a++) {
            barrier_init(come + a * 8, 1);
            barrier_init(gone + a * 8, WARPS);
        }
        barrier_init_done();
        for (int a = 0; a < RING_FIT && asked < lines; a++)
            ask(a);
    }

    float weights[R * S], sum[LIVE][PIXELS], own_bias = EPI_BIAS && k < C ? bias[k] : 0.0f;
#pragma unroll
    for (int t = 0; t < R * S; t++)
        weights[t] = k < C ? filter[t * C + k] : 0.0f;
#pragma unroll
    for (int j = 0; j < LIVE * PIXELS; j++)
        sum[j / PIXELS][j % PIXELS] = 0.0f;
    __syncthreads();

    float *to = output + (((size_t)n * P + p0) * Q + q0) * C + k;
    int left = k < C ? Q - q0 : 0;
    unsigned own = ring + first * STRIDE_X * PIXEL + threadIdx.x % BLOCK_CHANNELS * 4, slot = 0, parity = 0, before = RING_FIT - 1, before_parity = 1;
    for (int from = 0; from < lines; from += PERIOD) {
#pragma unroll
        for (int u = 0; u < PERIOD; u++) {
            if (from + u >= lines)
                break;
            if (u % PIECE == 0) {
                if (threadIdx.x == 0 && from + u > 0 && asked < lines) { /* to where the piece before was, when all warps have read it */
                    barrier_wait(gone + before * 8, before_parity);
                    ask(before);
                }
                __syncwarp();
                barrier_wait(come + slot * 8, parity);
            }
            float line[STRIP];
            load_line(line, own + slot * SLOT + u % PIECE * BOX_W * PIXEL);
            add_line(sum, line, weights, u, own_bias);
            int last = u + (LIVE - 1) * STRIDE_Y - (R - 1) * DILATION_Y;
            if (last % STRIDE_Y == 0 && from / STRIDE_Y + last / STRIDE_Y >= LIVE - 1) { /* a line of outputs ends here */
                put(sum[last / STRIDE_Y % LIVE], to, k, left);
                to += (size_t)Q * C;
            }
            if (u % PIECE < PIECE - 1)
                continue;
            __syncwarp();
            if (lane == 0)
                barrier_arrive(gone + slot * 8);
            before = slot, before_parity = parity;
            if (++slot == RING_FIT)
                slot = 0, parity ^= 1;
        }
    }
}
