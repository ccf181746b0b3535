/* sparse/pixels: a sparse convolution by active pixels, for sparse/tiles.cuh: a product's columns are 64 active outputs from anywhere.
 *
 * A slot of the ring is one tap of 64 outputs, so every input is loaded once for each tap. Only marked pixels are read: the others are zeros.
 *
 * Needs what sparse/tiles.cuh needs. */
#pragma once

/* One tap of 64 pixels: planes of 8 channels, all pixels side by side. */
constexpr int TAP_STAGES = TAPS < 3 ? TAPS * 8 : 20, TAP_DEPTH = 2, TAP_PLANE = 64 * 16 + 16, TAP_BYTES = PIECES * TAP_PLANE;
constexpr int NUMBERED = 1024; /* ten times 64 pixels may be under way, eight of them in the ring, when LIST + 63 are numbered behind 63 that wait */

struct pixel {
    int in_row, out_row, x; /* rows of all images: of the first tap, n * H + y * STRIDE - pad, and n * P + y */
    unsigned marks;         /* bit r * S + s: the input through tap (r, s) is marked */
};

static __device__ __forceinline__ unsigned ring_address() { return shared_address(space) + 2 * staged_bytes(8); } /* behind what is being stored */
static __shared__ unsigned long long full[TAP_STAGES], empty[TAP_STAGES]; /* barriers */
static __shared__ pixel numbered[NUMBERED];     /* by number modulo NUMBERED, from the block's first */
static __shared__ int ring_pixels[TAP_STAGES];  /* of 64, how many there are; < 0: no more */

/* A warp. */
static __device__ __forceinline__ void init_taps()
{
    int i = threadIdx.x % 32;
    if (i < TAP_STAGES) {
        barrier_init(shared_address(&full[i]), 1);
        barrier_init(shared_address(&empty[i]), 4); /* a lane of each warp of the consumer whose turn it is */
    }
}

/* --- producer --- */

/* The ring of taps: slot i is tap i % TAPS of the block's 64 pixels number i / TAPS, and warp i % 4 fills it. */
struct tap_producer {
    const TYPE *input;
    const unsigned *mask;
    image im;
    int issued, arrived;

    __device__ __forceinline__ void arrive_oldest()
    {
        fence_async();
        __syncwarp();
        if (threadIdx.x % 32 == 0)
            barrier_arrive(shared_address(&full[arrived % TAP_STAGES]));
        arrived += 4;
    }
    /* A warp numbers the active pixels of a tile. first: the number of the block's first. */
    __device__ __forceinline__ void number_pixels(const work &tile, unsigned first) const
    {
        int words = (im.W + 31) / 32;
#pragma unroll
        for (int half = 0; half < 2; half++) {
            int bit = half * 32 + threadIdx.x % 32, y = tile.at.y + bit / 8, x = tile.at.x + bit % 8;
            if (!(tile.active >> bit & 1))
                continue;
            unsigned marks = 0;
#pragma unroll
            for (int r = 0; r < R; r++) {
                unsigned row = mask_bits(mask + (size_t)tile.at.n * im.H * words, y * STRIDE - im.pad + r * DILATION, x * STRIDE - im.left(), im.H, words);
#pragma unroll
                for (int s = 0; s < S; s++)
                    marks |= (row >> (s * DILATION) & 1) << (r * S + s);
            }
            numbered[(tile.first - first + __popcll(tile.active & ((1ull << bit) - 1))) % NUMBERED] = {tile.at.n * im.H + y * STRIDE - im.pad, tile.at.n * im.P + y, x, marks};
        }
    }
    /* The warp's taps of 64 pixels, `count` of which there are. */
    __device__ __forceinline__ void put(int sixty_four, int count)
    {
        int lane = threadIdx.x % 32;
        unsigned at[2], marks[2]; /* of pixels lane and lane + 32: where their first tap lies, in 16 bytes */
#pragma unroll
        for (int half = 0; half < 2; half++) {
            int number = half * 32 + lane;
            const pixel &own = numbered[(sixty_four * 64 + min(number, count - 1)) % NUMBERED];
            at[half] = ((unsigned)own.in_row * im.W + own.x * STRIDE - im.left()) * PIECES;
            marks[half] = number < count ? own.marks : 0;
        }
        for (; issued < (sixty_four + 1) * TAPS; issued += 4) {
            int tap = issued % TAPS, slot = issued % TAP_STAGES;
            unsigned to = ring_address() + slot * TAP_BYTES, further = (tap / S * im.W + tap % S) * DILATION * PIECES;
            barrier_wait(shared_address(&empty[slot]), issued / TAP_STAGES & 1 ^ 1);
            if (lane == 0)
                ring_pixels[slot] = count;
#pragma unroll 4 /* all of them would need more registers than there are */
            for (int j = 0; j < 2 * PIECES; j++) {
                int number = (j * 32 + lane) / PIECES, piece = (j * 32 + lane) % PIECES;
                unsigned from = __shfl_sync(~0u, j < PIECES ? at[0] : at[1], number % 32), own = __shfl_sync(~0u, j < PIECES ? marks[0] : marks[1], number % 32);
                if (32 % PIECES != 0) { /* the lanes' pixels may be of both halves */
                    unsigned low = __shfl_sync(~0u, at[0], number % 32), low_own = __shfl_sync(~0u, marks[0], number % 32);
                    unsigned high = __shfl_sync(~0u, at[1], number % 32), high_own = __shfl_sync(~0u, marks[1], number % 32);
                    from = number < 32 ? low : high, own = number < 32 ? low_own : high_own;
                }
                from += further + piece; /* right where the input is marked, whatever was below 0 */
                copy_async_16_of(to + piece * TAP_PLANE + number * 16, input + (size_t)from * 8, own >> tap << 4 & 16);
            }
            copy_async_commit();
            if (issued + 4 - arrived == 4 * TAP_DEPTH) {
                copy_async_wait<TAP_DEPTH - 1>();
                arrive_oldest();
            }
        }
    }
    __device__ __forceinline__ void finish(int all)
    {
        copy_async_wait<0>();
        while (arrived < issued)
            arrive_oldest();
        for (int i = all * TAPS; i <= (all + 1) * TAPS; i += TAPS) { /* the first taps that do not come, one for each consumer */
            if (i % 4 != threadIdx.x / 32)
                continue;
            barrier_wait(shared_address(&empty[i % TAP_STAGES]), i / TAP_STAGES & 1 ^ 1);
            if (threadIdx.x % 32 == 0)
                ring_pixels[i % TAP_STAGES] = -1;
            arrived = i;
            arrive_oldest();
        }
    }
};

static __device__ __forceinline__ void produce_pixels(tap_producer p, const common &all, unsigned from, unsigned end)
{
    unsigned first = 0, last = 0; /* numbers of the block's first pixel, and of the one behind its last so far */
    int done = 0;                 /* groups of 64 */
    p.issued = p.arrived = threadIdx.x / 32;
    lister<4> tiles = {all, p.im, true};
    for (bool begun = false; from < end; from += LIST) {
        tiles.round(from, min(from + LIST, end));
        if (tiles.first() < tiles.end()) {
            const work &tail = tiles.tile(tiles.end() - 1);
            first = begun ? first : tiles.tile(tiles.first()).first;
            last = tail.first + __popcll(tail.active);
            begun = true;
        }
        for (unsigned rank = tiles.first() + threadIdx.x / 32; rank < tiles.end(); rank += 4)
            p.number_pixels(tiles.tile(rank), first);
        warpgroup_sync(0);
        wait_for_space<2 * staged_bytes(8) + TAP_STAGES * TAP_BYTES>();
        bool over = from + LIST >= end;
        for (; (done + 1) * 64 <= last - first || (over && done * 64 < last - first); done++)
            p.put(done, min(64, last - first - done * 64));
    }
    p.finish(done);
}

/* --- consumers: two warpgroups --- */

static __device__ __forceinline__ void consume_pixels(const consumer &to, const unsigned (*held)[4])
{
    int lane = threadIdx.x % 32, me = warpgroup_index() - 1;
    staged_pixels staged(space + me * staged_bytes(8), me + 1, to.bias, to.k0, to.K);
    for (int sixty_four = me;; sixty_four += 2) {
        float sum[32];
        int count = 0;
#pragma unroll
        for (int tap = 0; tap < TAPS; tap++) {
            int i = sixty_four * TAPS + tap, slot = i % TAP_STAGES;
            barrier_wait(shared_address(&full[slot]), i / TAP_STAGES & 1);
            if (tap == 0) {
                count = read_first(ring_pixels[slot]);
                if (count < 0)
                    return;
            }
            unsigned long long pixels = matrix_planes(ring_address() + slot * TAP_BYTES, TAP_PLANE, 128);
            wgmma_begin();
#pragma unroll
            for (int c = 0; c < C / 16; c++)
                wgmma_registers<TYPE, 64>(sum, held[tap * (C / 16) + c], pixels + c * 2 * (TAP_PLANE / 16), tap + c > 0);
            wgmma_commit();
            if (tap > 0) { /* the tap before has been read */
                wgmma_wait<1>();
                if (lane == 0)
                    barrier_arrive(shared_address(&empty[(i - 1) % TAP_STAGES]));
            }
        }
        wgmma_wait<0>();
        if (lane == 0)
            barrier_arrive(shared_address(&empty[(sixty_four * TAPS + TAPS - 1) % TAP_STAGES]));
        int first = staged.first_pixel();
        staged.store<8>(sum, [&](int ahead) { return first + ahead < count; }, [&](int ahead) {
            const pixel &own = numbered[(sixty_four * 64 + min(first + ahead, count - 1)) % NUMBERED];
            return to.output + ((size_t)own.out_row * to.Q + own.x) * to.K;
        });
    }
}
