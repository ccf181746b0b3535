/* bench 1
op: conv2d
what: Boda's tconv - blocks of output lines, a grid of MT pixels by NT channels per thread, one input channel and one filter row in shared memory at a time
from: tiled_halo
needs:
  - dilation_y == 1 and dilation_x == 1 and groups == 1 and c * h * w < 2147483648 and k * p * q < 2147483648
  - r <= 11 and s <= 11
layout: {input: NCHW, filter: [KCRS, KRSC], output: NCHW}
dtype: {input: f32, output: f32, bias: f32, accumulate: f32}
epilogue: [bias, relu, leaky_relu]
params:                         # Boda's MNt = MT:NT and MNb = MB:NB
  MT: {values: [4, 8, 16, 32], default: 8}         # pixels a thread
  NT: {values: [4, 8, 16], default: 8}             # output channels a thread
  MB: {values: [4, 8, 16, 32], default: 8}         # MB * NB bounds the threads of a block
  NB: {values: [4, 8, 16, 32], default: 16}
let:
  num_pels: n * p * q
  pels: MT
  out_chan: min(NT, 3 * pels)
  out_chan_tile: min(16, 3 * ceil(num_pels, pels), ceil(k, out_chan))
  blk_y: min(floor(MB * NB, out_chan_tile), ceil(num_pels, pels))
  threads: blk_y * out_chan_tile
  blk_bline: ceil(n * p, blk_y)                    # the seven dimensions of the work: this,
  blk_bx: ceil(q, pels)                            # this and
  out_chan_blk: ceil(k, out_chan * out_chan_tile)  # this are the grid, blk_y and out_chan_tile the threads, pels and out_chan the registers
  images: select(p % blk_y == 0, 1, select(blk_y % p == 0, blk_y / p, min(n, 1 + ceil(blk_y - 1, p))))   # that the lines of a block touch
  in_lines: max((blk_y - images) * stride_y + r * images, (blk_y - 1) * stride_y + r)   # the second: r < stride_y, and all in one image
  blk_x: (pels - 1) * stride_x + s
  filts_smem: s * out_chan * out_chan_tile         # floats: one filter row
  in_smem: in_lines * blk_x                        # floats: one input channel
  smem: 4 * (filts_smem + in_smem)
  registers: pels * out_chan + blk_x + out_chan    # floats a thread: sums, strip of the input, strip of the filter
where:
  - 4 * (filts_smem + in_smem) <= smem_per_block   # static shared memory
  - registers <= 224                               # of 255; the rest is addresses
  - threads <= 1024
ablate: [store, bias, maths]
predict: {threads: threads, smem: smem, registers: registers}
define:
  PAD_MORE: pad_left - pad_top                     # of columns, beside that of rows
  PELS: pels
  OUT_CHAN: out_chan
  OUT_CHAN_TILE: out_chan_tile
  BLK_Y: blk_y
  IMAGES: images
  IN_LINES: in_lines
  BLK_X: blk_x
  FILTER: layout(filter)
  OUTPUT_T: type(output)
  EPI_BIAS: has(bias)
  EPI_SLOPE: slope(epilogue)
specialise: [r, s, stride_y, stride_x]
scratch:
  filts: f32[out_chan_blk * c * r * s * out_chan * out_chan_tile]
prepare:
  - kernel: reblock_filter
    grid: ceil(out_chan_blk * c * r * s * out_chan * out_chan_tile, 256)
    block: 256
    args: filter, filts, c, k, out_chan_blk
steps:
  - kernel: conv_tconv
    grid: blk_bline, blk_bx, out_chan_blk
    block: threads
    args: input, filts, bias, output, n, c, h, w, k, p, q, pad_top
*/

/* What changed from tiled_halo: every fixed size became a parameter, and a model in the head states the cost of a configuration beforehand.
 *
 * The lines of all images, one below the other, are cut into blocks of blk_y, each line into pieces of pels pixels. A thread
 * computes one piece for out_chan channels: pels * out_chan sums. A block's threads are blk_y lines by out_chan_tile groups
 * of channels. For each input channel the block loads the lines under its outputs (in_lines x blk_x floats); for each filter
 * row of it, s x out_chan x out_chan_tile weights. A thread reads its strip of the line, blk_x floats, once for all s taps.
 *
 * If a block's lines belong to two images, the lines under the last output of one and the first of the next do not overlap: `images` counts that.
 *
 * The model: `smem` is exact, and equals what the compiler reports. `registers` counts what must be live at once; past 224 it spills. Boda's issue 21 is the
 * point MT=32 NT=16 MB=8 NB=16 on AlexNet's first layer: 1056 + 13230 floats are 57144 bytes, and 663 registers. Boda takes fewer pixels a thread than MT where
 * the whole batch has so few that a fifth would be wasted; here MT is what it says.
 *
 * Cost: two barriers for every filter row, with only one input channel's work between them; the default tile of 8 lines of 8 pixels reads its halo 1.6 times; adjacent threads are groups of channels, so a store
 * scatters over as many planes. Boda re-orders the whole input into blocks beforehand; here the block picks its lines itself. */
#include "element/ablate.cuh"
#include "element/element.cuh"
#include "element/epilogue.cuh"
#include "element/tensor.cuh"

constexpr int THREADS = BLK_Y * OUT_CHAN_TILE, ROW_WEIGHTS = S * OUT_CHAN * OUT_CHAN_TILE;

/* filts[block][c][r][s][channel of a thread][group of channels]: what a filter row needs is one piece, zero past the last channel. */
extern "C" __global__ void __launch_bounds__(256) reblock_filter(const float *filter, float *filts, int C, int K, int blocks)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= blocks * C * R * ROW_WEIGHTS)
        return;
    int group = i % OUT_CHAN_TILE, rest = i / OUT_CHAN_TILE;
    int j = rest % OUT_CHAN;
    rest /= OUT_CHAN;
    int s = rest % S, r = rest / S % R, c = rest / S / R % C, block = rest / S / R / C;
    int k = (block * OUT_CHAN + j) * OUT_CHAN_TILE + group;
    filts[i] = k < K ? filter[filter_at(k, c, r, s, K, C, R, S)] : 0.0f;
}

/* One channel of the lines under the block's outputs. */
static __device__ __forceinline__ void load_lines(float *to, const float *input, int c, int image0, int p0, int x0, int N, int C, int H, int W, int P, int pad)
{
    for (int i = threadIdx.x; i < IN_LINES * BLK_X; i += THREADS) {
        int t = i / BLK_X, image = 0, start = 0, top = p0 * STRIDE_Y - pad; /* line `start` of the tile is row `top` of the image */
#pragma unroll
        for (int j = 1; j < IMAGES; j++) {
            int begin = (j * P - p0) * STRIDE_Y + j * (R - STRIDE_Y);
            if (t >= begin) {
                image = j;
                start = begin;
                top = -pad;
            }
        }
        int y = top + t - start, x = x0 + i % BLK_X;
        bool inside = y >= 0 && y < H && x >= 0 && x < W && image0 + image < N;
        to[i] = inside ? input[(((size_t)(image0 + image) * C + c) * H + y) * W + x] : 0.0f;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
conv_tconv(const float *input, const float *filts, const float *bias, float *output, int N, int C, int H, int W, int K, int P, int Q, int pad)
{
    __shared__ float in_smem[IN_LINES * BLK_X];
    __shared__ float filts_smem[ROW_WEIGHTS];
    int group = threadIdx.x % OUT_CHAN_TILE, line = threadIdx.x / OUT_CHAN_TILE; /* of the block */
    int first = blockIdx.x * BLK_Y, image0 = first / P, p0 = first % P;
    int x0 = blockIdx.y * PELS * STRIDE_X - pad - PAD_MORE;
    filts += (size_t)blockIdx.z * C * R * ROW_WEIGHTS;
    /* Every further image begins a filter's height, not a stride, below the line before. */
    int own_image = (p0 + line) / P;
    bool exists = image0 + own_image < N; /* past the last image there are threads without a line, and no room for one */
    const float *own_lines = in_smem + (exists ? line * STRIDE_Y + own_image * (R - STRIDE_Y) : 0) * BLK_X;

    float sum[PELS][OUT_CHAN];
#pragma unroll
    for (int i = 0; i < PELS * OUT_CHAN; i++)
        sum[i / OUT_CHAN][i % OUT_CHAN] = 0.0f;
    ABLATED_WORD
    for (int c = 0; c < C; c++) {
        __syncthreads(); /* the last channel's readers are done */
        load_lines(in_smem, input, c, image0, p0, x0, N, C, H, W, P, pad);
#pragma unroll 1
        for (int r = 0; r < R; r++) {
            __syncthreads(); /* the last row's readers are done; the first time, the input is there */
            for (int i = threadIdx.x; i < ROW_WEIGHTS; i += THREADS)
                filts_smem[i] = filts[((size_t)c * R + r) * ROW_WEIGHTS + i];
            __syncthreads();
            float strip[BLK_X];
#pragma unroll
            for (int i = 0; i < BLK_X; i++)
                strip[i] = own_lines[r * BLK_X + i];
#ifdef ABLATE_MATHS
#pragma unroll
            for (int i = 0; i < BLK_X; i++)
                ABLATED_MIX(strip[i]);
#endif
#pragma unroll
            for (int s = 0; s < S; s++)
#pragma unroll
                for (int j = 0; j < OUT_CHAN; j++) {
                    float weight = filts_smem[(s * OUT_CHAN + j) * OUT_CHAN_TILE + group];
#ifdef ABLATE_MATHS
                    ABLATED_MIX(weight);
#else
#pragma unroll
                    for (int i = 0; i < PELS; i++)
                        sum[i][j] += strip[i * STRIDE_X + s] * weight;
#endif
                }
        }
    }
    ABLATED_WORD_TO(sum[0][0]);
    int image = image0 + own_image, p = (p0 + line) % P;
    if (!exists)
        return;
    ABLATED_BEGIN
#pragma unroll
    for (int j = 0; j < OUT_CHAN; j++) {
        int k = (blockIdx.z * OUT_CHAN + j) * OUT_CHAN_TILE + group;
        if (k >= K)
            continue;
        float *to = output + (((size_t)image * K + k) * P + p) * Q;
#pragma unroll
        for (int i = 0; i < PELS; i++)
            if (blockIdx.y * PELS + i < Q)
                STORE(to[blockIdx.y * PELS + i], epilogue(sum[i][j], bias, k));
    }
    ABLATED_END(output)
}
