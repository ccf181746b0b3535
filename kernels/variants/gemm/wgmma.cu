/* bench 1
op: gemm
what: 128 x 256 of c a block on the tensor cores, fed by TMA; two blocks share what they read of b
from: tiled
needs: k % 8 == 0 and n % 8 == 0                    # TMA's granularity: rows of whole 16 bytes
dtype: {a: [f16, bf16], b: same, c: same}
math: [f16_acc32, bf16_acc32]
params:
  WIDTH: {values: [128, 192, 256], default: 256}    # columns of c a block makes
  CLUSTER: {values: [1, 2], default: 2}             # blocks below each other that share b
  STAGES: {values: [3, 4, 5, 6], default: 4}        # of 64 terms, in shared memory
  GROUP: {values: [4, 8, 16], default: 8}           # rows of clusters whose columns are walked together
let:
  stage: (128 + WIDTH) * 128
  smem: STAGES * stage + 32768 + 1024 + 128         # two consumers' results on their way out; alignment; barriers
  rows: ceil(m, 128 * CLUSTER)
  tiles: rows * ceil(n, WIDTH)
where:
  - cc == 90
  - smem <= smem_per_block_optin
define:
  TYPE: type(a)
tensor_maps:
  a_map: {of: a, dims: "k, m, 1, 1", box: "64, 128, 1, 1", swizzle: 128, l2: 256}
  b_map: {of: b, dims: "n, k, 1, 1", box: "64, 64, 1, 1", swizzle: 128, l2: 256}
  c_map: {of: c, dims: "n, m, 1, 1", box: "64, 64, 1, 1", swizzle: 128}
steps:
  - kernel: gemm
    grid: min(tiles, floor(sm_count, CLUSTER)) * CLUSTER
    block: 384
    smem: smem
    attributes: {cluster: CLUSTER}
    args: a_map, b_map, c_map, k, rows, tiles
*/

/* What changed from tiled: specialised warps. One thread starts the TMA copies of the next 64 terms, as many
 * stages ahead as there is room for, and two warpgroups of 64 rows each multiply what has arrived; they
 * synchronise only at mbarriers. Operands do not go through registers, so all of them hold sums: 128 a thread.
 *
 *  - b is stored with contiguous columns, while the tensor core's right operand usually has contiguous terms; it can also read the other order (wgmma_across), so
 *    nothing is transposed.
 *  - A tile of 128 x 256 needs 48 KiB for 1024 cycles of products. If two blocks are one below the other, each loads half of b's 32 KiB and TMA multicasts it to
 *    both: 32 KiB. Without that the L2 cache is the limit.
 *  - Blocks are persistent and loop over tiles, GROUP rows of clusters at a time, so that tiles that run together form nearly a square and share rows and columns
 *    in L2. While the results of a tile are stored (dense/staged_pixels.cuh), the first stages of the next one are loaded. */
#define EPI_BIAS 0
#define EPI_RESIDUAL 0
#define EPI_SLOPE 1.0f
#define BLOCK_K WIDTH
#define PIXEL_BLOCKS 1
#define SQUARE_BLOCKS 0
#define TILE_W 64
#define STORE_BOX 64
#include "dense/staged_pixels.cuh"

constexpr int A_BYTES = 128 * 128, B_BYTES = WIDTH * 128, STAGE_SIZE = A_BYTES + B_BYTES, BOXES = WIDTH / 64, BOX_BYTES = 64 * 128;

extern __shared__ unsigned char shared_raw[];

/* The stage is free, for a warp; in each block of the cluster, which all filled a part of it. */
static __device__ __forceinline__ void release(unsigned barrier)
{
    int lane = threadIdx.x % 32;
    if (CLUSTER > 1 && lane < CLUSTER)
        barrier_arrive_at(barrier, lane);
    else if (lane == 0)
        barrier_arrive(barrier);
}

/* Row and column of tile t of those that the clusters walk over. */
static __device__ __forceinline__ void place_of(int t, int rows, int tiles, int &row, int &column)
{
    int width = GROUP * (tiles / rows), first = t / width * GROUP, high = min(rows - first, GROUP);
    row = (first + t % width % high) * CLUSTER * 128;
    column = t % width / high * WIDTH;
}

extern "C" __global__ void __launch_bounds__(384, 1)
gemm(const __grid_constant__ tensor_map a_map, const __grid_constant__ tensor_map b_map, const __grid_constant__ tensor_map c_map, int k, int rows, int tiles)
{
    unsigned base = (shared_address(shared_raw) + 1023) & ~1023u, staging = base + STAGES * STAGE_SIZE, full = staging + 2 * STAGED_BYTES, empty = full + STAGES * 8;
    unsigned rank = CLUSTER > 1 ? blockIdx.x % CLUSTER : 0;
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) {
            barrier_init(full + s * 8, 1);
            barrier_init(empty + s * 8, 8 * CLUSTER);
        }
        barrier_init_done();
    }
    __syncthreads();
    if (CLUSTER > 1)
        cluster_sync();
    int group = warpgroup_index(), steps = (k + 63) / 64, row, column, step = 0;
    if (group == 0) {
        give_registers<24>();
        for (int t = blockIdx.x / CLUSTER; t < tiles && threadIdx.x == 0; t += gridDim.x / CLUSTER) {
            place_of(t, rows, tiles, row, column);
            for (int i = 0; i < steps; i++, step++) {
                int s = step % STAGES;
                unsigned at = base + s * STAGE_SIZE;
                barrier_wait(empty + s * 8, (step / STAGES & 1) ^ 1);
                barrier_arrive_expect(full + s * 8, STAGE_SIZE);
                copy_box_4d(at, &a_map, full + s * 8, i * 64, row + rank * 128, 0, 0);
#pragma unroll 1
                for (int box = rank; box < BOXES; box += CLUSTER)
                    if (CLUSTER > 1)
                        copy_box_4d_to((1 << CLUSTER) - 1, at + A_BYTES + box * BOX_BYTES, &b_map, full + s * 8, column + box * 64, i * 64, 0, 0);
                    else
                        copy_box_4d(at + A_BYTES + box * BOX_BYTES, &b_map, full + s * 8, column + box * 64, i * 64, 0, 0);
            }
        }
    } else {
        take_registers<240>();
        staged_pixels out = {staging, 0, 0, 0, 0};
        out.take(group - 1);
        float sum[1][WIDTH / 2];
        for (int t = blockIdx.x / CLUSTER; t < tiles; t += gridDim.x / CLUSTER) {
            place_of(t, rows, tiles, row, column);
            for (int i = 0; i < steps; i++, step++) {
                int s = step % STAGES;
                unsigned at = base + s * STAGE_SIZE;
                barrier_wait(full + s * 8, step / STAGES & 1);
                unsigned long long a = matrix_rows_128(at + (group - 1) * (A_BYTES / 2)), b = matrix_across_128(at + A_BYTES, BOX_BYTES);
                wgmma_begin();
#pragma unroll
                for (int d = 0; d < 4; d++) /* 16 terms: 32 bytes of a row of a, 16 rows of b */
                    wgmma_across<TYPE, WIDTH>(sum[0], a + d * 2, b + d * 128, i + d > 0);
                wgmma_commit();
                wgmma_wait<1>(); /* the stage before is done with */
                if (i > 0)
                    release(empty + (step - 1) % STAGES * 8);
            }
            wgmma_wait<0>();
            release(empty + (step - 1) % STAGES * 8);
            out.store(sum, &c_map, nullptr, 0, column, 0, 0, row + rank * 128 + (group - 1) * 64);
        }
        out.finish();
    }
    if (CLUSTER > 1)
        cluster_sync(); /* nobody goes while a neighbour still sends to it */
}
