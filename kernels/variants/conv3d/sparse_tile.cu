/* bench 1
what: tiles without a marked input are skipped, the others computed whole; writes the active voxels
like: tiled
layout: {mask_in: bits, mask_out: bits}
mask: {needs: [input, both], writes: output, inactive: untouched, reads: active, tile: [TD, TH, 32], weights: k * c * t * r * s * size(filter)}
define:
  BOTH: marks(mask) == 'both'                       # outputs are active where inputs are marked
steps:
  - kernel: conv3d_sparse
    grid: ceil(o, TD) * ceil(p, TH) * ceil(q, 32), ceil(k, KPT), n
    block: 32, WARPS
    smem: smem
    args: input, filter, bias, mask_in, mask_out, output, c, d, h, w, k, o, p, q
*/

/* What changed from tiled: a block first reads the marks of the inputs that its tile uses, one warp per row of 32 outputs. Each lane reads its own window, the
 * ballot is the row's word of the output's mask, and the blocks of the first output channels write it. If no word has a bit, the block ends without reading or
 * writing anything else. Unmarked inputs are staged as zeros without being read, and only active voxels are stored.
 *
 * Balls fill tiles badly: at 1 % of the voxels the scheduled work is six times the useful work, and it beats cuDNN's tensor cores at almost no density.
 * sparse_mma has smaller tiles, on tensor cores. */
#include "element/mask_bits.cuh"
#include "volume/tile.cuh"

static __device__ __forceinline__ bool voxel_marked(const unsigned *mask, const volume &v, int z, int y, int x)
{
    return z >= 0 && z < v.D && y >= 0 && y < v.H && x >= 0 && x < v.W && (mask[((size_t)z * v.H + y) * ((v.W + 31) / 32) + x / 32] >> (x % 32) & 1);
}

/* One bit for each output of the row that begins at q: does its window contain a marked input? With stride 1 a lane has one row of the window, and its word is
 * the input's words, shifted by each column and ORed; otherwise each lane tests one output. */
static __device__ __forceinline__ unsigned row_marks(const unsigned *mask, const volume &v, int o, int p, int q0)
{
    int q = q0 + threadIdx.x, words = (v.W + 31) / 32;
    unsigned word = 0;
    if (BOTH)
        return mask_bits(mask + ((size_t)o * v.H + p) * words, q0, words);
    for (int i = threadIdx.x; STRIDE == 1 && i < FILTER_D * R; i += 32) {
        int z = o - PAD + i / R, y = p - PAD + i % R;
        for (int s = 0; s < S && z >= 0 && z < v.D && y >= 0 && y < v.H; s++)
            word |= mask_bits(mask + ((size_t)z * v.H + y) * words, q0 - PAD + s, words);
    }
    for (int step = 16; STRIDE == 1 && step; step /= 2)
        word |= __shfl_xor_sync(~0u, word, step);
    if (STRIDE == 1)
        return v.Q - q0 < 32 ? word & ((1u << (v.Q - q0)) - 1) : word;
    bool active = false;
    for (int tap = 0; tap < FILTER_D * R * S && q < v.Q; tap++)
        active |= voxel_marked(mask, v, o * STRIDE - PAD + tap / (R * S), p * STRIDE - PAD + tap / S % R, q * STRIDE - PAD + tap % S);
    return __ballot_sync(~0u, active);
}

extern "C" __global__ void __launch_bounds__(32 * WARPS)
conv3d_sparse(const INPUT_T *input, const INPUT_T *filter, const float *bias, const unsigned *mask_in, unsigned *mask_out, OUTPUT_T *output, int C, int D, int H, int W,
              int K, int O, int P, int Q)
{
    extern __shared__ float space[];
    auto inputs = reinterpret_cast<float(*)[IN_D * IN_H * IN_W]>(space);
    auto filters = reinterpret_cast<float(*)[FILTER_D * R * S][KPT]>(space + CC * IN_D * IN_H * IN_W);
    volume v = {C, D, H, W, K, O, P, Q};
    volume_place at = place_of_block(v);
    int words = (Q + 31) / 32;
    mask_in += (size_t)blockIdx.z * D * H * ((W + 31) / 32);
    mask_out += (size_t)blockIdx.z * O * P * words;
    unsigned marks[VOXELS], any = 0;
    for (int j = 0; j < VOXELS; j++) {
        int row = row_of(j), o = at.o + row / TH, p = at.p + row % TH;
        bool real = row < ROWS && o < O && p < P; /* of a whole warp */
        marks[j] = real ? row_marks(mask_in, v, o, p, at.q) : 0;
        any |= marks[j];
        if (real && blockIdx.y == 0 && threadIdx.x == 0)
            mask_out[((size_t)o * P + p) * words + at.q / 32] = marks[j];
    }
    if (!__syncthreads_or(any))
        return;
    input += (size_t)blockIdx.z * C * D * H * W;
    output += (size_t)blockIdx.z * K * O * P * Q;
    float sum[VOXELS][KPT] = {{0.0f}};
    for (int c0 = 0; c0 < C; c0 += CC) {
        __syncthreads();
        stage_inputs(input, v, at, c0, inputs, [&](int z, int y, int x) { return voxel_marked(mask_in, v, z, y, x); });
        stage_filters(filter, v, at.k, c0, filters);
        __syncthreads();
        multiply(inputs, filters, sum);
    }
    store_sums(output, bias, v, at, sum, [&](int j) { return marks[j] >> threadIdx.x & 1; });
}
