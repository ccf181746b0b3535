/* Products in tensor memory (sm_100a): right with `fault` 0, else wrong in one place each. Blocks of 128 threads. */
#define KERNEL extern "C" __global__ void
enum { M = 128, N = 64, K = 16, COLUMNS = 64, IMAGE = 65536, SCALES = 32 };
enum { NONE, READS_EARLY, NEVER_FREES, NO_FENCE, OVERWRITES, OTHER_LANES, NOT_ALLOCATED, ADDS_TO_NOTHING, TOO_MUCH, NO_SHAPE };
__device__ unsigned at_shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void alloc(unsigned *to, int n) { asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(at_shared(to)), "r"(n) : "memory"); }
__device__ void dealloc(unsigned at, int n) { asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(at), "r"(n) : "memory"); }
__device__ void commit(unsigned long long *b)
{
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(at_shared(b)) : "memory");
}
__device__ void await(unsigned long long *b, unsigned parity)
{
    asm volatile("{ .reg .pred p; again: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; @!p bra again; }" ::"r"(at_shared(b)), "r"(parity) : "memory");
}
/* An mbarrier for one arrival, and n columns; what was stored in shared memory before is seen by the tensor core. */
__device__ void begin(unsigned long long *done, unsigned *where, int n)
{
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at_shared(done)) : "memory");
    if (threadIdx.x < 32)
        alloc(where, n);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
}
/* A column of the warp's own lanes: where + (warp << 21) + column. */
__device__ void put(unsigned at, unsigned v)
{
    asm volatile("tcgen05.st.sync.aligned.32x32b.x1.b32 [%0], {%1};" ::"r"(at), "r"(v) : "memory");
}
/* What was put is there for all. */
__device__ void all_put()
{
    asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
    asm volatile("tcgen05.fence::before_thread_sync;");
    __syncthreads();
    asm volatile("tcgen05.fence::after_thread_sync;");
}
/* K-major, no swizzle: 8 rows of 16 bytes lie together; the next 16 bytes of k 128 bytes on, the next 8 rows 256 bytes on. */
__device__ unsigned long long descriptor(const void *p) { return (at_shared(p) >> 4) | (128ull >> 4) << 16 | (256ull >> 4) << 32 | 1ull << 46; }
__device__ int place(int r, int k) { return (r / 8 * 256 + r % 8 * 16 + k / 8 * 128) / 2 + k % 8; }

KERNEL product(const unsigned short *a, const unsigned short *b, float *out, int fault)
{
    __shared__ __align__(128) unsigned short x[M * K], y[N * K];
    __shared__ unsigned long long done;
    __shared__ unsigned where;
    const int t = threadIdx.x, warp = t / 32;
    for (int k = 0; k < K; k++)
        x[place(t, k)] = a[t * K + k];
    for (int k = 0; k < K && t < N; k++)
        y[place(t, k)] = b[t * K + k];
    if (t == 0)
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at_shared(&done)) : "memory");
    if (warp == 0) {
        alloc(&where, COLUMNS);
        if (fault == TOO_MUCH)
            alloc(&where, 512);
        asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
    }
    if (fault != NO_FENCE)
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    const unsigned at = where + (fault == NOT_ALLOCATED ? 32 : 0), lanes = fault == OTHER_LANES ? 0 : warp << 21;
    const unsigned idesc = 1 << 4 | N / 8 << 17 | (fault == NO_SHAPE ? 6 : M / 16) << 24; /* f32 sums of f16 */
    if (t == 0) {
        for (int i = 0; i < 2; i++) /* the product twice: the second adds */
            asm volatile("{ .reg .pred p; setp.ne.u32 p, %4, 0; tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p; }" ::"r"(at), "l"(descriptor(x)),
                         "l"(descriptor(y)), "r"(idesc), "r"(i | (fault == ADDS_TO_NOTHING))
                         : "memory");
        commit(&done);
    }
    if (fault == OVERWRITES)
        x[t] = 0;
    if (fault != READS_EARLY)
        await(&done, 0);
    __syncthreads();
    asm volatile("tcgen05.fence::after_thread_sync;");
    for (int c = 0; c < N; c += 4) {
        unsigned v[4];
        asm volatile("tcgen05.ld.sync.aligned.32x32b.x4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "r"(where + lanes + c));
        asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
        for (int i = 0; i < 4; i++)
            out[t * N + c + i] = __uint_as_float(v[i]);
    }
    __syncthreads();
    if (warp == 0 && fault != NEVER_FREES)
        dealloc(where, COLUMNS);
}

/* What each shape of load finds: lane * 100 + column, stored by .32x32b. */
KERNEL shapes(unsigned *out)
{
    __shared__ unsigned where;
    const unsigned t = threadIdx.x, warp = t / 32;
    if (warp == 0)
        alloc(&where, 32);
    __syncthreads();
    const unsigned at = where + (warp << 21);
    for (unsigned c = 0; c < 16; c++)
        asm volatile("tcgen05.st.sync.aligned.32x32b.x1.b32 [%0], {%1};" ::"r"(at + c), "r"(t * 100 + c) : "memory");
    asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
    unsigned v[12];
    asm volatile("tcgen05.ld.sync.aligned.16x64b.x2.b32 {%0, %1}, [%2];" : "=r"(v[0]), "=r"(v[1]) : "r"(at));
    asm volatile("tcgen05.ld.sync.aligned.16x128b.x1.b32 {%0, %1}, [%2];" : "=r"(v[2]), "=r"(v[3]) : "r"(at + (16 << 16)));
    asm volatile("tcgen05.ld.sync.aligned.16x256b.x1.b32 {%0, %1, %2, %3}, [%4];" : "=r"(v[4]), "=r"(v[5]), "=r"(v[6]), "=r"(v[7]) : "r"(at));
    asm volatile("tcgen05.ld.sync.aligned.16x32bx2.x2.b32 {%0, %1}, [%2], 8;" : "=r"(v[8]), "=r"(v[9]) : "r"(at));
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.pack::16b.b32 {%0}, [%1];" : "=r"(v[10]) : "r"(at + 4));
    asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
    for (int i = 0; i < 11; i++)
        out[t * 11 + i] = v[i];
    __syncthreads();
    if (warp == 0)
        dealloc(where, 32);
}

/* 32 rows of 16 bytes, to all four quarters; out: the lane's four columns. how: 0 as they are, 4 or 6: elements of so many bits to bytes. */
KERNEL copies(const unsigned *in, unsigned *out, int how)
{
    __shared__ __align__(128) unsigned s[128];
    __shared__ unsigned long long done;
    __shared__ unsigned where;
    const unsigned t = threadIdx.x, warp = t / 32;
    s[t] = in[t];
    begin(&done, &where, 32);
    if (t == 0) {
        unsigned long long d = (at_shared(s) >> 4) | (128ull >> 4) << 32 | 1ull << 46;
        if (how == 4)
            asm volatile("tcgen05.cp.cta_group::1.32x128b.warpx4.b8x16.b4x16_p64 [%0], %1;" ::"r"(where), "l"(d) : "memory");
        else if (how == 6)
            asm volatile("tcgen05.cp.cta_group::1.32x128b.warpx4.b8x16.b6x16_p32 [%0], %1;" ::"r"(where), "l"(d) : "memory");
        else
            asm volatile("tcgen05.cp.cta_group::1.32x128b.warpx4 [%0], %1;" ::"r"(where), "l"(d) : "memory");
        commit(&done);
    }
    await(&done, 0);
    unsigned v[4];
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "r"(where + (warp << 21)));
    asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
    for (int i = 0; i < 4; i++)
        out[t * 4 + i] = v[i];
    __syncthreads();
    if (warp == 0)
        dealloc(where, 32);
}

/* A tensor map that the kernel makes itself, of `rows` rows of 32 floats: a box of 8 rows of 16 from row `first` on, column 8. */
#define REPLACE(field, width, value) asm volatile("tensormap.replace.tile." field ".shared::cta.b1024." width " [%0], %1;" ::"l"((unsigned long long)at_shared(map)), value : "memory")
#define REPLACE_AT(field, k, width, value) \
    asm volatile("tensormap.replace.tile." field ".shared::cta.b1024." width " [%0], " k ", %1;" ::"l"((unsigned long long)at_shared(map)), value : "memory")
KERNEL own_map(const float *in, unsigned char *kept, float *out, int rows, int first)
{
    __shared__ __align__(128) unsigned map[32];
    __shared__ __align__(128) float box[128];
    __shared__ unsigned long long full;
    const int t = threadIdx.x;
    if (t < 32) {
        map[t] = 0;
        __syncwarp();
        if (t == 0) {
            REPLACE("global_address", "b64", "l"(in));
            asm volatile("tensormap.replace.tile.rank.shared::cta.b1024.b32 [%0], 1;" ::"l"((unsigned long long)at_shared(map)) : "memory");
            REPLACE_AT("box_dim", "0", "b32", "r"(16));
            REPLACE_AT("box_dim", "1", "b32", "r"(8));
            REPLACE_AT("global_dim", "0", "b32", "r"(32));
            REPLACE_AT("global_dim", "1", "b32", "r"(rows));
            REPLACE_AT("global_stride", "0", "b64", "l"(128ull));
            REPLACE_AT("element_stride", "0", "b32", "r"(1));
            REPLACE_AT("element_stride", "1", "b32", "r"(1));
            asm volatile("tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%0], 7;" ::"l"((unsigned long long)at_shared(map)) : "memory");
            asm volatile("tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%0], 0;" ::"l"((unsigned long long)at_shared(map)) : "memory");
            asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at_shared(&full)) : "memory");
            asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        }
        __syncwarp();
        asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;" ::"l"(kept), "r"(at_shared(map)) : "memory");
        asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(kept) : "memory");
        if (t == 0) {
            asm volatile("{ .reg .b64 s; mbarrier.arrive.expect_tx.shared.b64 s, [%0], 512; }" ::"r"(at_shared(&full)) : "memory");
            asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(at_shared(box)), "l"(kept), "r"(8),
                         "r"(first), "r"(at_shared(&full))
                         : "memory");
        }
    }
    __syncthreads();
    await(&full, 0);
    out[t] = box[t];
}

/* tcgen05.shift of eight columns (how 0), or a product of them, 128 x 16 halves, with
 * .ashift and ones on the diagonal of b. */
KERNEL shifted(const unsigned *in, unsigned *out, int how)
{
    __shared__ __align__(128) unsigned short y[16 * K];
    __shared__ unsigned long long done;
    __shared__ unsigned where;
    const unsigned t = threadIdx.x, warp = t / 32;
    for (int k = 0; k < K && t < 16; k++)
        y[place(t, k)] = t == k ? 0x3c00 : 0;
    begin(&done, &where, 32);
    for (int i = 0; i < 8; i++)
        put(where + (warp << 21) + i, in[t * 8 + i]);
    all_put();
    if (t == 0) {
        if (how == 0)
            asm volatile("tcgen05.shift.cta_group::1.down [%0];" ::"r"(where) : "memory");
        else
            asm volatile("{ .reg .pred p; setp.ne.u32 p, 0, 0; tcgen05.mma.cta_group::1.kind::f16.ashift [%0], [%1], %2, %3, p; }" ::"r"(
                             where + 16),
                         "r"(where), "l"(descriptor(y)), "r"(1 << 4 | 16 / 8 << 17 | M / 16 << 24)
                         : "memory");
        commit(&done);
    }
    await(&done, 0);
    asm volatile("tcgen05.fence::after_thread_sync;");
    for (int i = 0; i < 16; i++) {
        unsigned v;
        asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];" : "=r"(v) : "r"(where + (warp << 21) + (how ? 16 + i : i % 8)));
        asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
        out[t * 16 + i] = v;
    }
    __syncthreads();
    if (warp == 0)
        dealloc(where, 32);
}

/* A scaled product of an image of shared memory and one of the columns from 256 on; `a` and `b` are descriptors relative to the image. */
KERNEL by_image(const unsigned *image, const unsigned *scales, float *out, unsigned long long a, unsigned long long b, unsigned idesc,
                int block)
{
    extern __shared__ __align__(1024) unsigned shared[];
    __shared__ unsigned long long done;
    __shared__ unsigned where;
    const unsigned t = threadIdx.x, warp = t / 32, n = (idesc >> 17 & 63) * 8;
    for (unsigned i = t; i < IMAGE / 4; i += 128)
        shared[i] = image[i];
    begin(&done, &where, 512);
    for (int i = 0; i < SCALES; i++)
        put(where + (warp << 21) + 256 + i, scales[t * SCALES + i]);
    all_put();
    if (t == 0) {
        const unsigned long long base = at_shared(shared) >> 4, da = a + base + (a >> 52 & 1 ? base << 16 : 0),
                                 db = b + base + (b >> 52 & 1 ? base << 16 : 0);
#define SCALED(kind) \
    asm volatile("{ .reg .pred p; setp.ne.u32 p, 0, 0; tcgen05.mma.cta_group::1.kind::" kind " [%0], %1, %2, %3, [%4], [%5], p; }" ::"r"( \
                     where), \
                 "l"(da), "l"(db), "r"(idesc), "r"(where + 256), "r"(where + 256 + 16) \
                 : "memory")
        if (block == 16)
            SCALED("mxf4nvf4.block_scale.block16");
        else
            SCALED("mxf4.block_scale.block32");
        commit(&done);
    }
    await(&done, 0);
    asm volatile("tcgen05.fence::after_thread_sync;");
    for (unsigned c = 0; c < n; c++) {
        unsigned v;
        asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];" : "=r"(v) : "r"(where + (warp << 21) + c));
        asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
        out[t * n + c] = __uint_as_float(v);
    }
    __syncthreads();
    if (warp == 0)
        dealloc(where, 512);
}
