/* bench 1
op: conv2d
what: tensor cores for up to 4 input channels - the depth is a filter row's adjacent values, fragments are built by 4-byte loads
from: mma_sync
needs:
  - dilation_y == 1 and dilation_x == 1 and groups == 1 and stride_y <= 2 and stride_x <= 2 and c <= 4 and k % 8 == 0 and r * ceil(s * c, 2) <= 32
  - c * h * w < 2147483648 and k * p * q < 2147483648
layout: {input: NHWC, filter: KRSC, output: NHWC, residual: NHWC}
dtype: {input: [f16, bf16], output: same, bias: f32, accumulate: f32}
algorithm: implicit_gemm
epilogue: [bias, residual, relu, leaky_relu]
claims: cc == 90 and stride_y == 1 and n * p * q >= 65536
params:
  PER_SM: {values: [1, 2, 3, 4], default: 2}       # blocks an SM
  WIDE: {values: [0, 1], default: 1}               # a block has more than 64 channels where its weights fit the registers
  TILE_W: {values: [32, 64], default: 32}          # outputs of a tile's row
let:
  depths: ceil(r * ceil(s * c, 2), 8)              # products of 16
  kb: select(k <= 32, 32, select(depths == 1 and k > 64 and WIDE, select(k <= 96, 96, 128), 64))   # output channels a block
  tw: floor(TILE_W, stride_x)                      # tile: 8 rows of so many outputs
  row_elements: ((tw - 1) * stride_x + s) * c
  pitch: row_elements + 2 + row_elements % 2
  copies: select(stride_x * c % 2 == 1, 2, 1)
  tile_elements: (7 * stride_y + r) * row_elements
  stages: 2 * copies * ((7 * stride_y + r) * pitch + 64) * 2     # bytes, at most
  smem: 16 * ceil(stages, 16)
  tiles_x: ceil(q, tw)
  tiles_y: ceil(p, 8)
  tiles: n * tiles_y * tiles_x
where:
  - tile_elements <= 16 * 256                      # of which a thread keeps its share in registers
  - smem <= smem_per_block_optin
  - cc >= 80
define:
  PAD_MORE: pad_left - pad_top                     # of columns, beside that of rows
  TYPE: type(input)
  BLOCK_K: kb
  TILE_Q: tw
  PITCH: pitch
  COPIES: copies
  EPI_BIAS: has(bias)
  EPI_RESIDUAL: has(residual)
  EPI_SLOPE: slope(epilogue)
specialise: [c, r, s, stride_y, stride_x]
steps:
  - kernel: conv_mma_few_in
    grid: min(tiles, max(1, floor(PER_SM * sm_count, ceil(k, kb)))), ceil(k, kb)
    block: 256
    smem: smem
    args: input, filter, bias, residual, output, h, w, k, p, q, pad_top, tiles_x, tiles_y, tiles
*/

/* What changed from mma_sync: the depth. A first layer has 3 channels, and a depth of 16 channels per tap would multiply 13 zeros. But in NHWC the values under one filter row, s * c of them, are contiguous: 9 for 3x3 and 3 channels. Padded to 10 for each row, a filter is 30 deep:
 * two products of 16.
 *
 *  - A lane's share of a fragment is pairs of adjacent values. Pair i of pixel x is at a constant distance from
 *    the pixel's first value, so a fragment is one 4-byte load a register, with no ldmatrix. If a pixel begins
 *    at an odd value, 4 bytes would not be aligned: so the tile is stored a second time, shifted by one value.
 *  - What the padding pairs read is masked to zero: it may be an infinity of the adjacent pixel.
 *  - Weights stay in registers (32 for 3x3, 3 -> 64). The next tile is loaded into registers while one is computed: it is only 2 KB.
 *  - The columns are permuted as in mma_sync: a quad stores 64 bytes of a pixel.
 *  - 3x3 leaves one pair of 16 over. It carries the bias: the pixel's values there are 1 and 1, the weights are the bias rounded to the type and the remainder (22 bits together in f16, 16 in bf16). So the bias needs neither a register nor an addition; and one instruction rounds
 *    two results: a third of all instructions less.
 *
 * The work is writing the output: 118 of 124 MB at 720p. Cost: 27 of 32 products are used. Measured on an H200, 3 -> 64 at 720p, cold: 39.5 us, 3.1 x
 * (older code) cuDNN's best. A block gathers the weights' fragments once, while it loads the first tile; it was slower when every warp gathered them for
 * itself, 64 loads of 2 bytes per lane, and much slower with fragments of pixels from global memory, no tile and no barrier: 16 loads of 2 bytes in place
 * of 8 of 4. Three blocks of 80 registers spill. To try: results through stmatrix and TMA, as in dense/staged_store.cuh, so that warps need not store. */
#include "element/element.cuh"
#include "element/epilogue.cuh"
#include "tensor_core/mma.cuh"

constexpr int ROW = S * C;                         /* values under a filter row */
constexpr int PAIRS = (ROW + 1) / 2;               /* of a filter row */
constexpr int DEPTHS = (R * PAIRS + 7) / 8;        /* products of 16 */
constexpr int TILE_H = 7 * STRIDE_Y + R;
constexpr int ROW_ELEMENTS = ((TILE_Q - 1) * STRIDE_X + S) * C;
constexpr int SHARE = (TILE_H * ROW_ELEMENTS + 255) / 256; /* of the tile, a thread's */
constexpr int COPY_ELEMENTS = TILE_H * PITCH + (96 - TILE_H * PITCH % 64) % 64; /* the second copy begins half of the banks further on */
constexpr int STAGE_ELEMENTS = COPIES * COPY_ELEMENTS;
constexpr int GROUPS = BLOCK_K / 32;
constexpr int SPARE = EPI_BIAS && R * PAIRS % 8 != 0 ? R * PAIRS : -1; /* the pair that carries the bias */

extern __shared__ __align__(16) unsigned short shared[]; /* two stages of COPIES copies of [TILE_H][PITCH] */

struct place {
    int n, p, q;
};

/* This thread's values of the tile whose first output is (p, q): on their way until `put` uses them. */
static __device__ __forceinline__ void fetch(unsigned short v[SHARE], const TYPE *input, place at, int H, int W, int pad)
{
    int y0 = at.p * STRIDE_Y - pad, x0 = at.q * STRIDE_X - pad - PAD_MORE;
    int first = max(0, -x0) * C, last = (W - x0) * C;
    const unsigned short *image = reinterpret_cast<const unsigned short *>(input) + (size_t)at.n * C * H * W + ((long long)y0 * W + x0) * C;
#pragma unroll
    for (int i = 0; i < SHARE; i++) {
        int e = i * 256 + threadIdx.x, row = e / ROW_ELEMENTS, column = e % ROW_ELEMENTS;
        bool valid = row < TILE_H && y0 + row >= 0 && y0 + row < H && column >= first && column < last;
        v[i] = valid ? image[(long long)row * W * C + column] : 0;
    }
}
static __device__ __forceinline__ void put(unsigned short *stage, const unsigned short v[SHARE])
{
#pragma unroll
    for (int i = 0; i < SHARE; i++) {
        int e = i * 256 + threadIdx.x, row = e / ROW_ELEMENTS, column = e % ROW_ELEMENTS;
        if (row >= TILE_H)
            continue;
        stage[row * PITCH + column] = v[i];
        if (COPIES == 2 && column > 0)
            stage[COPY_ELEMENTS + row * PITCH + column - 1] = v[i];
    }
}

/* Pair i of this lane's: of product i / 2, its lower (even i) or upper 8 of the depth. */
static __device__ __forceinline__ int pair_of(int i) { return i * 4 + threadIdx.x % 4; }

/* Right operands: column 8 j + n of a group of 32 holds channel 8 * (n / 2) + 2 * j + n % 2. All warps hold the same: each makes an eighth of them for all. */
constexpr int OPERANDS = 2 * DEPTHS * GROUPS * 4; /* words of a lane */

static __device__ __forceinline__ void load_weights(unsigned held[DEPTHS][GROUPS * 4][2], const TYPE *filter, const float *bias, int k0, int K)
{
    __shared__ unsigned words[OPERANDS * 32];
    const unsigned short *weights = reinterpret_cast<const unsigned short *>(filter);
#pragma unroll
    for (int w = threadIdx.x; w < OPERANDS * 32; w += 256) {
        int lane = w % 32, j = w / 32 % (GROUPS * 4), column = lane / 4;
        int pair = w / (GROUPS * 4 * 32) * 4 + lane % 4, r = pair / PAIRS, e = pair % PAIRS * 2;
        int k = k0 + j / 4 * 32 + column / 2 * 8 + j % 4 * 2 + column % 2;
        const unsigned short *from = weights + ((size_t)k * R + r) * ROW + e;
        bool valid = k < K && r < R;
        unsigned low = valid ? from[0] : 0, high = valid && e + 1 < ROW ? from[1] : 0;
        words[w] = low | high << 16;
        if (pair == SPARE && k < K) {
            float high_part = to_f32(from_f32<TYPE>(bias[k]));
            words[w] = two_of<TYPE>(high_part, isinf(high_part) ? 0 : bias[k] - high_part);
        }
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < OPERANDS; i++)
        held[i / (GROUPS * 8)][i % (GROUPS * 4)][i / (GROUPS * 4) % 2] = words[i * 32 + threadIdx.x % 32];
}

static __device__ __forceinline__ void store_8(TYPE *output, const TYPE *residual, size_t e, const float sum[8])
{
    pack<TYPE, 8> add;
    uint4 out;
    unsigned *two = reinterpret_cast<unsigned *>(&out);
    if (EPI_RESIDUAL)
        add = load_pack<TYPE, 8>(residual + e);
#pragma unroll
    for (int i = 0; i < 4; i++) {
        float x = sum[2 * i] + (EPI_RESIDUAL ? to_f32(add.item[2 * i]) : 0), y = sum[2 * i + 1] + (EPI_RESIDUAL ? to_f32(add.item[2 * i + 1]) : 0);
        two[i] = EPI_SLOPE == 0 ? relu_of<TYPE>(two_of<TYPE>(x, y)) : two_of<TYPE>(activate(x), activate(y));
    }
    *reinterpret_cast<uint4 *>(output + e) = out;
}

/* 16 pixels: all products and stores. `to`: element of the lane's first channel of its first pixel; room: pixels of the row from there on; channels: from k on. */
static __device__ __forceinline__ void multiply_16(const unsigned a[DEPTHS][4], const unsigned held[DEPTHS][GROUPS * 4][2], const float own_bias[GROUPS * 4][2],
                                                   TYPE *output, const TYPE *residual, size_t to, int room, int K, int channels)
{
#pragma unroll
    for (int g = 0; g < GROUPS; g++) { /* one after the other: 16 sums live, not 32 */
        float sum[4][4];
#pragma unroll
        for (int j = 0; j < 4; j++)
            multiply_16x8x16_from<TYPE>(sum[j], a[0], held[0][g * 4 + j], own_bias[g * 4 + j]);
#pragma unroll
        for (int d = 1; d < DEPTHS; d++)
#pragma unroll
            for (int j = 0; j < 4; j++)
                multiply_16x8x16<TYPE>(sum[j], a[d], held[d][g * 4 + j]);
#pragma unroll
        for (int half = 0; half < 2; half++) {
            float eight[8];
#pragma unroll
            for (int i = 0; i < 8; i++)
                eight[i] = sum[i / 2][half * 2 + i % 2];
            if (half * 8 < room && g * 32 < channels)
                store_8(output, residual, to + (size_t)half * 8 * K + g * 32, eight);
        }
    }
}

extern "C" __global__ void __launch_bounds__(256, DEPTHS <= (TILE_Q == 32 ? 3 : 2) && (SPARE >= 0 || !EPI_BIAS) && !EPI_RESIDUAL ? 2 : 1)
conv_mma_few_in(const TYPE *input, const TYPE *filter, const float *bias, const TYPE *residual, TYPE *output, int H, int W, int K, int P, int Q, int pad,
                int tiles_x, int tiles_y, int tiles)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, k0 = blockIdx.y * BLOCK_K;
    auto locate = [&](int t) { return place{t / tiles_x / tiles_y, t / tiles_x % tiles_y * 8, t % tiles_x * TILE_Q}; };
    unsigned short next[SHARE];
    fetch(next, input, locate(blockIdx.x), H, W, pad);
    unsigned held[DEPTHS][GROUPS * 4][2];
    load_weights(held, filter, bias, k0, K);
    int k = k0 + lane % 4 * 8; /* and the same 32 further on */
    float own_bias[GROUPS * 4][2];
#pragma unroll
    for (int i = 0; i < GROUPS * 8; i++) {
        int own = k + i / 8 * 32 + i % 8;
        own_bias[i / 2][i % 2] = EPI_BIAS && SPARE < 0 && own < K ? bias[own] : 0.0f;
    }
    for (int i = threadIdx.x; i < 2 * STAGE_ELEMENTS; i += 256) /* the end of a row's copy is loaded, masked and never used */
        shared[i] = 0;
    __syncthreads();

    /* Distance of this lane's pairs from a pixel's first value, in elements, and which of their two values count. */
    int distance[2 * DEPTHS];
    unsigned mask[2 * DEPTHS];
#pragma unroll
    for (int i = 0; i < 2 * DEPTHS; i++) {
        int pair = pair_of(i), r = pair / PAIRS, e = pair % PAIRS * 2;
        distance[i] = r < R ? r * PITCH + e : 0;
        mask[i] = r >= R ? 0 : e + 1 < ROW ? 0xffffffff : 0xffff;
    }
    unsigned one = SPARE >= 0 && lane % 4 == SPARE % 4 ? two_of<TYPE>(1, 1) : 0;
    int first = lane / 4 * STRIDE_X * C; /* value of the row where this lane's pixel begins */
    int own = warp * STRIDE_Y * PITCH + (COPIES == 2 && first % 2 ? COPY_ELEMENTS + first - 1 : first);

    put(shared, next);
    __syncthreads();
    for (int tile = blockIdx.x, stage = 0; tile < tiles; tile += gridDim.x, stage ^= 1) {
        bool more = tile + gridDim.x < tiles;
        if (more)
            fetch(next, input, locate(tile + gridDim.x), H, W, pad);
        place at = locate(tile);
        int p = at.p + warp, room = p < P ? Q - at.q - lane / 4 : 0; /* outputs of this row from the lane's first on */
        size_t to = (((size_t)at.n * P + p) * Q + at.q + lane / 4) * K + k;
#pragma unroll 1
        for (int x = 0; x < TILE_Q; x += 16, room -= 16, to += (size_t)16 * K) {
            const unsigned short *pixels = shared + stage * STAGE_ELEMENTS + own + x * STRIDE_X * C;
            unsigned a[DEPTHS][4];
#pragma unroll
            for (int i = 0; i < 2 * DEPTHS; i++)
#pragma unroll
                for (int half = 0; half < 2; half++) /* the lane's pixel, and the one 8 further on */
                    a[i / 2][i % 2 * 2 + half] = (*reinterpret_cast<const unsigned *>(pixels + distance[i] + half * 8 * STRIDE_X * C) & mask[i]) | (i == SPARE / 4 ? one : 0);
            multiply_16(a, held, own_bias, output, residual, to, room, K, K - k);
        }
        if (more)
            put(shared + (stage ^ 1) * STAGE_ELEMENTS, next);
        __syncthreads();
    }
}
