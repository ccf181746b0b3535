/* sparse/inputs: a sparse convolution from its active inputs, for sparse/tiles.cuh. Unmarked inputs are zero, so an output is the sum of the products of the few
 * marked inputs under its filter; if marks are scattered, that is rarely more than one.
 *
 * A part is PART_ROWS x 8 outputs: its halo has at most 64 inputs. Each warp of the producer packs active parts into a group of up to 64 inputs: it gathers them as
 * columns of an operand, and lists the group's active outputs by rows. Each row has its marks, which say which inputs an output adds. Both consumers work on a group:
 * a product for each tap, of which each has half, makes R * S contributions of each input, in f32 in shared memory. Then half a warp adds up an output, in the order
 * of the taps, and stores it. If an input is in the halos of several parts, it is in a group for each: so every output belongs to one part, and every sum has a fixed
 * order.
 *
 * Needs what sparse/tiles.cuh needs, C at most 64, ROWS 4 or 8, stride and dilation 1. */
#pragma once

constexpr int GROUP_INPUTS = 64, GROUP_ROWS = 64 * R, GROUP_OUTPUTS = 64 * TAPS; /* at most: an input is under R rows and TAPS outputs */
static_assert(PART_HALO_H * HALO_W <= GROUP_INPUTS && ROWS % PART_ROWS == 0, "the halo of a part must fit a group");
constexpr int OPERAND_PLANE = GROUP_INPUTS * 16 + 16;
constexpr int WIDE = 40; /* a product has 32 columns, or so many when that does for a group: more do not fit in registers */
constexpr int PITCH = TAPS * 64 + 4; /* floats of an input's contributions: a wgmma's columns go to different banks */

struct __align__(128) group {
    unsigned char operand[PIECES * OPERAND_PLANE]; /* planes of 8 channels, inputs side by side */
    uint4 rows[GROUP_ROWS];                /* of outputs: first pixel in the batch; marks; first input */
    unsigned short outputs[GROUP_OUTPUTS]; /* row << 3 | column */
    unsigned inputs[GROUP_INPUTS];         /* pixel in the batch */
    int input_count, output_count;         /* input_count < 0: this warp has no more */
};
static __shared__ unsigned long long group_full[4], group_empty[4]; /* barriers */

static __device__ __forceinline__ group *group_of(int warp) { return reinterpret_cast<group *>(space) + warp; }
static __device__ __forceinline__ float *contributions() { return reinterpret_cast<float *>(space + 4 * sizeof(group)); }
/* A warp. */
static __device__ __forceinline__ void init_groups()
{
    int i = threadIdx.x % 32;
    if (i < 4) {
        barrier_init(shared_address(&group_full[i]), 32); /* all who wrote it */
        barrier_init(shared_address(&group_empty[i]), 256); /* all who read it */
    }
}

/* --- producer: a warp, which fills the same group again and again --- */

/* A lane's row of 8 outputs: the marks of its inputs, and where in the group what belongs to it goes. */
struct output_row {
    unsigned marks, active;         /* R rows of HALO_W bits; 8 bits */
    unsigned inputs, outputs, rows; /* first places */
    unsigned in_pixel, out_pixel;   /* of the row's first input, which may lie outside, and first output */
};
constexpr unsigned ROW_BITS = (1u << HALO_W) - 1;
constexpr unsigned TAP_BITS = ((1u << S) - 1) * (1 | (R > 1 ? 1u << HALO_W : 0) | (R > 2 ? 1u << 2 * HALO_W : 0)); /* of an output's marks, from its column on */

struct group_producer {
    const TYPE *input;
    const unsigned *mask;
    image im;
    group *to;
    unsigned used; /* counts in the group so far: inputs, outputs << 10, rows << 20; none overflows */
    int filled;    /* groups that this warp has given away */

    /* Before the first group. A product may have more columns than there are inputs; what the others hold reaches no output, but somebody must have written it. */
    __device__ __forceinline__ void clear() const
    {
        for (int i = threadIdx.x % 32; i < PIECES * GROUP_INPUTS; i += 32)
            reinterpret_cast<uint4 *>(to->operand)[i / GROUP_INPUTS * (OPERAND_PLANE / 16) + i % GROUP_INPUTS] = make_uint4(0, 0, 0, 0);
        __syncwarp();
    }
    __device__ __forceinline__ void open()
    {
        barrier_wait(shared_address(&group_empty[threadIdx.x / 32]), filled & 1 ^ 1);
        used = 0;
    }
    __device__ __forceinline__ void give(int count)
    {
        int lane = threadIdx.x % 32;
        copy_async_commit();
        copy_async_wait<0>();
        fence_async();
        if (lane == 0)
            to->input_count = count, to->output_count = used >> 10 & 1023;
        barrier_arrive(shared_address(&group_full[threadIdx.x / 32]));
        filled++;
    }

    /* The marks of row `row` of a tile's halo; nothing is loaded where `wanted` is false. */
    __device__ __forceinline__ unsigned row_bits(const place &at, int row, bool wanted) const
    {
        int words = (im.W + 31) / 32, y = at.y + row - im.pad, x = at.x - im.left(), word = x >> 5;
        bool inside = wanted && y >= 0 && y < im.H;
        unsigned first = ((unsigned)at.n * im.H + (inside ? y : 0)) * words;
        unsigned low = __ldg(mask + first + min(max(word, 0), words - 1)), high = __ldg(mask + first + min(word + 1, words - 1));
        low = inside && word >= 0 && word < words ? low : 0, high = inside && word + 1 < words ? high : 0;
        return __funnelshift_r(low, high, x) & ROW_BITS;
    }
    /* Lane `ROWS * i + j` has row j of tile i, and loads rows j and ROWS + j of its halo; the others come from its neighbours. */
    __device__ __forceinline__ output_row row_of(const work *tile) const
    {
        int lane = threadIdx.x % 32, row = lane % ROWS;
        const place at = tile ? tile->at : place{0, -im.H, 0};
        unsigned own_bits = row_bits(at, row, true) | (R > 1 ? row_bits(at, ROWS + row, row < R - 1) << 16 : 0);
        output_row own = {};
        own.active = tile ? tile->active >> (8 * row) & 0xff : 0;
        own.in_pixel = ((unsigned)at.n * im.H + at.y + row - im.pad) * im.W + at.x - im.left();
        own.out_pixel = ((unsigned)at.n * im.P + at.y + row) * im.Q + at.x;
        own.marks = own_bits & ROW_BITS;
#pragma unroll
        for (int r = 1; r < R; r++) {
            unsigned other = __shfl_sync(~0u, own_bits, lane - row + (row + r) % ROWS);
            own.marks |= (row + r < ROWS ? other & ROW_BITS : other >> 16) << (r * HALO_W);
        }
        return own;
    }
    /* The row's inputs that no later row of its part has, in the order of the image. */
    __device__ __forceinline__ unsigned own_inputs(const output_row &own) const
    {
        return threadIdx.x % PART_ROWS == PART_ROWS - 1 ? own.marks : own.marks & ROW_BITS;
    }
    __device__ __forceinline__ void list_inputs(const output_row &own) const
    {
        unsigned at = own.inputs;
        for (unsigned bits = own_inputs(own); bits; bits &= bits - 1) {
            int i = __ffs(bits) - 1;
            to->inputs[at++] = own.in_pixel + i / HALO_W * im.W + i % HALO_W;
        }
    }
    __device__ __forceinline__ void list_outputs(const output_row &own) const
    {
        if (own.active == 0)
            return;
        to->rows[own.rows] = make_uint4(own.out_pixel, own.marks, own.inputs, 0);
#pragma unroll
        for (int i = 0; i < 8; i++)
            if (own.active >> i & 1)
                to->outputs[own.outputs + __popc(own.active & ((1u << i) - 1))] = own.rows << 3 | i;
    }

    /* Rows of up to 32 / ROWS tiles. */
    __device__ __forceinline__ void put(output_row own)
    {
        int lane = threadIdx.x % 32;
        unsigned size = __popc(own_inputs(own)) | __popc(own.active) << 10 | (own.active != 0) << 20; /* as `used` */
        unsigned end = scan(size), begin = end - size, before = 0; /* what earlier rounds have put */
        unsigned part_end = __shfl_sync(~0u, end, lane | (PART_ROWS - 1));
        for (bool waits = true;;) {
            bool fits = waits && (part_end & 1023) - (before & 1023) + (used & 1023) <= GROUP_INPUTS;
            unsigned put = __ballot_sync(~0u, fits);
            if (fits) {
                unsigned at = used + begin - before;
                own.inputs = at & 1023, own.outputs = at >> 10 & 1023, own.rows = at >> 20;
                list_inputs(own);
                list_outputs(own);
            }
            if (put) {
                unsigned now = __shfl_sync(~0u, end, 31 - __clz(put)), inputs = used & 1023, limit = inputs + (now - before & 1023);
                __syncwarp();
                for (int i = inputs * PIECES + lane; i < limit * PIECES; i += 32)
                    copy_async_16_of(shared_address(to->operand) + i % PIECES * OPERAND_PLANE + i / PIECES * 16, input + (size_t)to->inputs[i / PIECES] * C + i % PIECES * 8, 16);
                used += now - before;
                before = now;
            }
            waits = waits && !fits;
            if (!__any_sync(~0u, waits))
                return;
            give(used & 1023);
            open();
        }
    }
};

static __shared__ unsigned inputs_end[4]; /* of each warp: there is no register for it, nor for its address */
static __device__ __forceinline__ unsigned own_end()
{
    unsigned thread;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
    return inputs_end[thread / 32];
}

/* Inputs from .. end - 1 of the whole launch are this warp's. */
static __device__ __forceinline__ void produce_inputs(group_producer p, const common &all, unsigned from, unsigned end)
{
    constexpr int TILES = 32 / ROWS; /* at a time */
    int own = threadIdx.x % 32 / ROWS;
    lister<1> tiles = {all, p.im, true};
    if (threadIdx.x % 32 == 0)
        inputs_end[threadIdx.x / 32] = end;
    __syncwarp();
    if (from < end) {
        wait_for_space<4 * sizeof(group)>();
        p.clear();
        p.open();
    }
    for (; from < own_end(); from += tiles.MOST) {
        tiles.round(from, min(from + tiles.MOST, own_end()));
        unsigned rank = tiles.first(), limit = tiles.end();
        output_row row = p.row_of(rank + own < limit ? &tiles.tile(rank + own) : nullptr);
        for (; rank < limit; rank += TILES) {
            output_row next = p.row_of(rank + TILES + own < limit ? &tiles.tile(rank + TILES + own) : nullptr); /* its marks are on their way meanwhile */
            p.put(row);
            row = next;
        }
    }
    if (p.used) {
        p.give(p.used & 1023);
        p.open();
    }
    p.give(-1);
}

/* --- consumers: 256 threads --- */

/* What COLUMNS inputs contribute through taps FIRST .. LAST - 1; `count` of them are there. parts: of the thread's first channel and input. */
template <int COLUMNS, int FIRST, int LAST> static __device__ __forceinline__ void contribute(unsigned operand, const unsigned (*held)[4], float *parts, int count)
{
    unsigned long long columns = matrix_planes(operand, OPERAND_PLANE, 128);
    float sum[2][COLUMNS / 2];
    int own = threadIdx.x % 4 * 2;
#pragma unroll
    for (int tap = FIRST; tap <= LAST; tap++) {
        if (tap < LAST) {
            wgmma_begin();
#pragma unroll
            for (int c = 0; c < C / 16; c++)
                wgmma_registers<TYPE, COLUMNS>(sum[tap & 1], held[tap * (C / 16) + c], columns + c * 2 * (OPERAND_PLANE / 16), c > 0);
            wgmma_commit();
        }
        if (tap == FIRST)
            continue;
        if (tap < LAST)
            wgmma_wait<1>();
        else
            wgmma_wait<0>();
        const float *done = sum[tap & 1 ^ 1];
#pragma unroll
        for (int i = 0; i < COLUMNS / 2; i++) { /* input i / 4 * 8 + i % 2 of those that begin at the thread's first, channel 8 (i / 2 % 2) further */
            int ahead = i / 4 * 8 + i % 2;
            if (own + ahead < count)
                parts[ahead * PITCH + (tap - 1) * 64 + i / 2 % 2 * 8] = done[i];
        }
    }
}

/* The consumers share the taps: often there are not even COLUMNS inputs. */
template <int COLUMNS> static __device__ __forceinline__ void contribute(int me, unsigned operand, const unsigned (*held)[4], float *parts, int count)
{
    if (me == 0)
        contribute<COLUMNS, 0, (TAPS + 1) / 2>(operand, held, parts, count);
    else if (TAPS > 1)
        contribute<COLUMNS, (TAPS + 1) / 2, TAPS>(operand, held, parts, count);
}

/* Which output of a group a lane knows about. */
struct group_output {
    uint4 row;     /* of the group */
    int x;         /* in the row */
    unsigned taps; /* its marks that have not been added */

    /* Where the contribution of its next marked input begins, in 16 bytes. There must be one. */
    __device__ __forceinline__ int next_part()
    {
        int i = __ffs(taps) - 1, input = row.z + __popc(row.y & ((1u << (x + i)) - 1));
        taps &= taps - 1;
        return input * (PITCH / 4) + (i - i / HALO_W * (HALO_W - S)) * 16;
    }
};

/* A warp takes 2 * AT_ONCE outputs: its lanes find out where their contributions are, then half a warp adds up each, a lane four channels. */
static __device__ __forceinline__ void store_outputs(const group &from, const consumer &to, const float bias[4])
{
    constexpr int VECTOR = STORE == 8 ? 4 : 2, AT_ONCE = 5;
    int lane = threadIdx.x % 32, half = lane / 16 * AT_ONCE, channel = lane % 16 * 4, count = from.output_count;
    const float4 *parts = reinterpret_cast<const float4 *>(contributions()) + lane % 16;
    for (int first = (threadIdx.x - 128) / 32 * (2 * AT_ONCE); first < count; first += 8 * 2 * AT_ONCE) {
        int which = from.outputs[min(first + lane % (2 * AT_ONCE), count - 1)];
        group_output own = {from.rows[which >> 3], which & 7, 0};
        own.taps = own.row.y >> own.x & TAP_BITS;
        unsigned pixel = own.row.x + own.x;
        int part = own.next_part();
        float4 sum[AT_ONCE];
#pragma unroll
        for (int j = 0; j < AT_ONCE; j++)
            sum[j] = parts[__shfl_sync(~0u, part, half + j)];
        while (__any_sync(~0u, own.taps)) {
            part = own.taps ? own.next_part() : -1;
#pragma unroll
            for (int j = 0; j < AT_ONCE; j++) {
                int next = __shfl_sync(~0u, part, half + j);
                if (next >= 0) {
                    float4 more = parts[next];
                    sum[j].x += more.x, sum[j].y += more.y, sum[j].z += more.z, sum[j].w += more.w;
                }
            }
        }
#pragma unroll
        for (int j = 0; j < AT_ONCE; j++) {
            TYPE *out = to.output + (size_t)__shfl_sync(~0u, pixel, half + j) * to.K + channel;
            float values[4] = {sum[j].x, sum[j].y, sum[j].z, sum[j].w};
#pragma unroll
            for (int e = 0; e < 4; e += VECTOR) {
                pack<TYPE, VECTOR> v;
#pragma unroll
                for (int k = 0; k < VECTOR; k++)
                    v.item[k] = from_f32<TYPE>(activate(values[e + k] + bias[e + k]));
                store_if(first + half + j < count && to.k0 + channel + e < to.K, out + e, v.word);
            }
        }
    }
}

static __device__ __forceinline__ void consume_inputs(const consumer &to, const unsigned (*held)[4])
{
    int me = warpgroup_index() - 1, lane = threadIdx.x % 32;
    float bias[4], *parts = contributions() + lane % 4 * 2 * PITCH + staged_pixels::own_channel();
#pragma unroll
    for (int i = 0; i < 4; i++) {
        int k = to.k0 + threadIdx.x % 16 * 4 + i;
        bias[i] = EPI_BIAS && k < to.K ? to.bias[k] : 0.0f;
    }
    unsigned over = 0; /* warps of the producer that have no more */
    for (int turn = 0; over != 15; turn++) {
        int warp = turn % 4;
        if (over >> warp & 1)
            continue;
        const group &from = *group_of(warp);
        barrier_wait(shared_address(&group_full[warp]), turn / 4 & 1);
        int count = __shfl_sync(~0u, from.input_count, 0);
        if (count < 0) { /* nobody waits for it */
            over |= 1 << warp;
            continue;
        }
        unsigned operand = shared_address(from.operand);
        if (count > 32 && count <= WIDE)
            contribute<WIDE>(me, operand, held, parts, count);
        else
            for (int i = 0; i < count; i += 32)
                contribute<32>(me, operand + i * 16, held, parts + i * PITCH, count - i);
        consumers_sync();
        store_outputs(from, to, bias);
        barrier_arrive(shared_address(&group_empty[warp]));
        consumers_sync(); /* the contributions have been read */
    }
}
