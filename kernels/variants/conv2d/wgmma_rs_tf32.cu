/* bench 1
what: wgmma_rs in tf32 - the two consumers hold the weights of different input channels and add their sums
like: wgmma_rs
needs:
  - stride == 1 and dilation == 1 and groups == 1 and r * s <= 9 and c <= 64 and c % 4 == 0 and k % 4 == 0
  - c * h * w < 2147483648 and k * p * q < 2147483648
dtype: {input: f32, output: f32}
math: [tf32]
epilogue: [bias, residual, relu, leaky_relu]
claims: c >= 48 and n * p * q >= 65536
params:
  RING:
let:
  row_bytes: 2 * ceil(strip + s - 1, 8) * 1024
  ring: select(r <= 3, 5, r + 2)                       # image rows in shared memory
  rest:
  smem: 1024 + max(ring * row_bytes + strip * 256, r * row_bytes + r * s * 8192) + 16 * ring + 64
  blocks_k: ceil(k, 64)
where:
  - cc == 90
  - smem <= smem_per_block_optin
define:
  EPI_SCALE:                                       # two warpgroups add up parts: a scale would have to wait
  WEIGHTS_SHARED:
  TYPE:
  CHANNELS:
  SPLIT:
  RESIDUAL_AHEAD:
  RING: ring
tensor_maps:
  input_map: {box: "32, strip + s - 1, 1, 1"}
  filter_map: {box: "32, 1, 1, 64"}
  output_map: {box: "32, strip, 1, 1"}
  residual_map: {box: "32, strip, 1, 1"}
steps:
  - kernel: conv_wgmma_tf32
    grid: ceil(rows_all, rows_block), blocks_k
    block: 384
    smem: smem
    args: input_map, filter_map, output_map, residual_map, bias, k, p, pad_top, strips, rows_all, rows_block
*/

/* What changed from wgmma_rs: the elements have 4 bytes. 64 x 576 weights would be 288 registers per thread, so each consumer holds those of 32 input channels, 144
 * registers again, and both work on every output row. A pixel is 256 bytes, which is two rows of an operand: an image row arrives as two planes of 32 channels,
 * and each consumer reads its own.
 *
 * Then the two halves of a sum must be added. Thread i of one consumer holds the same elements of the result as thread i of the other, so one writes its 64 sums
 * to the staging area, as two planes of 32 channels again, and the other adds its own to them there and starts the copy of the row. They swap roles with every
 * row, and each thread only waits for its counterpart. While one stores, the other already multiplies the next row. Row g of a warp's 16 is channel 2 g and row g
 * + 8 channel 2 g + 1 here, so that a thread's two channels are 8 bytes, and the swizzle spreads a warp's over all banks. A residual is loaded into the staging
 * area first, and both add to it.
 *
 * The weights are rounded to tf32; the tensor cores ignore the low 13 bits of the pixels, which is a truncation. That is within the accuracy of tf32, but differs
 * from a library that rounds both.
 *
 * Cost: tf32 has half the rate of fp16 and twice the bytes, so both lower bounds double. The consumers' weights pass shared memory in turn. */
#include "element/element.cuh"
#include "element/epilogue.cuh"

constexpr int PLANE_BYTES = (STRIP_WIDTH + S - 1 + 7) / 8 * 1024, ROW_BYTES = 2 * PLANE_BYTES, BOX_BYTES = (STRIP_WIDTH + S - 1) * 128;
constexpr int TAPS = R * S, SUMS = STRIP_WIDTH / 2, WEIGHT_BYTES = TAPS * 8192, STAGED_BYTES = STRIP_WIDTH * 256;
#include "dense/image_rows.cuh"
constexpr int REST = RING * ROW_BYTES + STAGED_BYTES;
constexpr int EARLY = REST - WEIGHT_BYTES < R * ROW_BYTES ? R : (REST - WEIGHT_BYTES) / ROW_BYTES; /* rows that are loaded before the weights have passed */
constexpr int AREA = REST < EARLY * ROW_BYTES + WEIGHT_BYTES ? EARLY * ROW_BYTES + WEIGHT_BYTES : REST;

extern __shared__ unsigned char shared_raw[]; /* ring and staged row, before that weights; barriers */

struct barriers {
    unsigned weights_come, weights_gone, met, residual; /* two, two, two, one */
};

static __device__ __forceinline__ void ask_weights(unsigned to, unsigned barrier, const tensor_map *map, int c0, int k0)
{
    barrier_arrive_expect(barrier, WEIGHT_BYTES);
    for (int tap = 0; tap < TAPS; tap++)
        copy_box_4d(to + tap * 8192, map, barrier, c0, tap, 0, k0);
}

static __device__ __forceinline__ void produce(const ring &ring, const share &own, const barriers &b, unsigned weights, const tensor_map *map,
                                               const tensor_map *filter_map, int pad)
{
    ask_weights(weights, b.weights_come, filter_map, 0, blockIdx.y * 64);
    loader load(own, pad);
    for (int i = 0; load.more(own) || i <= EARLY; i++) {
        if (i == EARLY) {
            barrier_wait(b.weights_gone, 0);
            ask_weights(weights, b.weights_come + 8, filter_map, 32, blockIdx.y * 64);
            barrier_wait(b.weights_gone + 8, 0);
        }
        if (!load.more(own))
            continue;
        unsigned full = ring.full + i % RING * 8;
        int x = load.at.strip * STRIP_WIDTH - pad - PAD_MORE;
        ring.wait_empty(i);
        barrier_arrive_expect(full, 2 * BOX_BYTES);
        copy_box_4d(ring.row(i), map, full, 0, x, load.y, load.at.image);
        copy_box_4d(ring.row(i) + PLANE_BYTES, map, full, 32, x, load.y, load.at.image);
        load.next(own, pad);
    }
}

static __device__ __forceinline__ void multiply_row(float sum[SUMS], const ring &ring, int first, int plane, const unsigned (*held)[4])
{
    wgmma_begin();
#pragma unroll
    for (int r = 0; r < R; r++) {
        unsigned long long row = matrix_rows_128(ring.row(first + r) + plane * PLANE_BYTES);
#pragma unroll
        for (int s = 0; s < S; s++)
#pragma unroll
            for (int c = 0; c < 4; c++) /* descriptors count in 16 bytes: a pixel is 8, 8 channels are 2 */
                wgmma_registers_tf32<STRIP_WIDTH>(sum, held[(r * S + s) * 4 + c], row + s * 8 + c * 2, r + s + c > 0);
    }
    wgmma_commit();
}

static __device__ __forceinline__ float2 load_two(unsigned address)
{
    float2 v;
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(v.x), "=f"(v.y) : "r"(address) : "memory");
    return v;
}
static __device__ __forceinline__ void store_two(unsigned address, float x, float y)
{
    asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(address), "f"(x), "f"(y) : "memory");
}

/* Both halves of a staged row, to the tensor or (`load`) from it; one thread. */
static __device__ __forceinline__ void boxes(bool load, unsigned staged, const tensor_map *map, unsigned barrier, int k0, int K, int q, int p, int image)
{
#pragma unroll
    for (int half = 0; half < 2; half++) {
        if (load)
            copy_box_4d(staged + half * (STAGED_BYTES / 2), map, barrier, k0 + half * 32, q, p, image);
        else if (k0 + half * 32 < K)
            store_box_4d(map, staged + half * (STAGED_BYTES / 2), k0 + half * 32, q, p, image);
    }
}

/* Writes one half of a row's sums to the staging area: the first, or (not `gives`) added to it, with the epilogue. `at`: of this lane's first pixel, 2 *
 * (lane % 4). The swizzle of the next one differs in 16 bytes; eight pixels further on it is the same. */
static __device__ __forceinline__ void put_half(unsigned at, const float sum[SUMS], bool gives, float bias0, float bias1)
{
#pragma unroll
    for (int i = 0; i < SUMS / 2; i++) { /* pixel 8 * (i / 2) + 2 * (lane % 4) + i % 2 */
        unsigned to = (at ^ i % 2 * 16) + i / 2 * 1024 + i % 2 * 128;
        float x = sum[i / 2 * 4 + i % 2], y = sum[i / 2 * 4 + 2 + i % 2];
        if (EPI_RESIDUAL || !gives) {
            float2 there = load_two(to);
            x += there.x;
            y += there.y;
        }
        store_two(to, gives ? x : activate(x + bias0), gives ? y : activate(y + bias1));
    }
}

/* What a warp has read may be overwritten by a bulk copy: an arrival alone does not wait for the reads. */
static __device__ __forceinline__ void let_go(unsigned barrier)
{
    fence_async();
    __syncwarp();
    if (threadIdx.x % 32 == 0)
        barrier_arrive(barrier);
}

static __device__ __forceinline__ void consume(const ring &ring, const share &own, const barriers &b, unsigned weights, unsigned staged, const tensor_map *output_map,
                                               const tensor_map *residual_map, const float *bias, int K)
{
    int me = warpgroup_index() - 1, lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4, k0 = blockIdx.y * 64;
    bool leader = threadIdx.x % 128 == 0;
    int row = warp * 16 + lane % 8 * 2 + lane / 8 % 2; /* of the weights that this lane addresses: channel 2 g for row g, 2 g + 1 for row g + 8 */
    barrier_wait(b.weights_come + me * 8, 0);
    unsigned held[TAPS * 4][4];
#pragma unroll
    for (int i = 0; i < TAPS * 4; i++) {
        load_matrix_4(held[i], weights + row * 128 + i / 4 * 8192 + (i % 4 * 2 + lane / 16 ^ row % 8) * 16);
#pragma unroll
        for (int j = 0; j < 4; j++)
            held[i][j] = round_tf32(__uint_as_float(held[i][j]));
    }
    let_go(b.weights_gone + me * 8);
    barrier_wait(b.weights_gone + 8, 0); /* the staging area is free */

    int k = k0 + warp * 16 + lane / 4 * 2;
    float bias0 = EPI_BIAS && k < K ? bias[k] : 0.0f, bias1 = EPI_BIAS && k < K ? bias[k + 1] : 0.0f;
    unsigned at = staged + warp / 2 * (STAGED_BYTES / 2) + lane % 4 * 256 + (warp % 2 * 64 + lane / 4 * 8 ^ lane % 4 * 32);
    place now(own);
    int freed = 0; /* image rows that this warpgroup has let go */
    for (int turn = 0; now.row < own.end; turn++) {
        bool gives = turn % 2 == me;
        int q = now.strip * STRIP_WIDTH;
        if (EPI_RESIDUAL && gives && leader) {
            store_wait_read(); /* of the row before, which this consumer stored */
            barrier_arrive_expect(b.residual, STAGED_BYTES);
            boxes(true, staged, residual_map, b.residual, k0, K, q, now.p, now.image);
        }
        for (int r = 0; r < R; r++)
            ring.wait_full(now.loaded + r);
        float sum[SUMS];
        multiply_row(sum, ring, now.loaded, me, held);
        place next = now;
        next.advance(own, 1);
        wgmma_wait<0>();
        if (next.row < own.end)
#pragma unroll 1
            for (; freed < next.loaded; freed++) {
                ring.wait_full(freed);
                if (lane == 0)
                    barrier_arrive(ring.empty + freed % RING * 8);
            }
        if (!gives) {
            barrier_wait(b.met + (me ^ 1) * 8, turn / 2 & 1);
        } else if (EPI_RESIDUAL) {
            barrier_wait(b.residual, turn & 1);
        } else {
            if (leader)
                store_wait_read();
            warpgroup_sync(me + 1);
        }
        put_half(at, sum, gives, bias0, bias1);
        if (gives) {
            barrier_arrive(b.met + me * 8);
        } else {
            fence_async();
            warpgroup_sync(me + 1);
            if (leader) {
                boxes(false, staged, output_map, 0, k0, K, q, now.p, now.image);
                store_commit();
            }
        }
        now = next;
    }
    if (leader)
        store_wait();
}

extern "C" __global__ void __launch_bounds__(384, 1)
conv_wgmma_tf32(const __grid_constant__ tensor_map input_map, const __grid_constant__ tensor_map filter_map, const __grid_constant__ tensor_map output_map,
                const __grid_constant__ tensor_map residual_map, const float *bias, int K, int P, int pad, int strips, int rows_all, int rows_block)
{
    unsigned base = (shared_address(shared_raw) + 1023) / 1024 * 1024, at = base + AREA;
    struct ring ring = {base, at, at + RING * 8};
    struct barriers b = {at + RING * 16, at + RING * 16 + 16, at + RING * 16 + 32, at + RING * 16 + 48};
    if (threadIdx.x == 0) {
        for (int i = 0; i < RING; i++) {
            barrier_init(ring.full + i * 8, 1);
            barrier_init(ring.empty + i * 8, 8); /* a lane of each consuming warp */
        }
        for (int i = 0; i < 2; i++) {
            barrier_init(b.weights_come + i * 8, 1);
            barrier_init(b.weights_gone + i * 8, 4);
            barrier_init(b.met + i * 8, 128);
        }
        barrier_init(b.residual, 1);
        barrier_init_done();
    }
    __syncthreads();
    int first = blockIdx.x * rows_block;
    struct share own = {first, min(first + rows_block, rows_all), P, strips};
    unsigned weights = base + EARLY * ROW_BYTES;
    if (threadIdx.x < 128) {
        give_registers<24>();
        if (threadIdx.x == 0)
            produce(ring, own, b, weights, &input_map, &filter_map, pad);
    } else {
        take_registers<240>();
        consume(ring, own, b, weights, base + RING * ROW_BYTES, &output_map, &residual_map, bias, K);
    }
}
