/* bench 1
op: upsample
what: nearest at copy speed - one thread per vector of the input, stored to all its places, in either layout
from: nearest_warp
needs: block <= 8 and c * h * w * block * block < 2147483648
layout: {input: [NHWC, NCHW], output: same}
dtype: {input: [f32, f16, bf16], output: same}
let:
  nhwc: layout(input) == NHWC
  v_max: 16 / size(input)
  line: select(nhwc, w * block * c, w)                 # what vectors must divide: a line of the output, or (NCHW) of the input
  v: select(line % v_max == 0, v_max, select(line % 4 == 0, 4, select(line % 2 == 0, 2, 1)))
define:
  NHWC: nhwc
  CHANNELS: select(c % v == 0, 0, c)                   # a constant where elements are looked for one by one
  WHOLE: c % v == 0                                    # NHWC: a vector is channels of one pixel
  ELEMENT_T: type(input)
  VEC: v
specialise: [block]
steps:
  - kernel: nearest
    grid: ceil(select(nhwc, h * (line / v), c * h * w / v), 256), n
    block: 256
    args: input, output, c, h, w
*/

/* What changed from nearest_warp: vectors belong to threads, not to warps, so no lane is idle for any number of channels; and NCHW works too.
 *
 *   NHWC  a thread makes a vector of an output line and stores it to all BLOCK of them. Neighbours store neighbours, and BLOCK of them load the same vector, which L1
 *         gives them. Threads that own input vectors load each once, but store pixels two by two: 0.95 of a copy where this has 0.97. Three channels are no whole
 *         vectors of a pixel: then each element of the vector is looked for by itself, 8 small loads for BLOCK wide stores.
 *   NCHW  a thread reads VEC pixels of a row and widens them in registers to BLOCK vectors, which go to BLOCK rows. Stored by the thread itself, a warp's vectors would lie
 *         BLOCK apart, several stores to a sector; so the warp deals them out anew through shared memory, and each of its stores is one piece (as in d2s_native).
 *
 * What is left is the DRAM's own rate of writing. */
#include "element/element.cuh"

using vec = pack<ELEMENT_T, VEC>;

static __device__ __forceinline__ void nhwc(const ELEMENT_T *input, ELEMENT_T *output, int i, int C, int W)
{
    int per_line = W * BLOCK * C / VEC, y = i / per_line, e = i % per_line * VEC; /* e: element of the output line */
    const ELEMENT_T *row = input + (size_t)y * W * C;
    vec v;
    if (WHOLE) {
        v = load_pack<ELEMENT_T, VEC>(row + e / C / BLOCK * C + e % C);
    } else {
        constexpr int channels = CHANNELS ? CHANNELS : 1;
#pragma unroll
        for (int j = 0; j < VEC; j++)
            v.item[j] = row[(e + j) / (channels * BLOCK) * channels + (e + j) % channels];
    }
#pragma unroll
    for (int dy = 0; dy < BLOCK; dy++)
        store_pack<ELEMENT_T, VEC>(output + ((size_t)y * BLOCK + dy) * W * BLOCK * C + e, v);
}

/* Where vector k of a warp waits: eight lanes write every BLOCK-th, and an even BLOCK would take them to the same banks. */
static __device__ __forceinline__ int spread(int k) { return k ^ (k >> 3 & ((BLOCK & -BLOCK) - 1)); }

/* All lanes of a warp; `valid`: whether vector i exists. */
static __device__ __forceinline__ void nchw(const ELEMENT_T *input, ELEMENT_T *output, int i, bool valid, int W)
{
    __shared__ vec dealt[8][32 * BLOCK];
    vec *own = dealt[threadIdx.x / 32];
    int lane = threadIdx.x % 32, per_line = W / VEC, first = -1; /* first: this vector's place in the output, in vectors; from there BLOCK neighbours */
    if (valid) {
        vec in = load_pack<ELEMENT_T, VEC>(input + (size_t)i * VEC);
        first = (i / per_line * per_line * BLOCK + i % per_line) * BLOCK; /* BLOCK rows of BLOCK times the width */
#pragma unroll
        for (int j = 0; j < BLOCK; j++) {
            vec out;
#pragma unroll
            for (int e = 0; e < VEC; e++)
                out.item[e] = in.item[(j * VEC + e) / BLOCK];
            own[spread(lane * BLOCK + j)].word = out.word;
        }
    }
    __syncwarp();
#pragma unroll
    for (int j = 0; j < BLOCK; j++) {
        int k = j * 32 + lane, at = __shfl_sync(0xffffffff, first, k / BLOCK); /* vector k of the warp is the k % BLOCK-th of lane k / BLOCK */
        if (at < 0)
            continue;
        decltype(vec::word) *to = reinterpret_cast<decltype(vec::word) *>(output) + at + k % BLOCK, word = own[spread(k)].word;
#pragma unroll
        for (int dy = 0; dy < BLOCK; dy++)
            to[(size_t)dy * per_line * BLOCK] = word;
    }
}

extern "C" __global__ void __launch_bounds__(256) nearest(const ELEMENT_T *input, ELEMENT_T *output, int C, int H, int W)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    bool valid = i < (NHWC ? H * (W * BLOCK * C / VEC) : C * H * W / VEC);
    size_t image = (size_t)blockIdx.y * C * H * W;
    input += image;
    output += image * BLOCK * BLOCK;
    if (!NHWC)
        nchw(input, output, i, valid, W);
    else if (valid)
        nhwc(input, output, i, C, W);
}
