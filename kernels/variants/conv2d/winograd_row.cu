/* bench 1
op: conv2d
what: Winograd F(4, 3) along rows on Hopper's tensor cores - inputs are transformed in registers, 18 products instead of 36
from: winograd_rs
needs:
  - r == 3 and s == 3 and stride == 1 and dilation == 1 and groups == 1
  - c % 8 == 0 and k % 8 == 0                          # 16 bytes of a pixel: TMA's granularity
  - c > 64 and max(pad_top, pad_left, pad_bottom, pad_right) <= 1   # of an output with fewer products, roundings of its neighbours' inputs would be too large a share
  - c * h * w < 2147483648 and k * p * q < 2147483648
  - not has(depth_to_space) or not has(residual) and k % 64 == 0 and line % 32 == 0 # what is stored together lies in one line of the output
layout: {input: NHWC, filter: KRSC, output: NHWC, residual: NHWC}
dtype: {input: f16, output: f16, bias: f32, accumulate: f32}
claims: c >= 256 and k >= 256 and n * p * q >= 131072
algorithm: winograd
exact: no
epilogue: [bias, residual, relu, leaky_relu, depth_to_space]
ablate: [store, maths]
let:
  folds: select(has(depth_to_space), block(epilogue), 1)
  line: k / folds                                      # channels that lie side by side in the output; see mma_sync_d2s.cu
  strips: ceil(q, strip)
  bands: floor(p + tall - 1, 2 * tall)                 # 2 tall rows by a strip are what a block computes at once, each warpgroup half of it
  rests: n * strips * (ceil(p, 2 * tall) - bands)      # the last rows of an image, if at most half are left: half a unit
  blocks_k: ceil(k, 64)
  depths: ceil(c, 32) * 2
  blocks: max(1, min(n * strips * bands + rests, floor(sm_count, blocks_k)))
  left: n * strips * bands % blocks                    # units of a last round; in halves if there are enough blocks
  split: select(2 * left + rests <= blocks, left, 0)
  whole: n * strips * bands - split
  alone: select(whole % blocks == 0, ceil(2 * split + rests, blocks), select(whole % blocks + rests > blocks, 1, 0)) # half rounds behind the whole units
  one: has(residual) and not has(depth_to_space) and whole + 2 * split + rests <= blocks # item a block: residuals come by TMA
  smem: 1024 + 3 * 36864 + 2 * 45056 + select(one, 10, 8) * 2048 + 256 + 112 + 256 + 64 # weights, rows, outputs, bias, barriers, notes, barriers
candidates:
  unit:
    rows:
      wide:   {strip: 64, tall: 4}                     # columns of a unit, and rows of each warpgroup
      narrow: {strip: 32, tall: 8}
    least: 2 * ceil(whole, blocks) + alone
where:
  - cc == 90
  - smem <= smem_per_block_optin
define:
  PAD_MORE: pad_left - pad_top                         # of columns, beside that of rows
  FOLLOWS: follows                                     # begins before the layer before it ends
  STRIP_WIDTH: strip
  ONE_ITEM: one
  TYPE: type(input)
  CHANNELS: c
  OUTPUTS: k
  D2S_BLOCK: folds
  D2S_CRD: select(has(depth_to_space), mode(epilogue) == CRD, 0)
  WIDTH: w
  COLUMNS: q
  EPI_BIAS: has(bias)
  EPI_RESIDUAL: has(residual)
  EPI_SCALE: scale(epilogue)
  EPI_SLOPE: slope(epilogue)
tensor_maps:
  input_map: {of: input, box: "32, strip + 1, 2 * tall + 2, 1", element_strides: "1, 4, 1, 1", swizzle: 64, l2: 256}
  fours_map: {of: input, dims: "c, max(1, floor(w, 4)), h, 4, n", strides: "4 * c, w * c, c, h * w * c", box: "32, floor(strip, 4) + 1, 2 * tall + 2, 1, 1", swizzle: 64, l2: 256} # the same, without strides
  output_map: {of: output, dims: "line, q, p * folds, n", box: "32, 32, 1, 1", swizzle: 64}
  residual_map: {of: residual, box: "32, 32, 1, 1", swizzle: 64}
scratch:
  transformed: input[blocks_k * depths * 18432]
prepare:
  - kernel: transform_filter
    grid: blocks_k * depths * 4
    block: 256
    args: filter, transformed, c, k
steps:
  - kernel: conv_winograd_row
    grid: blocks, blocks_k
    block: 256
    smem: smem
    attributes: {pdl: follows}
    args: input_map, fours_map, output_map, residual_map, transformed, bias, residual, p, pad_top, bands, whole, split, whole + 2 * split + rests
*/

/* What changed from winograd_rs: four outputs of a row at once, and any number of channels from 72. Three rows of a 3x3 convolution are 36 products of a pair of
 * channels for four outputs, and 18 with F(4, 3) along each row; downwards it stays direct. The points are 0, +-3/4, +-3/2 and infinity, which f16 represents
 * exactly and whose error is about half that of 0, +-1, +-2 (simulated).
 *
 * A warpgroup computes 4 rows by 64 columns of outputs, 64 channels: 16 tiles in each of 4 rows are the 64 rows of its products. Or it computes 8 rows
 * by 32 columns, if that leaves fewer rows unused: for 96 x 160 pixels and 256 channels every block then has one unit instead of one and a half rounds.
 * Six sums, one of each point, are 192 registers of a thread; it computes four outputs from them once, at the end. A lane loads pixels of two rows and
 * transforms them in registers; the lower row becomes the upper one for the filter's next row. The first two rows of a step are loaded before the last
 * products of the step before. Weights arrive for 16 channels at a time, 36 KiB; pixels for 32, of both warpgroups, as four boxes of every fourth pixel
 * each, so that tiles are adjacent and there are no bank conflicts. With boxes of 16 channels TMA was the limit: about 3.2 cycles for each 32 bytes.
 *
 * Cycles of an SM for 16 channels and both warpgroups: tensor cores 1152; shared memory 1420 (weights 576, pixels 384, arrivals 460). On an H200 a step takes about 2000, with its share of the outputs.
 * Neither of the two is the limit: a scheduler has two warps, and the time of one warp's instructions decides. It loads the operands of two products nine times per step: 16 operations, about 107 cycles, 960 in all.
 * Its other instructions make the step longer, above all those with a long latency. So two steps are unrolled, and slots and phases are counted without a division.
 *
 * Warp 0 loads weights, warps 4 to 7 one phase of the pixels each. A variant in which the last warp that finished with a slot loads the next one (by an atomic counter) saves the wait for the other warpgroup,
 * but waiting for the counter takes longer. A warp of its own for the copies does not fit: 240 registers of the others are too few, and of 9 warps each may have 168. Stores from registers make it 4 %
 * slower than those through shared memory. A map without element strides gains half a per cent. A cluster of two blocks that shares the weights changes nothing. 64 channels with all weights in shared memory
 * take longer than winograd_rs, also if the warpgroups' units are independent and their pixels are prefetched to L2.
 *
 * A depth_to_space only changes addresses: a block's 64 channels are chosen to be contiguous in a line of the output (wgmma_rs_d2s.cu).
 *
 * A warp stores a unit in quarters: 32 channels of one of its two rows. It loads residuals where it adds them. If they
 * are loaded a quarter earlier, it takes longer, because registers spill; if they are prefetched to L2, or loaded by
 * TMA a quarter of a unit ahead, the time is the same. If each block has one item (ONE_ITEM), a slot of pixels is free
 * before the last two steps: TMA loads all residuals into shared memory meanwhile, and results take their place.
 *
 * Computing the position of an item takes some 30 instructions, too many for each load,
 * every second step. So warps compute it once a unit and keep it in shared memory (notes).
 *
 * A few registers are spilled; in the loop some addresses are loaded again. Rounding: the error is 3 to 5 times that of the stored f16, inside the bound of `algorithm: winograd` (tests/unit/test_bound.c
 * simulates it); inputs beyond 11,500 may overflow. */
#include "element/element.cuh"
#include "element/epilogue.cuh"
#include "tensor_core/wgmma.cuh"

constexpr int DEPTHS = (CHANNELS + 31) / 32 * 2;                /* steps of 16 channels */
constexpr int SLICE = 36864, WEIGHT_SLOTS = 3;                  /* all matrices of a step, for 64 output channels */
constexpr int PAIR = 4096;                                      /* two matrices: 64 rows of 64 bytes, swizzled */
constexpr int TALL = 256 / STRIP_WIDTH, ROWS = 2 * TALL + 2;    /* rows of outputs of a warpgroup; of the image, for those of both */
constexpr int ROW = (STRIP_WIDTH / 4 + 1) * 64, PHASE = 11264, SLOT = 4 * PHASE;   /* every fourth pixel of a row, 32 channels of each; of all rows, in blocks of 512 bytes; all four phases */
constexpr int WARPS = STRIP_WIDTH / 32;                         /* beside each other in a row */
constexpr int SLOTS = 2, LOADS = DEPTHS / 2;                    /* of 32 channels */
constexpr unsigned STRIPS = (COLUMNS + STRIP_WIDTH - 1) / STRIP_WIDTH;
constexpr int STAGING = (ONE_ITEM ? 10 : 8) * 2048;             /* outputs of each warp; two more areas (area_of) */
#include "dense/winograd_row.cuh"

extern __shared__ unsigned char shared_raw[]; /* up to 1023 bytes in front, weights, slots of image rows, outputs, bias, barriers */

struct places {
    unsigned weights, slots, staging, bias, come, gone, full, empty; /* come, gone: WEIGHT_SLOTS barriers; full, empty: SLOTS */
    unsigned notes, residual; /* 32 bytes of each warp; a barrier of each */
};

/* The work of a block: units of both warpgroups' rows, then halves of units, which its first warpgroup computes alone: the units that would leave SMs idle in the
 * last round, and the last rows of an image, if at most half are left. */
struct list {
    int whole, split, bands; /* items that are whole units; units in two halves; whole units, one below the other */
};
/* Of an item: first column and row, and the image. */
struct place {
    int x, y, image;
};
static __device__ __forceinline__ place place_of(const list &all, int item)
{
    int half = item - all.whole;
    bool last_rows = half >= 2 * all.split;
    unsigned u = last_rows ? half - 2 * all.split : half < 0 ? item : all.whole + half / 2, line = u / STRIPS, strip = u - line * STRIPS;
    unsigned image = last_rows ? line : (int)line < all.bands ? 0 : line / all.bands;
    unsigned y = last_rows ? all.bands * 2 * TALL : (line - image * all.bands) * 2 * TALL + (half < 0 ? 0 : half % 2 * TALL);
    return {(int)strip * STRIP_WIDTH, (int)y, (int)image};
}

/* As matrix_rows_128, for rows of 64 bytes that are swizzled in blocks of 8 (512 bytes). */
static __device__ __forceinline__ unsigned long long matrix_rows_64(unsigned address)
{
    return (unsigned long long)(address >> 4 & 0x3fff) | 1ull << 16 | 32ull << 32 | 2ull << 62;
}
/* One lane of a warp, which `leads`, arrives. */
static __device__ __forceinline__ void arrive_one(unsigned barrier, int leads)
{
    __syncwarp();
    asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %1, 0;\n@p mbarrier.arrive.shared::cta.b64 _, [%0];\n}" ::"r"(barrier), "r"(leads) : "memory");
}

/* The weights' slot of this step, and of the step before, which the weights after the next go to; and which phase of their barriers. */
struct ring {
    unsigned slot, phase, before, before_phase;
    __device__ __forceinline__ void step()
    {
        before = slot;
        before_phase = phase;
        phase ^= slot == WEIGHT_SLOTS - 1;
        slot = slot == WEIGHT_SLOTS - 1 ? 0 : slot + 1;
    }
};
static __device__ __forceinline__ void ask_weights(const places &at, const TYPE *from, unsigned slot, unsigned phase)
{
    unsigned come = at.come + slot * 8;
    barrier_wait(at.gone + slot * 8, phase);
    barrier_arrive_expect(come, SLICE);
    copy_bytes(at.weights + slot * SLICE, from, SLICE, come);
}
static __device__ __forceinline__ void copy_box_5d(unsigned to, const tensor_map *map, unsigned barrier, int x0, int x1, int x2, int x3, int x4)
{
    asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6, %7}], [%2];" ::"r"(to), "l"(map),
                 "r"(barrier), "r"(x0), "r"(x1), "r"(x2), "r"(x3), "r"(x4)
                 : "memory");
}
struct image_maps {
    const tensor_map *all, *fours; /* the second has no pixel behind the last whole four of a row */
    int pad;
};
/* Load m of the block, of an item: 32 channels of the image rows, one phase. */
static __device__ __forceinline__ void ask_pixels(const places &at, const image_maps &maps, int phase, const place &to, unsigned m, unsigned load)
{
    unsigned slot = m % SLOTS, full = at.full + slot * 8, box = at.slots + slot * SLOT + phase * PHASE;
    int x = to.x + phase - maps.pad - PAD_MORE, y = to.y - maps.pad;
    barrier_wait(at.empty + slot * 8, m / SLOTS & 1 ^ 1);
    barrier_arrive_expect(full, ROWS * ROW);
    if (WIDTH % 4 == 0 || to.x + STRIP_WIDTH + 1 <= WIDTH / 4 * 4)
        copy_box_5d(box, maps.fours, full, load * 32, x >> 2, y, x & 3, to.image);
    else
        copy_box_4d(box, maps.all, full, load * 32, x, y, to.image);
}

/* By the lane that leads a warp; predicated, since a branch makes the compiler spill more. */
static __device__ __forceinline__ void write_note(unsigned at, int leads, int a, int b, int c, int d)
{
    asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %5, 0;\n@p st.shared.v4.u32 [%0], {%1, %2, %3, %4};\n}" ::"r"(at), "r"(a), "r"(b), "r"(c), "r"(d), "r"(leads)
                 : "memory");
}
static __device__ __forceinline__ int4 read_note(unsigned at)
{
    int4 v;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(at) : "memory");
    return v;
}
/* Where the boxes of a unit lie, which a warp reads again for each load. */
static __device__ __forceinline__ void note_boxes(unsigned at, int leads, const image_maps &maps, const place &to)
{
    int x = to.x + (leads - 5) - maps.pad - PAD_MORE, y = to.y - maps.pad;
    write_note(at, leads, x, y, to.image, WIDTH % 4 == 0 || to.x + STRIP_WIDTH + 1 <= WIDTH / 4 * 4);
}
/* Load m of the block, as ask_pixels, from a note. */
static __device__ __forceinline__ void ask_noted(const places &at, const image_maps &maps, int phase, unsigned note, unsigned m, unsigned load)
{
    unsigned slot = m % SLOTS, full = at.full + slot * 8, box = at.slots + slot * SLOT + phase * PHASE;
    int4 first = read_note(note); /* column, row, image; whether `fours` holds it */
    barrier_wait(at.empty + slot * 8, m / SLOTS & 1 ^ 1);
    barrier_arrive_expect(full, ROWS * ROW);
    if (first.w)
        copy_box_5d(box, maps.fours, full, load * 32, first.x >> 2, first.y, first.x & 3, first.z);
    else
        copy_box_4d(box, maps.all, full, load * 32, first.x, first.y, first.z);
}

template <int J> static __device__ __forceinline__ void multiply_ready(float sum[6][32], unsigned v[2][4], unsigned long long matrix, bool add)
{
#ifdef ABLATE_MATHS
#pragma unroll
    for (int i = 0; i < 8; i++)
        sum[2 * J][i] += __uint_as_float(v[i / 4][i % 4]);
#else
    wgmma_begin();
    wgmma_registers<TYPE, 64>(sum[2 * J], v[0], matrix, add);
    wgmma_registers<TYPE, 64>(sum[2 * J + 1], v[1], matrix + 2, add);
    wgmma_commit();
#endif
    wgmma_wait<2>();
}
template <int J> static __device__ __forceinline__ void multiply(float sum[6][32], unsigned v[2][4], const pixels &upper, const pixels &lower, unsigned long long matrix, bool add)
{
    transform<J>(v, upper, lower);
    multiply_ready<J>(sum, v, matrix, add);
}

/* The compiler moves nothing across: it would compute more outputs at once than it has registers for. Nobody leaves here. */
static __device__ __forceinline__ void keep_order(int place)
{
    asm volatile("{\n.reg .pred p;\nsetp.eq.u32 p, %0, %1;\n@p exit;\n}" ::"r"(blockDim.x), "r"(place) : "memory");
}

/* Outputs of a lane: four pixels of one row, 8 channels. */
static __device__ __forceinline__ void outputs(uint4 v[4], const uint4 residual[4], const float sum[6][32], int half, int lower, unsigned bias)
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
        if (i % 2 == 0)
            keep_order((lower * 2 + half) * 4 + i);
        float y[4][2];
        int at = (half * 4 + i) * 4 + lower * 2;
        float2 b = EPI_BIAS ? load_shared_2(bias + (half * 32 + threadIdx.x % 4 * 8 + i * 2) * 4) : make_float2(0, 0);
#pragma unroll
        for (int e = 0; e < 2; e++) {
            float m[6], more = e ? b.y : b.x;
#pragma unroll
            for (int j = 0; j < 6; j++) {
                m[j] = sum[j][at + e];
                asm volatile("" : "+f"(m[j])); /* the compiler would compute it earlier, too */
            }
            float even_a = m[2] + m[3], odd_a = m[2] - m[3], even_b = m[4] + m[5], odd_b = m[4] - m[5];
            y[0][e] = m[0] + even_a + (even_b + more);
            y[1][e] = A * odd_a + (B * odd_b + more);
            y[2][e] = AA * even_a + (BB * even_b + more);
            y[3][e] = AA * A * odd_a + (BB * B * odd_b + (m[1] + more));
        }
#pragma unroll
        for (int x = 0; x < 4; x++) {
            if (EPI_RESIDUAL) {
                float2 more = __half22float2(reinterpret_cast<const __half2 *>(&residual[x])[i]);
                y[x][0] = branch(y[x][0]) + more.x;
                y[x][1] = branch(y[x][1]) + more.y;
            }
            reinterpret_cast<unsigned *>(&v[x])[i] =
                EPI_SLOPE == 0 ? relu_of<TYPE>(two_of<TYPE>(y[x][0], y[x][1])) : two_of<TYPE>(activate(y[x][0]), activate(y[x][1]));
        }
    }
}

/* Is column q + x, with q a multiple of 4, one of the outputs? */
static __device__ __forceinline__ bool within(int q, int x) { return COLUMNS % 4 == 0 ? q < COLUMNS : q + x < COLUMNS; }

/* Bias, barriers, and zeros that are read behind the last pixels. */
static __device__ __forceinline__ void prepare(const places &at, const float *bias)
{
    int k = blockIdx.y * 64 + threadIdx.x;
    if (EPI_BIAS && threadIdx.x < 64)
        store_shared(at.bias + threadIdx.x * 4, __float_as_uint(k < OUTPUTS ? bias[filter_of(k)] : 0.0f));
    if (!ONE_ITEM && threadIdx.x < 128)
        store_shared(at.slots + threadIdx.x / 32 * PHASE + ROWS * ROW + threadIdx.x % 32 * 4, 0);
    if (threadIdx.x != 0)
        return;
    for (int i = 0; i < WEIGHT_SLOTS; i++) {
        barrier_init(at.come + i * 8, 1);
        barrier_init(at.gone + i * 8, 8);
    }
    for (int i = 0; i < SLOTS; i++) {
        barrier_init(at.full + i * 8, 4);
        barrier_init(at.empty + i * 8, 8);
    }
    for (int i = 0; ONE_ITEM && i < 8; i++)
        barrier_init(at.residual + i * 8, 1);
    barrier_init_done();
}

/* Four pixels of a lane go to shared memory; lanes of even and odd tiles write to different banks. */
static __device__ __forceinline__ void stage(unsigned own, unsigned odd, const uint4 y[4])
{
#pragma unroll
    for (int x = 0; x < 4; x++) {
        uint4 v;
        v.x = odd ? y[x ^ 1].x : y[x].x;
        v.y = odd ? y[x ^ 1].y : y[x].y;
        v.z = odd ? y[x ^ 1].z : y[x].z;
        v.w = odd ? y[x ^ 1].w : y[x].w;
#ifdef ABLATE_STORE
        if (v.x == 0x7fff7fff)
#endif
            asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"((own ^ x / 2 * 16) + (x * 64 ^ odd)), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
    }
}

/* The outputs of an item, of which a lane has 4 pixels in each of two rows, and a warp 32. They leave through 2 KiB of shared memory, 32 channels of a row at a time. */
static __device__ __forceinline__ void store(const float sum[6][32], const TYPE *residual, const tensor_map *output_map, unsigned staging, int P, const place &to, unsigned bias)
{
    constexpr int ROW_OF = COLUMNS * OUTPUTS;
    int warp = threadIdx.x / 32 % 4, t = threadIdx.x % 4, g = threadIdx.x % 32 / 4;
    int p = to.y + warpgroup_index() * TALL + warp / WARPS * 2, first = to.x + warp % WARPS * 32, q = first + g * 4, k = blockIdx.y * 64 + t * 8;
    const TYPE *more_from = residual + (((size_t)to.image * P + p) * COLUMNS + q) * OUTPUTS + k;
    unsigned own = staging + g * 256 + ((t ^ g % 2 * 2) << 4), odd = g % 2 * 64;
#pragma unroll
    for (int lower = 0; lower < 2; lower++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            bool inside = p + lower < P && (OUTPUTS % 64 == 0 || k + half * 32 < OUTPUTS);
            uint4 y[4], more[4];
#pragma unroll
            for (int x = 0; x < 4; x++) {
                more[x] = make_uint4(0, 0, 0, 0);
                if (EPI_RESIDUAL && inside && within(q, x))
                    asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
                                 : "=r"(more[x].x), "=r"(more[x].y), "=r"(more[x].z), "=r"(more[x].w)
                                 : "l"(more_from + lower * ROW_OF + half * 32 + x * OUTPUTS));
            }
            outputs(y, more, sum, half, lower, bias);
            if (threadIdx.x % 32 == 0)
                store_wait_read();
            __syncwarp();
            stage(own, odd, y);
#ifndef ABLATE_STORE
            fence_async();
            __syncwarp();
            if (threadIdx.x % 32 == 0) {
                constexpr int line = OUTPUTS / D2S_BLOCK;
                int k = blockIdx.y * 64 + half * 32, dy = D2S_BLOCK > 1 ? k / line : 0;
                store_box_4d(output_map, staging, k - dy * line, first, (p + lower) * D2S_BLOCK + dy, to.image);
                store_commit();
            }
#endif
        }
}

/* Of a block with one item: where a warp's outputs begin. Kept in shared memory, since registers are scarce. */
static __device__ __forceinline__ void note_outputs(unsigned at, int leads, const place &to)
{
    int warp = threadIdx.x / 32 % 4;
    write_note(at, leads, blockIdx.y * 64, to.x + warp % WARPS * 32, to.y + warpgroup_index() * TALL + warp / WARPS * 2, to.image);
}

/* Where the residuals of a quarter of a warp's outputs are written, and then the outputs: the staging area; for the others the slot of
 * pixels that is no longer loaded, and the memory behind the staging areas. */
static __device__ __forceinline__ unsigned area_of(const places &at, unsigned warp, int quarter)
{
    unsigned i = warp + (quarter - 1) * 8;
    return quarter == 0 ? at.staging + warp * 2048 : i < 22 ? at.slots + LOADS % 2 * SLOT + i * 2048 : at.staging + (i - 14) * 2048;
}

/* By one lane of a warp, before the last two steps. The thread's index is read again: else its addresses would be computed before the loop, and spilled. */
static __device__ __forceinline__ void ask_residuals(const places &at, const tensor_map *map)
{
    unsigned thread;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
    unsigned warp = thread / 32, barrier = at.residual + warp * 8;
    int4 first = read_note(at.notes + warp * 32 + 16);
    barrier_arrive_expect(barrier, 8192);
    barrier_wait(at.empty + LOADS % 2 * 8, LOADS / 2 & 1 ^ 1);
#pragma unroll
    for (int quarter = 0; quarter < 4; quarter++)
        copy_box_4d(area_of(at, warp, quarter), map, barrier, first.x + quarter % 2 * 32, first.y, first.z + quarter / 2, first.w);
}

/* As store, with residuals that are in shared memory: each 32 channels of a row take the place of theirs. */
static __device__ __forceinline__ void store_in_place(const float sum[6][32], const tensor_map *output_map, const places &at)
{
    unsigned t = threadIdx.x % 4, g = threadIdx.x % 32 / 4, warp = threadIdx.x / 32;
    unsigned own_place = g * 256 + ((t ^ g % 2 * 2) << 4), odd = g % 2 * 64;
#pragma unroll
    for (int quarter = 0; quarter < 4; quarter++) {
        unsigned area = area_of(at, warp, quarter), own = area + own_place;
        uint4 y[4], more[4];
#pragma unroll
        for (int x = 0; x < 4; x++)
            asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(more[x].x), "=r"(more[x].y), "=r"(more[x].z), "=r"(more[x].w)
                         : "r"((own ^ x / 2 * 16) + x * 64)
                         : "memory");
        outputs(y, more, sum, quarter % 2, quarter / 2, at.bias);
        stage(own, odd, y);
#ifndef ABLATE_STORE
        fence_async();
        __syncwarp();
        if (threadIdx.x % 32 == 0) {
            int4 first = read_note(at.notes + warp * 32 + 16);
            store_box_4d(output_map, area, first.x + quarter % 2 * 32, first.y, first.z + quarter / 2, first.w);
            store_commit();
        }
#endif
    }
}

/* Steps of this block's items before `end`, which are every gridDim.x-th. */
static __device__ __forceinline__ unsigned steps_of(int end) { return max(end - (int)blockIdx.x + (int)gridDim.x - 1, 0) / (int)gridDim.x * DEPTHS; }

/* What a block works on; leads: 1 + warp in one lane of each. 1: asks for weights; 5 to 8: for one phase of the pixels each. */
struct work {
    places at;
    image_maps maps;
    list all;
    const TYPE *weights;
    unsigned steps, mine; /* of the block; of this warpgroup */
    int leads;
};
struct lane {
    unsigned own, turn, high; /* where its pixels are in slot 0, as in pixels::load */
};

/* Step n, which is step s of an item, with load m. On return a and b hold the first rows of the next. */
template <int ODD>
static __device__ __forceinline__ void step(float sum[6][32], unsigned v[3][2][4], pixels &a, pixels &b, const work &w, const lane &of, const ring &turns, int s, unsigned n, unsigned m)
{
    unsigned from = of.own + m % 2 * SLOT, next_from = of.own + (m + 1) % 2 * SLOT;
    unsigned chunk = of.high + ODD * 16;
    unsigned long long matrix = matrix_rows_64(w.at.weights) + turns.slot * (SLICE / 16);
    barrier_wait(w.at.come + turns.slot * 8, turns.phase);
    multiply<0>(sum, v[0], a, b, matrix, ODD || s > 0);
    multiply<1>(sum, v[1], a, b, matrix + PAIR / 16, ODD || s > 0);
    transform<2>(v[2], a, b);
    a.load(from, 2, of.turn, chunk);
    multiply_ready<2>(sum, v[2], matrix + 2 * (PAIR / 16), ODD || s > 0);
    if (ODD == 0 && n + 2 < w.steps && w.leads > 4)
        ask_noted(w.at, w.maps, w.leads - 5, w.at.notes + (w.leads - 1) * 32 + (!ONE_ITEM && s == DEPTHS - 2 ? 16 : 0), m + 1, !ONE_ITEM && s == DEPTHS - 2 ? 0 : s / 2 + 1);
    __syncwarp();
    if (ODD || n > 0)
        arrive_one(w.at.gone + turns.before * 8, w.leads);
    multiply<0>(sum, v[0], b, a, matrix + 3 * (PAIR / 16), true);
    multiply<1>(sum, v[1], b, a, matrix + 4 * (PAIR / 16), true);
    transform<2>(v[2], b, a);
    b.load(from, 3, of.turn, chunk);
    multiply_ready<2>(sum, v[2], matrix + 5 * (PAIR / 16), true);
    if (n + 2 < w.steps && w.leads == 1)
        ask_weights(w.at, w.weights + (s + 2 < DEPTHS ? s + 2 : s + 2 - DEPTHS) * (SLICE / 2), turns.before, turns.before_phase);
    __syncwarp();
    multiply<0>(sum, v[0], a, b, matrix + 6 * (PAIR / 16), true);
    if (ODD)
        arrive_one(w.at.empty + m % 2 * 8, w.leads);
    __syncwarp();
    bool more = ONE_ITEM ? s < DEPTHS - 1 : n + 1 < w.mine;
    if (ODD && more)
        barrier_wait(w.at.full + (m + 1) % 2 * 8, (m + 1) / 2 & 1);
    multiply<1>(sum, v[1], a, b, matrix + 7 * (PAIR / 16), true);
    transform<2>(v[2], a, b);
    unsigned to = ODD == 0 ? from : more ? next_from : ONE_ITEM ? from : w.at.slots + ROWS * ROW; /* what nobody writes: this slot, or behind the rows of each phase */
    a.load(to, 0, of.turn, chunk ^ 16);
    b.load(ODD == 0 || more || ONE_ITEM ? to : to - ROW, 1, of.turn, chunk ^ 16);
    multiply_ready<2>(sum, v[2], matrix + 8 * (PAIR / 16), true);
}

/* What a warp does while the other warpgroup computes alone, from step n on: asks for pixels, and is done with everything at once. */
static __device__ __forceinline__ void accompany(const work &w, ring turns, unsigned n, int item)
{
    if (n > 0)
        barrier_arrive(w.at.gone + turns.before * 8);
    for (unsigned s = 0; n < w.steps; s++, n++, turns.step()) {
        unsigned m = n / 2;
        if (n % 2 == 0 && n + 2 < w.steps)
            ask_pixels(w.at, w.maps, w.leads - 5, place_of(w.all, item + (s + 2) / DEPTHS * gridDim.x), m + 1, (m + 1) % LOADS);
        barrier_wait(w.at.come + turns.slot * 8, turns.phase);
        barrier_arrive(w.at.gone + turns.slot * 8);
        if (n % 2) {
            barrier_wait(w.at.full + m % 2 * 8, m / 2 & 1);
            barrier_arrive(w.at.empty + m % 2 * 8);
        }
    }
}

/* What that layer writes is read behind this: pixels and residuals. */
static __device__ __forceinline__ void wait_for_layer_before()
{
    if (FOLLOWS)
        asm volatile("griddepcontrol.wait;" ::: "memory");
}

extern "C" __global__ void __launch_bounds__(256, 1)
conv_winograd_row(const __grid_constant__ tensor_map input_map, const __grid_constant__ tensor_map fours_map, const __grid_constant__ tensor_map output_map,
                  const __grid_constant__ tensor_map residual_map, const TYPE *transformed, const float *bias, const TYPE *residual, int P, int pad, int bands, int whole, int split, int items)
{
    unsigned base = (shared_address(shared_raw) + 1023) / 1024 * 1024, slots = base + WEIGHT_SLOTS * SLICE, staging = slots + SLOTS * SLOT, end = staging + STAGING, barriers = end + 256;
    const places at = {base, slots, staging, end, barriers, barriers + 32, barriers + 64, barriers + 96, barriers + 112, barriers + 368};
    if (FOLLOWS)
        asm volatile("griddepcontrol.launch_dependents;"); /* the next layer's kernel takes the place of each block that ends */
    prepare(at, bias);
    __syncthreads();
    int me = warpgroup_index(), warp = threadIdx.x / 32 % 4, t = threadIdx.x % 4, g = threadIdx.x % 32 / 4;
    int row = me * TALL + warp / WARPS * 2, x = warp % WARPS * 8 + g;
    lane of = {at.slots + row * ROW + x * 64 + t % 2 * 8, (unsigned)(row + x) * 8, (unsigned)t / 2 * 32};
    work w = {at,
              {&input_map, &fours_map, pad},
              {whole, split, bands},
              transformed + (size_t)blockIdx.y * DEPTHS * (SLICE / 2),
              steps_of(items),
              steps_of(me ? whole : items),
              threadIdx.x % 32 == 0 ? 1 + (int)threadIdx.x / 32 : 0};
    if (threadIdx.x / 32 > 3)
        wait_for_layer_before();
    if (w.leads > 4)
        ask_pixels(at, w.maps, w.leads - 5, place_of(w.all, blockIdx.x), 0, 0);
    if (w.leads == 1)
        for (unsigned i = 0; i < 2; i++)
            ask_weights(at, w.weights + i * (SLICE / 2), i, 1);
    if (threadIdx.x / 32 <= 3)
        wait_for_layer_before();
    __syncwarp();
    asm volatile("" : "+r"(w.leads), "+r"(of.own), "+r"(of.turn)); /* the compiler would compute them from the thread's index again and again */
    float sum[6][32] = {};
    unsigned v[3][2][4], n = 0, m = 0;
    ring turns = {0, 0, WEIGHT_SLOTS - 1, 1};
    pixels a, b;
    int item = blockIdx.x;
    for (; n < w.mine; item += gridDim.x) {
        unsigned note = at.notes + threadIdx.x / 32 * 32;
        note_boxes(note, w.leads, w.maps, place_of(w.all, item));
        if (ONE_ITEM)
            note_outputs(note + 16, w.leads, place_of(w.all, item));
        else
            note_boxes(note + 16, w.leads, w.maps, place_of(w.all, item + gridDim.x));
        barrier_wait(at.full + m % 2 * 8, m / 2 & 1);
        a.load(of.own + m % 2 * SLOT, 0, of.turn, of.high);
        b.load(of.own + m % 2 * SLOT, 1, of.turn, of.high);
#pragma unroll 1
        for (int s = 0; s < DEPTHS; s += 2, n += 2, m++) {
            if (ONE_ITEM && s == DEPTHS - 2 && w.leads > 0)
                ask_residuals(at, &residual_map);
            if (ONE_ITEM)
                __syncwarp();
            step<0>(sum, v, a, b, w, of, turns, s, n, m);
            turns.step();
            step<1>(sum, v, a, b, w, of, turns, s + 1, n + 1, m);
            turns.step();
        }
        if (ONE_ITEM)
            barrier_wait(at.residual + threadIdx.x / 32 * 8, 0);
        wgmma_wait<0>();
        if (ONE_ITEM)
            store_in_place(sum, &output_map, at);
        else
            store(sum, residual, &output_map, at.staging + (threadIdx.x / 32) * 2048, P, place_of(w.all, item), at.bias);
    }
    if (n < w.steps && w.leads > 0)
        accompany(w, turns, n, item);
    if (threadIdx.x % 32 == 0)
        store_wait();
}
