/* bench 1
op: upsample_bilinear
what: rows that begin at any element - a strip of them goes through shared memory, so that every access to global memory is of 16 bytes
like: upsample/nearest_strip
from: march
needs: block <= 16 and c * (h + 1) * w * block < 2147483648 and smem <= 98304 and n * planes < 65536
let:
  # An item: px pixels of the input by cg channels.
  cg: select(ch <= 4 and ch * block <= 32, ch, select(ch % 4 == 0 and block <= 8, 4, select(ch % 2 == 0, 2, 1)))
  # The item's pixels in a line of the output are at most 24 bytes: more would meet in the same banks, or leave a block with one row.
  most: floor(24, ch * block * size(input))
  px: select(cg < ch, 1, select(PIXELS != 'auto', PIXELS, select(most >= 4, 4, select(most >= 2, 2, 1))))
  pitch_in: ceil((width + 2) * ch + 2 * v, v) * v + w * ch % v
  out_at: ceil((rows + 1) * pitch_in + 2 * v, v) * v
  smem: (out_at + rows * block * pitch_out + 2 * v) * size(input)
define:
  LINES: null
steps:
  - kernel: bilinear_strip
    grid: ceil(w, width) * ceil(h + 1, rows), n * planes
    block: threads
    smem: smem
    args: input, output, h, n * c * h * w
*/

/* What changed from march: rows need not be whole vectors. An image of 3 channels and an odd width has rows that begin at every second byte; a plane of NCHW too. `cell` moved 2 to 4
 * bytes at a time there, at 0.3 to 0.5 of the speed of `copy`.
 *
 *  - In: pieces of ROWS + 1 rows of the input are copied to shared memory, 16 bytes at a time, with the same offset from a multiple of 16 as in global memory (movement/strip.cuh). The edge's pixel
 *    is repeated beside the edge, so that no thread tests for it.
 *  - Between: a thread computes the outputs of PX pixels, or of CG channels of one, and goes down the rows as in march. It reads single elements and stores whole words: 16 bytes if rows are
 *    multiples of that, else 4.
 *  - Out: the pieces of the output, 16 bytes at a time.
 *
 * Cost: an instruction for each element on its way in, and shared memory, which limits the warps. Measured on an H200, f16, cold, 3 channels x2 of 1440 x 2560: 0.97 x a copy of the same bytes
 * (reports/gallery/movement-h200.md). Bank conflicts limit the outputs of a thread: 48 bytes of a line in place of 24 are slower at odd widths. At odd widths instructions are the limit: 99 of a warp
 * for 512 bytes moved (emu). To try next: words in place of single elements if a row's offset is even. */
#include "movement/strip.cuh"

constexpr int V = 16 / sizeof(ELEMENT_T), LINE = WIDTH * CHANNELS, GROUPS = CHANNELS / CG;
constexpr int OUT = PX * BLOCK; /* pixels of an item in a line of the output */
constexpr int RUN = CG == CHANNELS ? OUT * CG : CG; /* elements of an item that are neighbours */
constexpr int STORE = divisor(LINE * BLOCK, divisor(RUN, V)), LOAD = divisor(LINE, divisor(CG, V));

extern __shared__ __align__(16) unsigned char shared[];

/* Always the nearer one and a share of the way to the other: the other way round the difference errs by more than the two products may. */
static __device__ __forceinline__ float mix(float a, float b, float share) { return share <= 0.5f ? fmaf(share, b - a, a) : fmaf(share - 1, b - a, b); }
constexpr float share_of(int place) { return (place + 0.5f) / BLOCK; } /* of the farther side, for the output at this place in a cell */

/* The means along the row of an item's outputs, [pixel][channel]. `from`: the first pixel's left neighbour. */
static __device__ __forceinline__ void mean(const ELEMENT_T *from, float (&out)[OUT * CG])
{
    float in[(PX + 2) * CG];
#pragma unroll
    for (int x = 0; x < PX + 2; x++)
#pragma unroll
        for (int c = 0; c < CG; c += LOAD) {
            pack<ELEMENT_T, LOAD> v = load_pack<ELEMENT_T, LOAD>(from + x * CHANNELS + c);
#pragma unroll
            for (int e = 0; e < LOAD; e++)
                in[x * CG + c + e] = to_f32(v.item[e]);
        }
#pragma unroll
    for (int q = 0; q < OUT; q++)
#pragma unroll
        for (int c = 0; c < CG; c++) {
            int cell = (q + BLOCK / 2) / BLOCK;
            out[q * CG + c] = mix(in[cell * CG + c], in[(cell + 1) * CG + c], share_of((q + BLOCK / 2) % BLOCK));
        }
}

static __device__ __forceinline__ void put(ELEMENT_T *to, const float (&x)[OUT * CG])
{
#pragma unroll
    for (int i = 0; i < OUT * CG; i += STORE) {
        float piece[STORE];
#pragma unroll
        for (int e = 0; e < STORE; e++)
            piece[e] = x[i + e];
        store_pack<ELEMENT_T, STORE>(to + (CG == CHANNELS ? i : i / CG * CHANNELS + i % CG), rounded<ELEMENT_T>(piece));
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) bilinear_strip(const ELEMENT_T *__restrict__ input, ELEMENT_T *__restrict__ output, int H, long long end)
{
    constexpr int strips = (WIDTH + STRIP - 1) / STRIP;
    int x0 = blockIdx.x % strips * STRIP, y0 = blockIdx.x / strips * ROWS, pixels = min(STRIP, WIDTH - x0), rows = min(ROWS, H + 1 - y0);
    long long from = ((long long)blockIdx.y * H + y0 - 1) * LINE + (x0 - 1) * CHANNELS; /* rows y0 - 1 on, pixels x0 - 1 on */
    ELEMENT_T *in = reinterpret_cast<ELEMENT_T *>(shared), *out = in + OUT_AT;
    int low = y0 == 0, high = min(rows + 1, H + 1 - y0); /* rows that exist */
    strip::take<ELEMENT_T, ROWS + 1, (STRIP + 2) * CHANNELS, PITCH_IN, BLOCK_THREADS>(in, input, from, LINE, (pixels + 2) * CHANNELS, low, high, end);
    copy_async_commit();
    copy_async_wait<0>();
    __syncthreads();
    in += from & (V - 1);
    if (x0 == 0 || x0 + STRIP >= WIDTH) { /* the edge's pixel again, outside */
        int right = (pixels + PX - 1) / PX * PX + 1; /* what the last item reads */
        for (int i = threadIdx.x; i < (high - low) * CHANNELS; i += BLOCK_THREADS) {
            ELEMENT_T *row = in + (low + i / CHANNELS) * PITCH_IN + i % CHANNELS;
            if (x0 == 0)
                row[0] = row[CHANNELS];
            if (x0 + STRIP >= WIDTH)
                for (int x = pixels + 1; x <= right; x++)
                    row[x * CHANNELS] = row[pixels * CHANNELS];
        }
        __syncthreads();
    }
    long long to = ((long long)blockIdx.y * H * BLOCK + (long long)y0 * BLOCK - BLOCK / 2) * (LINE * BLOCK) + x0 * BLOCK * CHANNELS;
    ELEMENT_T *made = out + (to & (V - 1));
    for (int i = threadIdx.x; i < STRIP / PX * GROUPS; i += BLOCK_THREADS) {
        int c = i % GROUPS * CG, x = i / GROUPS * PX;
        if (x >= pixels)
            break;
        const ELEMENT_T *left = in + x * CHANNELS + c;
        ELEMENT_T *item = made + x * BLOCK * CHANNELS + c;
        float upper[OUT * CG], lower[OUT * CG];
        mean(left + low * PITCH_IN, upper);
        for (int k = 1; k <= rows; k++) {
            mean(left + min(k, high - 1) * PITCH_IN, lower);
#pragma unroll
            for (int dy = 0; dy < BLOCK; dy++) {
                float x[OUT * CG];
#pragma unroll
                for (int e = 0; e < OUT * CG; e++)
                    x[e] = mix(upper[e], lower[e], share_of(dy));
                put(item + ((k - 1) * BLOCK + dy) * PITCH_OUT, x);
            }
#pragma unroll
            for (int e = 0; e < OUT * CG; e++)
                upper[e] = lower[e];
        }
    }
    __syncthreads();
    strip::give<ELEMENT_T, ROWS * BLOCK, STRIP * BLOCK * CHANNELS, PITCH_OUT, BLOCK_THREADS>(output, out, to, LINE * BLOCK, pixels * BLOCK * CHANNELS, y0 == 0 ? BLOCK / 2 : 0,
                                              rows * BLOCK - (y0 + rows > H ? BLOCK / 2 : 0));
}
