/* bench 1
op: upsample
what: nearest of rows that begin at any element - a strip of them goes through shared memory, so that every access to global memory is of 16 bytes
from: nearest
needs: block <= 8 and c * h * w * block * block < 2147483648 and smem <= 98304 and n * planes < 65536
layout: {input: [NHWC, NCHW], output: same}
dtype: {input: [f32, f16, bf16], output: same}
params:
  PIXELS: {values: [auto, 1, 2, 4], default: auto}
  THREADS: {values: [auto, 32, 64, 128, 256], default: auto}
  TILE: {values: [8192, 12288, 16384, 24576], default: 12288}   # bytes of the output that a block makes, about
let:
  nhwc: layout(input) == NHWC
  v: 16 / size(input)
  planes: select(nhwc, 1, c)
  ch: select(nhwc, c, 1)                                        # of a line: neighbours
  # An item: px pixels of the input by cg channels.
  cg: select(ch <= 4, ch, select(ch % 4 == 0, 4, select(ch % 2 == 0, 2, 1)))
  px: select(cg < ch, 1, select(PIXELS != 'auto', PIXELS, select(ch * block <= 8, 4, select(ch * block <= 16, 2, 1))))
  threads: select(THREADS == 'auto', select(block <= 2, 128, select(block <= 4, 64, 32)), THREADS)
  widest: px * max(1, floor(select(cg < ch, 4, 1) * threads * cg, ch))
  width: px * ceil(w, px * ceil(w, widest))                     # strips of a row are alike
  rows: max(1, floor(TILE, block * block * width * ch * size(input)))
  same: w * block * ch % v == 0                                 # the lines of a pixel begin alike: made once
  lines: select(same, 1, block)
  pitch_in: ceil(width * ch + 2 * v, v) * v + w * ch % v
  pitch_out: ceil(width * block * ch + 2 * v, v) * v + w * block * ch % v
  out_at: ceil(rows * pitch_in + 2 * v, v) * v
  smem: (out_at + rows * lines * pitch_out + 2 * v) * size(input)
define:
  ELEMENT_T: type(input)
  CHANNELS: ch
  WIDTH: w
  STRIP: width
  ROWS: rows
  PX: px
  CG: cg
  LINES: lines
  PITCH_IN: pitch_in
  PITCH_OUT: pitch_out
  OUT_AT: out_at
  BLOCK_THREADS: threads
specialise: [block]
steps:
  - kernel: nearest_strip
    grid: ceil(w, width) * ceil(h, rows), n * planes
    block: threads
    smem: smem
    args: input, output, h, n * c * h * w
*/

/* What changed from nearest: rows need not be whole vectors, as in upsample_bilinear/strip. Where the output's rows begin alike, a row is made once and given BLOCK times.
 *
 * Measured on an H200, f16, cold, 3 channels x2 of 1439 x 2559: 0.99 x a copy of the same bytes (reports/gallery/movement-h200.md). */
#include "movement/strip.cuh"

constexpr int V = 16 / sizeof(ELEMENT_T), LINE = WIDTH * CHANNELS, GROUPS = CHANNELS / CG;
constexpr int OUT = PX * BLOCK; /* pixels of an item in a line of the output */
constexpr bool WHOLE = CG == CHANNELS; /* an item's pixels are neighbours */
constexpr int STORE = divisor(LINE * BLOCK, divisor(WHOLE ? OUT * CG : CG, V)), LOAD = divisor(LINE, divisor(WHOLE ? PX * CG : CG, V));

extern __shared__ __align__(16) unsigned char shared[];

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, 512 / BLOCK_THREADS) nearest_strip(const ELEMENT_T *__restrict__ input, ELEMENT_T *__restrict__ output, int H, long long end)
{
    constexpr int strips = (WIDTH + STRIP - 1) / STRIP;
    int x0 = blockIdx.x % strips * STRIP, y0 = blockIdx.x / strips * ROWS, pixels = min(STRIP, WIDTH - x0), rows = min(ROWS, H - y0);
    long long line = (long long)blockIdx.y * H + y0, from = line * LINE + x0 * CHANNELS, to = line * (BLOCK * BLOCK * LINE) + x0 * BLOCK * CHANNELS;
    ELEMENT_T *in = reinterpret_cast<ELEMENT_T *>(shared), *out = in + OUT_AT;
    strip::take<ELEMENT_T, ROWS, STRIP * CHANNELS, PITCH_IN, BLOCK_THREADS>(in, input, from, LINE, pixels * CHANNELS, 0, rows, end);
    copy_async_commit();
    copy_async_wait<0>();
    __syncthreads();
    in += from & (V - 1);
    ELEMENT_T *made = out + (to & (V - 1));
    for (int i = threadIdx.x; i < STRIP / PX * GROUPS; i += BLOCK_THREADS) {
        int c = i % GROUPS * CG, x = i / GROUPS * PX;
        if (x >= pixels)
            break;
        int valid = pixels - x; /* pixels of the item */
        for (int k = 0; k < rows; k++) {
            const ELEMENT_T *item = in + k * PITCH_IN + x * CHANNELS + c;
            ELEMENT_T v[PX * CG];
#pragma unroll
            for (int j = 0; j < PX * CG; j += LOAD)
                if (PX == 1 || j / CG < valid) {
                    pack<ELEMENT_T, LOAD> p = load_pack<ELEMENT_T, LOAD>(item + j);
#pragma unroll
                    for (int e = 0; e < LOAD; e++)
                        v[j + e] = p.item[e];
                } else
#pragma unroll
                    for (int e = 0; e < LOAD; e++)
                        v[j + e] = ELEMENT_T(0);
#pragma unroll
            for (int dy = 0; dy < LINES; dy++)
#pragma unroll
                for (int j = 0; j < OUT * CG; j += STORE) {
                    pack<ELEMENT_T, STORE> p;
#pragma unroll
                    for (int e = 0; e < STORE; e++)
                        p.item[e] = v[(j + e) / (BLOCK * CG) * CG + (j + e) % CG];
                    store_pack<ELEMENT_T, STORE>(made + (k * LINES + dy) * PITCH_OUT + x * BLOCK * CHANNELS + (WHOLE ? j : j / CG * CHANNELS + c + j % CG), p);
                }
        }
    }
    __syncthreads();
    if (LINES == BLOCK)
        strip::give<ELEMENT_T, ROWS * BLOCK, STRIP * BLOCK * CHANNELS, PITCH_OUT, BLOCK_THREADS>(output, out, to, LINE * BLOCK, pixels * BLOCK * CHANNELS, 0, rows * BLOCK);
    else
        for (int dy = 0; dy < BLOCK; dy++)
            strip::give<ELEMENT_T, ROWS, STRIP * BLOCK * CHANNELS, PITCH_OUT, BLOCK_THREADS>(output, out, to + dy * LINE * BLOCK, LINE * BLOCK * BLOCK, pixels * BLOCK * CHANNELS, 0, rows);
}
