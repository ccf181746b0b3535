/* bench 1
op: conv2d
what: depthwise in f32, NCHW, sm_90 - a lane has PX neighbouring outputs of a line; lines come by the copy engine into a ring of each warp's own and are read once
from: depthwise_rows
needs: groups == c and k == c and w % 4 == 0 and c * h * w < 2147483648 and n * k * p * q < 2147483648 and live <= 16
layout: {input: NCHW, filter: RSCK, output: NCHW}
dtype: {input: f32, filter: f32, output: f32, bias: f32, accumulate: f32}
math: [f32, tf32]
epilogue: [bias, relu, leaky_relu, prelu]
params:
  PX: {values: [auto, 4, 8], default: auto}                    # neighbouring outputs of a lane
  DOWN: {values: [auto, 1, 2, 3, 4, 5, 6, 8, 12, 16], default: auto}           # periods of lines that a warp goes down
  RING: {values: [2, 3, 4, 6], default: 2}                     # periods in shared memory
  WARPS: {values: [1, 2, 4, 8], default: 8}
  RESIDENT: {values: [auto, 1, 2, 3, 4, 5, 6, 8], default: auto}   # blocks of an SM, at least: bounds the registers
let:
  live: floor((r - 1) * dilation_y, stride_y) + 1              # lines of outputs that one line of the input belongs to
  period: live * stride_y                          # lines of input that come together
  px: select(PX == 'auto', 4, PX)
  lead: 4 * ceil(pad_left, 4) - pad_left           # columns before the first one that counts: vectors of 16 bytes
  vectors: ceil(lead + (px - 1) * stride_x + (s - 1) * dilation_x + 1, 4)     # of a lane's line
  held: r * s + live * px + 4 * vectors            # registers: weights, sums, a line
  resident: select(RESIDENT == 'auto', max(1, floor(4 * floor(512, 8 * ceil(30 + held, 8)), WARPS)), RESIDENT)   # a quarter of an SM has 512 registers for a lane
  across: 32 * px                                              # outputs side by side
  box_w: 4 * vectors + 31 * px * stride_x
  slot: 128 * ceil(period * box_w * 4, 128)
  tiles_x: ceil(q, across)
  planes: tiles_x * n * k
  rows: floor(select(DOWN != 'auto', DOWN, fit_down) * period - (r - 1) * dilation_y - 1, stride_y) + 1
  parts: ceil(p, rows)
  smem: 128 + WARPS * RING * (slot + 8)
candidates:
  height:
    rows:
      d1:  {fit_down: 1}
      d2:  {fit_down: 2}
      d3:  {fit_down: 3}
      d4:  {fit_down: 4}
      d5:  {fit_down: 5}
      d6:  {fit_down: 6}
      d8:  {fit_down: 8}
      d12: {fit_down: 12}
      d16: {fit_down: 16}
    least: ceil(ceil(planes * ceil(p, floor(fit_down * period - (r - 1) * dilation_y - 1, stride_y) + 1), WARPS), sm_count * resident) * (fit_down * period + 6)   # waves; lines, and a start that is worth some
where:
  - cc >= 90
  - held <= 200
  - box_w <= 256
  - resident * 32 * WARPS <= 2048
  - smem <= smem_per_block_optin
define:
  PIXELS: px
  VECTORS: vectors
  LEAD: lead
  BOX_W: box_w
  SLOT: slot
  BLOCKS: resident
  FOURS: q % 4 == 0
  EPI_BIAS: has(bias)
  EPI_SLOPE: slope(epilogue)
  EPI_PRELU: select(has(prelu), k, 0)
specialise: [r, s, stride_y, stride_x, dilation_y, dilation_x]
tensor_maps:
  input_map: {of: input, box: "box_w, period, 1, 1", l2: 256}
prepare:
  - symbol: epi_slopes = slopes
    when: has(prelu)
steps:
  - kernel: conv_depthwise_lines_f32
    grid: ceil(planes * parts, WARPS)
    block: 32 * WARPS
    smem: smem
    args: input_map, filter, bias, output, k, p, q, pad_top, pad_left + lead, tiles_x, rows, parts, n
*/

/* What changed from depthwise_rows: how a line comes. There a thread has the next line on its way into registers, which bound what is on its way. Here the copy engine brings a period
 * of lines at a time into a ring of each warp's own, with zeros for what is outside of the image, as in depthwise_bulk_nchw; weights and sums keep all registers. A lane reads its
 * columns as vectors of 16 bytes, neighbours beside each other, and stores four outputs at once.
 *
 * It computes tf32 layers in f32, as depthwise_rows does. Cost: lines of whole 16 bytes, the chip's copy engine, and 128 outputs side by side: for wide images. */
#include "element/epilogue.cuh"
#include "tensor_core/wgmma.cuh"

constexpr int LIVE = (R - 1) * DILATION_Y / STRIDE_Y + 1, PERIOD = LIVE * STRIDE_Y, STRIP = 4 * VECTORS;

extern __shared__ unsigned char shared_raw[]; /* up to 127 bytes in front, rings, barriers */

/* A line under one row of the filter. */
static __device__ __forceinline__ void add_line(float sum[PIXELS], const float line[STRIP], const float weights[S])
{
#pragma unroll
    for (int s = 0; s < S; s++)
#pragma unroll
        for (int x = 0; x < PIXELS; x++)
            sum[x] += line[LEAD + x * STRIDE_X + s * DILATION_X] * weights[s];
}

/* Results of a line, of which `left` are still in it; their sums begin anew. */
static __device__ __forceinline__ void put(float sum[PIXELS], float *to, int k, int left, float own_bias)
{
#pragma unroll
    for (int x = 0; x < PIXELS; x += 4) {
        float v[4];
#pragma unroll
        for (int e = 0; e < 4; e++) {
            v[e] = activate_channel(sum[x + e], k);
            sum[x + e] = own_bias;
            if (!FOURS && x + e < left)
                to[x + e] = v[e];
        }
        if (FOURS && x < left)
            *reinterpret_cast<float4 *>(to + x) = make_float4(v[0], v[1], v[2], v[3]);
    }
}

extern "C" __global__ void __launch_bounds__(32 * WARPS, BLOCKS)
conv_depthwise_lines_f32(const __grid_constant__ tensor_map input_map, const float *__restrict__ filter, const float *__restrict__ bias, float *__restrict__ output, int K, int P,
                         int Q, int pad, int pad_x, int tiles_x, int rows, int parts, int images)
{
    int warp = threadIdx.x / 32, i = blockIdx.x * WARPS + warp, lane = threadIdx.x % 32, plane = i / tiles_x / parts, k = plane % K, n = plane / K;
    if (n >= images)
        return;
    int p0 = i / tiles_x % parts * rows, q0 = i % tiles_x * (32 * PIXELS);
    rows = min(rows, P - p0);
    int lines = (rows - 1) * STRIDE_Y + (R - 1) * DILATION_Y + 1, asked = 0;
    unsigned rings = (shared_address(shared_raw) + 127) / 128 * 128, ring = rings + warp * (RING * SLOT), come = rings + WARPS * RING * SLOT + warp * (RING * 8);
    auto ask = [&](unsigned slot) {
        barrier_arrive_expect(come + slot * 8, PERIOD * BOX_W * 4);
        copy_box_4d(ring + slot * SLOT, &input_map, come + slot * 8, q0 * STRIDE_X - pad_x, p0 * STRIDE_Y - pad + asked, k, n);
        asked += PERIOD;
    };
    if (lane == 0) {
        for (int a = 0; a < RING; a++)
            barrier_init(come + a * 8, 1);
        barrier_init_done();
        for (int a = 0; a < RING && asked < lines; a++)
            ask(a);
    }
    float weights[R * S], sum[LIVE][PIXELS], own_bias = EPI_BIAS ? bias[k] : 0.0f;
#pragma unroll
    for (int t = 0; t < R * S; t++)
        weights[t] = filter[t * K + k];
#pragma unroll
    for (int j = 0; j < LIVE * PIXELS; j++)
        sum[j / PIXELS][j % PIXELS] = own_bias;
    float *to = output + ((size_t)plane * P + p0) * Q + q0 + lane * PIXELS;
    int left = Q - q0 - lane * PIXELS;
    unsigned slot = 0, parity = 0;
    __syncwarp();
    for (int from = 0; from < lines; from += PERIOD) {
        unsigned at = ring + slot * SLOT + lane * (PIXELS * STRIDE_X * 4);
        barrier_wait(come + slot * 8, parity);
#pragma unroll
        for (int u = 0; u < PERIOD; u++) {
            float line[STRIP];
#pragma unroll
            for (int v = 0; v < VECTORS; v++)
                load_shared_4(line + 4 * v, at + u * BOX_W * 4 + v * 16);
#pragma unroll
            for (int r = 0; r < R; r++) {
                int reach = u + (LIVE - 1) * STRIDE_Y - r * DILATION_Y, which = reach / STRIDE_Y % LIVE, row = from / STRIDE_Y + reach / STRIDE_Y - (LIVE - 1);
                if (reach % STRIDE_Y || row < 0 || row >= rows)
                    continue;
                add_line(sum[which], line, weights + r * S);
                if (r == R - 1) { /* its last line */
                    put(sum[which], to, k, left, own_bias);
                    to += Q;
                }
            }
        }
        __syncwarp(); /* all lanes have read it */
        if (lane == 0 && asked < lines)
            ask(slot);
        if (++slot == RING)
            slot = 0, parity ^= 1;
    }
}
