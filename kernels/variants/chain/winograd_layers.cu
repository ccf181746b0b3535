/* bench 1
op: chain
what: all equal 3x3 layers in one launch by Winograd F(4, 3) along rows - a layer stores its outputs transformed, for the next one
from: resident_peers
needs:
  - r == 3 and s == 3 and stride == 1 and pad == 1 and dilation == 1 and groups == 1
  - n == 1 and w % 4 == 0 and width >= 64 and width % 64 == 0
  - straight == 1 and plain_scaled == 1 and back <= 2
layout: {input: NHWC, output: NHWC}
dtype: {input: f16, filter: same, bias: f32, output: same, accumulate: f32}
algorithm: winograd
exact: no
let:
  strips: ceil(w, 32)
  bands: ceil(h, 16)
  blocks_k: width / 64
  chunks: width / 16                                   # steps of 16 channels
  rows: 16 * bands + 2
  tiles: strips * bands
  smem: 1024 + 3 * 65024 + 48                          # weights and pixels of a step
where:
  - cc == 90
  - tiles * blocks_k <= sm_count                       # a block on each SM, for one tile
  - smem <= smem_per_block_optin
define:
  C: width
  HEIGHT: h
  WIDTH: w
scratch:
  weights: input[runs * blocks_k * chunks * 18560]
  moved: input[3 * strips * chunks * rows * 768]       # outputs of links in turn, transformed
  kept: input[2 * h * w * width]                       # and as they are, where a residual adds them
  done: u32[tiles]
prepare:
  - kernel: transform_filter
    grid: runs * blocks_k * chunks
    block: 256
    args: filter, bias, weights
  - fill: moved = 0
steps:
  - fill: done = 0
  - kernel: transform_input
    grid: h, strips
    block: 256
    args: input, moved
  - kernel: run_layers
    grid: tiles * blocks_k
    block: 256
    smem: smem
    args: input, weights, links, moved, kept, output, done, runs
    attributes: {cooperative: yes}
*/

/* conv2d/winograd_row, a launch for each layer, computes what its products read from the pixels: in each of its blocks, for each 64 output
 * channels anew, in the registers of the warps that multiply. Here a layer's end does it, once for all, so that both operands of a product
 * are in shared memory and a warp does nothing but ask for products. Four of the six values of a tile depend on its own four pixels alone.
 * Only the first value of the first tile of a strip of 32 columns, and the last of its last, needs a pixel of the block beside it as well:
 * both blocks add their parts.
 *
 * A block has 16 rows by 32 columns and 64 channels in every layer, and waits for the blocks around it, not for all. What it reads for 16
 * channels, all rows, is one piece of memory, and so are the weights; weights of the next layer come meanwhile. Outputs take turns in three
 * places: one is read, one is written, and in the third the blocks clear what is added to. */
#include "element/element.cuh"
#include "tensor_core/wgmma.cuh"

constexpr int CHUNKS = C / 16, GROUPS = C / 64, STRIPS = (WIDTH + 31) / 32, BANDS = (HEIGHT + 15) / 16, ROWS = 16 * BANDS + 2;
constexpr int SLICE = 37120, BIAS = 36864, PAIR = 4096; /* weights of a step, the bias of the link behind them; two matrices */
constexpr int ROW = 1536, PIXELS = 18 * ROW;            /* of a strip's row: six points, two halves of 8 channels, 8 tiles */
constexpr int SLOT = 65024, SLOTS = 3, FULL = SLOTS * SLOT, EMPTY = FULL + SLOTS * 8; /* barriers behind the slots */
constexpr float A = 0.75f, B = 1.5f, AA = A * A, BB = B * B;
constexpr unsigned H_A = 0x3a00, H_B = 0x3e00, H_AA = 0x3880, H_BB = 0x4080, H_BOTH = 0x41a0 /* AA + BB */, H_AABB = 0x3d10, MINUS = 0x8000;

extern __shared__ unsigned char shared_raw[];

static __device__ __forceinline__ int output_at(int column)
{
    return column / 32 * 32 + column % 8 / 2 * 8 + column / 8 % 4 * 2 + column % 2;
}

/* x * CONSTANT + y of two halves. */
template <unsigned CONSTANT> static __device__ __forceinline__ unsigned plus(unsigned y, unsigned x)
{
    unsigned v;
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(v) : "r"(x), "r"(CONSTANT * 0x10001u), "r"(y));
    return v;
}

/* Pair 3 r + j of a step: of row r of the filter, points 0 and infinity (j = 0), A and -A (1), B and -B (2). */
extern "C" __global__ void __launch_bounds__(256) transform_filter(const __half *filter, const float *bias, __half *weights)
{
    int slice = blockIdx.x, chunk16 = slice % CHUNKS, group = slice / CHUNKS % GROUPS, link = slice / (CHUNKS * GROUPS);
    __half *own = weights + (size_t)slice * (SLICE / 2);
    if (threadIdx.x < 64)
        reinterpret_cast<float *>(own + BIAS / 2)[threadIdx.x] = bias[link * C + group * 64 + threadIdx.x];
    for (int i = threadIdx.x; i < 1024; i += 256) {
        int depth = i % 16, column = i / 16, turn = column / 2 % 4;
        int c = chunk16 * 16 + depth, k = group * 64 + output_at(column);
        __half *to = own + column * 32 + depth % 8;
#pragma unroll
        for (int r = 0; r < 3; r++) {
            float g[3];
#pragma unroll
            for (int s = 0; s < 3; s++)
                g[s] = to_f32(filter[(((size_t)link * C + k) * C + c) * 9 + r * 3 + s]);
            constexpr float by_a = 1 / (2 * AA * (AA - BB)), by_b = 1 / (2 * BB * (BB - AA));
            const float points[6] = {g[0] * (1 / (AA * BB)),
                                     g[2],
                                     (g[0] + A * g[1] + AA * g[2]) * by_a,
                                     (g[0] - A * g[1] + AA * g[2]) * by_a,
                                     (g[0] + B * g[1] + BB * g[2]) * by_b,
                                     (g[0] - B * g[1] + BB * g[2]) * by_b};
#pragma unroll
            for (int j = 0; j < 6; j++)
                to[(r * 3 + j / 2) * (PAIR / 2) + ((j % 2 * 2 + depth / 8) ^ turn) * 8] = from_f32<__half>(points[j]);
        }
    }
}

/* Where row y of a strip's 16 channels lies, y from -1 on; place: of three. */
static __device__ __forceinline__ __half *row_of(__half *moved, int place, int strip, int chunk16, int y)
{
    return moved + ((((size_t)place * STRIPS + strip) * CHUNKS + chunk16) * ROWS + y + 1) * (ROW / 2);
}
/* Values of six pixels of 8 channels. */
template <int POINT> static __device__ __forceinline__ uint4 value(const uint4 d[6])
{
    const unsigned(*x)[4] = reinterpret_cast<const unsigned(*)[4]>(d);
    unsigned v[4];
#pragma unroll
    for (int e = 0; e < 4; e++) {
        constexpr unsigned square = POINT < 4 ? H_BB : H_AA, times = (POINT < 4 ? H_A : H_B) | (POINT % 2 ? MINUS : 0);
        if (POINT < 2)
            v[e] = plus<H_AABB>(plus<H_BOTH | MINUS>(x[4 + POINT][e], x[2 + POINT][e]), x[POINT][e]);
        else
            v[e] = plus<times>(plus<square | MINUS>(x[4][e], x[2][e]), plus<square | MINUS>(x[3][e], x[1][e]));
    }
    return make_uint4(v[0], v[1], v[2], v[3]);
}
static __device__ __forceinline__ void add_to(unsigned *to, unsigned v)
{
    asm volatile("red.relaxed.gpu.global.add.noftz.f16x2 [%0], %1;" ::"l"(to), "r"(v) : "memory");
}
/* For others to add to. */
static __device__ __forceinline__ void clear(uint4 *to)
{
    asm volatile("st.relaxed.gpu.global.v4.u32 [%0], {%1, %1, %1, %1};" ::"l"(to), "r"(0) : "memory");
}
/* All but points 0 and infinity. own: point 0 of these channels and this tile. */
static __device__ __forceinline__ void put_inner(uint4 *own, const uint4 d[6])
{
    own[2 * 16] = value<2>(d);
    own[3 * 16] = value<3>(d);
    own[4 * 16] = value<4>(d);
    own[5 * 16] = value<5>(d);
}

/* The input, as a link leaves its outputs; and what the first link adds to, cleared. */
extern "C" __global__ void __launch_bounds__(256) transform_input(const __half *input, __half *moved)
{
    int y = blockIdx.x, strip = blockIdx.y;
    for (int i = threadIdx.x; i < C; i += 256) { /* 8 tiles of C / 8 octets */
        int octet = i % (C / 8), g = i / (C / 8), q = strip * 32 + g * 4;
        __half *row = row_of(moved, 0, strip, octet / 2, y), *next = row_of(moved, 1, strip, octet / 2, y);
        uint4 d[6];
#pragma unroll
        for (int j = 0; j < 6; j++) {
            int x = q + j - 1;
            d[j] = x >= 0 && x < WIDTH ? *reinterpret_cast<const uint4 *>(input + ((size_t)y * WIDTH + x) * C + octet * 8)
                                       : make_uint4(0, 0, 0, 0);
        }
        if (q >= WIDTH)
            continue;
        uint4 *own = reinterpret_cast<uint4 *>(row) + octet % 2 * 8 + g, *clear_of = reinterpret_cast<uint4 *>(next) + octet % 2 * 8 + g;
        own[0] = value<0>(d);
        own[16] = value<1>(d);
        put_inner(own, d);
        if (g == 0)
            clear(clear_of);
        if (g == 7)
            clear(clear_of + 16);
    }
}

/* As matrix_rows_128, for rows of 64 bytes that are swizzled in blocks of 8 (512 bytes). */
static __device__ __forceinline__ unsigned long long matrix_rows_64(unsigned address)
{
    return (unsigned long long)(address >> 4 & 0x3fff) | 1ull << 16 | 32ull << 32 | 2ull << 62;
}
/* For 8 rows of an image, 8 tiles each, and 16 channels of a point. */
static __device__ __forceinline__ unsigned long long matrix_points(unsigned address)
{
    return (unsigned long long)(address >> 4 & 0x3fff) | (unsigned long long)(128 >> 4) << 16 | (unsigned long long)(ROW >> 4) << 32;
}
/* The products of a step. */
static __device__ __forceinline__ void multiply(float sum[6][32], unsigned long long points, unsigned long long weights, bool add)
{
    wgmma_begin();
#pragma unroll
    for (int r = 0; r < 3; r++)
#pragma unroll
        for (int j = 0; j < 6; j++)
            wgmma_shared<__half, 64>(sum[j], points + (r * ROW + j * 256) / 16, weights + (r * 3 + j / 2) * (PAIR / 16) + j % 2 * 2,
                                     r > 0 || add);
    wgmma_commit();
}

/* Slots of shared memory, in turn. */
struct ring {
    unsigned slot, phase;
    __device__ __forceinline__ void step()
    {
        phase ^= slot == SLOTS - 1;
        slot = slot == SLOTS - 1 ? 0 : slot + 1;
    }
    /* The slot of the step before, which is that of the step after the next; the phase of its barrier before that. */
    __device__ __forceinline__ unsigned before() const
    {
        return slot == 0 ? SLOTS - 1 : slot - 1;
    }
    __device__ __forceinline__ unsigned before_phase() const
    {
        return slot == 0 ? phase ^ 1 : phase;
    }
};
/* By a whole warp, of which one lane `leads`. */
static __device__ __forceinline__ void ask(unsigned base, unsigned slot, unsigned phase, unsigned offset, const void *from, unsigned bytes,
                                           bool leads)
{
    barrier_wait(base + EMPTY + slot * 8, phase);
    if (leads) {
        barrier_arrive_expect(base + FULL + slot * 8, bytes);
        copy_bytes(base + slot * SLOT + offset, from, bytes, base + FULL + slot * 8);
    }
    __syncwarp();
}
/* One lane of a warp, which `leads`, arrives. */
static __device__ __forceinline__ void arrive_one(unsigned barrier, bool leads)
{
    __syncwarp();
    asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %1, 0;\n@p mbarrier.arrive.shared::cta.b64 _, [%0];\n}" ::"r"(barrier),
                 "r"((unsigned)leads)
                 : "memory");
}

/* Waits until the tiles around are there, with `count` warps each. The copy engine reads them. */
static __device__ __forceinline__ void wait_around(const unsigned *done, unsigned count)
{
    int tile = blockIdx.x / GROUPS, lane = threadIdx.x % 32, x = tile % STRIPS + lane % 3 - 1, y = tile / STRIPS + lane / 3 - 1;
    bool inside = lane < 9 && x >= 0 && x < STRIPS && y >= 0 && y < BANDS;
    unsigned v = count;
    do
        if (inside)
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(done + y * STRIPS + x) : "memory");
    while (__any_sync(0xffffffff, v < count));
    __syncwarp(); /* a vote orders no memory */
    asm volatile("fence.proxy.async;" ::: "memory");
}

/* The compiler moves nothing across: it would compute more outputs at once than it has registers for. Nobody leaves here. */
static __device__ __forceinline__ void keep_order(int place)
{
    asm volatile("{\n.reg .pred p;\nsetp.eq.u32 p, %0, %1;\n@p exit;\n}" ::"r"(blockDim.x), "r"(place) : "memory");
}

/* What a link does behind its products. */
struct finish {
    float scale;
    unsigned slope;   /* of both halves */
    bool adds, steep; /* steep: the slope is above 1 */
};
/* Outputs of a lane: four pixels of one row, 8 channels. Unit U of 4: row U / 2, half U % 2 of its channels. */
template <int U>
static __device__ __forceinline__ void outputs(uint4 v[4], const uint4 more[4], float sum[6][32], unsigned bias, const finish &end)
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
        if (i % 2 == 0)
            keep_order(U * 4 + i);
        float y[4][2];
        int at = (U % 2 * 4 + i) * 4 + U / 2 * 2;
        float2 b = load_shared_2(bias + (U % 2 * 32 + i * 2) * 4);
#pragma unroll
        for (int e = 0; e < 2; e++) {
            float m[6], of = e ? b.y : b.x;
#pragma unroll
            for (int j = 0; j < 6; j++) {
                m[j] = sum[j][at + e];
                asm volatile("" : "+f"(m[j])); /* the compiler would compute it earlier, too */
            }
            float even_a = m[2] + m[3], odd_a = m[2] - m[3], even_b = m[4] + m[5], odd_b = m[4] - m[5];
            y[0][e] = m[0] + even_a + (even_b + of);
            y[1][e] = A * odd_a + (B * odd_b + of);
            y[2][e] = AA * even_a + (BB * even_b + of);
            y[3][e] = AA * A * odd_a + (BB * B * odd_b + (m[1] + of));
        }
        if (end.adds)
#pragma unroll
            for (int x = 0; x < 4; x++) {
                float2 add = __half22float2(reinterpret_cast<const __half2 *>(&more[x])[i]);
                y[x][0] = y[x][0] * end.scale + add.x;
                y[x][1] = y[x][1] * end.scale + add.y;
            }
#pragma unroll
        for (int x = 0; x < 4; x++) {
            unsigned two = two_of<__half>(y[x][0], y[x][1]), less;
            asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(less) : "r"(two), "r"(end.slope));
            if (end.steep)
                asm("min.NaN.f16x2 %0, %1, %2;" : "=r"(two) : "r"(two), "r"(less));
            else
                asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(two) : "r"(two), "r"(less));
            reinterpret_cast<unsigned *>(&v[x])[i] = two;
        }
    }
}

struct targets {
    const __half *residual; /* like an image */
    __half *plain;          /* the same; NULL: nobody reads it */
    __half *moved, *next;   /* where it is left; where what the next link adds to is cleared */
    bool last;              /* nobody reads the first */
};
/* Where a lane's outputs of unit 0 are: their elements in an image and among what is moved. */
struct spot {
    int y, image, moved;
    bool inside, first, last; /* of the strip: beside another one */
    bool before_end;          /* is there a tile behind it? */
};
constexpr int PLACE = STRIPS * CHUNKS * ROWS * (ROW / 2), STRIP = CHUNKS * ROWS * (ROW / 2); /* elements */
static __device__ __forceinline__ spot spot_of()
{
    int tile = blockIdx.x / GROUPS, strip = tile % STRIPS, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    int y = tile / STRIPS * 16 + threadIdx.x / 32 * 2, q = strip * 32 + g * 4, k = (int)blockIdx.x % GROUPS * 64 + t * 8;
    return {y,
            (y * WIDTH + q) * C + k,
            ((strip * CHUNKS + k / 16) * ROWS + y + 1) * (ROW / 2) + k / 8 % 2 * 64 + g * 8,
            q < WIDTH,
            g == 0 && strip > 0,
            g == 7 && strip + 1 < STRIPS,
            q + 4 < WIDTH};
}
/* Of the lane of the tile before (-4) or behind (4). */
static __device__ __forceinline__ uint4 shuffled(const uint4 &v, int from)
{
    int lane = (threadIdx.x + from) % 32;
    return make_uint4(__shfl_sync(0xffffffff, v.x, lane), __shfl_sync(0xffffffff, v.y, lane), __shfl_sync(0xffffffff, v.z, lane),
                      __shfl_sync(0xffffffff, v.w, lane));
}
static __device__ __forceinline__ uint4 only(bool when, const uint4 &v)
{
    return make_uint4(when ? v.x : 0, when ? v.y : 0, when ? v.z : 0, when ? v.w : 0);
}

template <int U> static __device__ __forceinline__ void load_residual(uint4 v[4], const targets &to, const finish &end, const spot &at)
{
    const __half *from = to.residual + at.image + U / 2 * WIDTH * C + U % 2 * 32;
    if (end.adds && at.inside && at.y + U / 2 < HEIGHT)
#pragma unroll
        for (int x = 0; x < 4; x++)
            asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(v[x].x), "=r"(v[x].y), "=r"(v[x].z), "=r"(v[x].w)
                         : "l"(from + x * C)
                         : "memory");
}

/* What a link leaves for the next one. */
template <int U> static __device__ __forceinline__ void leave(const targets &to, const spot &at, uint4 d[6])
{
    bool first = threadIdx.x % 32 < 4, last = threadIdx.x % 32 >= 28;
    d[0] = only(!first, shuffled(d[4], -4));
    d[5] = only(!last && at.before_end, shuffled(d[1], 4));
    if (!at.inside || at.y + U / 2 >= HEIGHT)
        return;
    constexpr int UNIT = U % 2 * 2 * ROWS * (ROW / 2) + U / 2 * (ROW / 2);
    uint4 *own = reinterpret_cast<uint4 *>(to.moved + at.moved + UNIT);
    put_inner(own, d);
    uint4 zero = value<0>(d), infinity = value<1>(d);
    if (!at.first)
        own[0] = zero;
    if (!at.last)
        own[16] = infinity;
    if (at.first || at.last) { /* points 0 and infinity are 16 places apart, the first tile and the last 7 */
        uint4 *beside = own + (at.first ? -STRIP / 8 + 16 + 7 : STRIP / 8 - 7),
              *next = reinterpret_cast<uint4 *>(to.next + at.moved + UNIT) + (at.last ? 16 : 0);
        const unsigned ours[4] = {at.first ? zero.x : infinity.x, at.first ? zero.y : infinity.y, at.first ? zero.z : infinity.z,
                                  at.first ? zero.w : infinity.w};
        const unsigned pixel[4] = {at.first ? d[1].x : d[4].x, at.first ? d[1].y : d[4].y, at.first ? d[1].z : d[4].z,
                                   at.first ? d[1].w : d[4].w};
        unsigned times = at.first ? 0x3c003c00 : H_AABB * 0x10001u;
#pragma unroll
        for (int e = 0; e < 4; e++) {
            unsigned theirs;
            asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(theirs) : "r"(pixel[e]), "r"(times));
            add_to(reinterpret_cast<unsigned *>(own + (at.last ? 16 : 0)) + e, ours[e]);
            add_to(reinterpret_cast<unsigned *>(beside) + e, theirs);
        }
        clear(next);
    }
}

template <int U>
static __device__ __forceinline__ void store(float sum[6][32], uint4 more[4], const targets &to, const finish &end, const spot &at,
                                             unsigned bias)
{
    uint4 d[6];
    outputs<U>(d + 1, more, sum, bias, end);
    if (U < 3)
        load_residual<(U + 1) % 4>(more, to, end, at);
    if (to.plain && at.inside && at.y + U / 2 < HEIGHT)
#pragma unroll
        for (int x = 0; x < 4; x++)
            *reinterpret_cast<uint4 *>(to.plain + at.image + U / 2 * WIDTH * C + U % 2 * 32 + x * C) = d[1 + x];
    if (!to.last)
        leave<U>(to, at, d);
}

/* Weights of a step, which may be in the next link. */
static __device__ __forceinline__ void ask_weights(unsigned base, unsigned slot, unsigned phase, const __half *weights, int link, int s,
                                                   int runs, bool leads)
{
    if (s >= CHUNKS)
        link++, s -= CHUNKS;
    if (link < runs)
        ask(base, slot, phase, 0, weights + (((size_t)link * GROUPS + blockIdx.x % GROUPS) * CHUNKS + s) * (SLICE / 2), SLICE, leads);
}
static __device__ __forceinline__ void ask_pixels(unsigned base, unsigned slot, unsigned phase, __half *moved, int link, int s, bool leads)
{
    int tile = blockIdx.x / GROUPS;
    ask(base, slot, phase, SLICE, row_of(moved, link % 3, tile % STRIPS, s, tile / STRIPS * 16 - 1), PIXELS, leads);
}

extern "C" __global__ void __launch_bounds__(256, 1) run_layers(const __half *input, const __half *weights, const float *links,
                                                                __half *moved, __half *kept, __half *output, unsigned *done, int runs)
{
    unsigned base = (shared_address(shared_raw) + 1023) / 1024 * 1024;
    if (threadIdx.x == 0) {
        for (int i = 0; i < SLOTS; i++) {
            barrier_init(base + FULL + i * 8, 2); /* weights, pixels */
            barrier_init(base + EMPTY + i * 8, 8);
        }
        barrier_init_done();
    }
    __syncthreads();
    int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);
    bool leads = threadIdx.x % 32 == 0;
    ring turns = {0, 0};
    float sum[6][32];
    for (int i = 0; warp == 0 && i < 2; i++)
        ask_weights(base, i, 1, weights, 0, i, runs, leads);
#pragma unroll 1
    for (int link = 0; link < runs; link++) {
        if (warp == 4) {
            if (link > 0)
                wait_around(done, link * 8 * GROUPS);
            unsigned second = turns.slot == SLOTS - 1 ? 0 : turns.slot + 1;
            ask_pixels(base, turns.slot, turns.phase ^ 1, moved, link, 0, leads);
            ask_pixels(base, second, second ? turns.phase ^ 1 : turns.phase, moved, link, 1, leads);
        }
#pragma unroll 1
        for (int s = 0; s < CHUNKS; s++) {
            unsigned slot = base + turns.slot * SLOT, before = turns.before(), before_phase = turns.before_phase();
            barrier_wait(base + FULL + turns.slot * 8, turns.phase);
            __syncwarp();
            multiply(sum, matrix_points(slot + SLICE + warp / 4 * 8 * ROW), matrix_rows_64(slot), s > 0);
            wgmma_wait<1>();
            if (link > 0 || s > 0)
                arrive_one(base + EMPTY + before * 8, leads);
            if (warp == 0)
                ask_weights(base, before, before_phase, weights, link, s + 2, runs, leads);
            if (warp == 4 && s + 2 < CHUNKS)
                ask_pixels(base, before, before_phase, moved, link, s + 2, leads);
            turns.step();
        }
        const float *own = links + link * 8;
        constexpr size_t ELEMENTS = (size_t)HEIGHT * WIDTH * C;
        int source = (int)own[3];
        bool last = link + 1 == runs,
             used = (link + 1 < runs && (int)own[8 + 3] == link + 1) || (link + 2 < runs && (int)own[16 + 3] == link + 1);
        const finish end = {own[7], two_of<__half>(own[4], own[4]), source >= 0, own[4] > 1};
        const targets to = {source == 0 ? input : kept + (source - 1 & 1) * ELEMENTS,
                            last   ? output
                            : used ? kept + (link & 1) * ELEMENTS
                                   : NULL,
                            moved + (link + 1) % 3 * PLACE, moved + (link + 2) % 3 * PLACE, last};
        unsigned bias = base + turns.before() * SLOT + BIAS + threadIdx.x % 4 * 32;
        const spot at = spot_of();
        uint4 more[4] = {};
        load_residual<0>(more, to, end, at);
        wgmma_wait<0>();
        store<0>(sum, more, to, end, at, bias);
        store<1>(sum, more, to, end, at, bias);
        store<2>(sum, more, to, end, at, bias);
        store<3>(sum, more, to, end, at, bias);
        __syncwarp();
        if (leads && !last)
            asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(done + blockIdx.x / GROUPS), "r"(1) : "memory");
    }
}
