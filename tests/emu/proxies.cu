/* What a bulk copy overwrites: stores of the ordinary proxy without a fence.proxy.async, or by lanes not synchronised with the copying one,
 * in shared memory, in another block's, in global memory; mbarriers used as data; lanes that arrive for others. One mistake a kernel, and
 * correct kernels that look like it. test_emu_races.c expects the lines. Compiled for sm_90a and sm_100 when a test needs it. Blocks of 256
 * threads, 4 of them. */
#define KERNEL extern "C" __global__ void
#define PAIR extern "C" __global__ void __cluster_dims__(2, 1, 1)
#define T threadIdx.x
#define WHERE (blockIdx.x * 256 + T)
typedef unsigned long long mbarrier;
__device__ __forceinline__ unsigned at_shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
#define INIT(b, n) asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at_shared(b)), "r"(n) : "memory")
#define ARRIVE(b) asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" ::"r"(at_shared(b)) : "memory")
#define INVAL(b) asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(at_shared(b)) : "memory")
#define EXPECT(b, bytes) asm volatile("{ .reg .b64 t; mbarrier.arrive.expect_tx.shared.b64 t, [%0], %1; }" ::"r"(at_shared(b)), "r"(bytes) : "memory")
__device__ __forceinline__ void await(mbarrier *b, int parity)
{
    unsigned over = 0;
    while (!over)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(over) : "r"(at_shared(b)), "r"(parity) : "memory");
}
#define LOAD(to, from, bytes, bar) asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(at_shared(to)), "l"(from), "r"(bytes), "r"(at_shared(bar)) : "memory")
#define LOAD_BOTH(to, from, bytes, bar) asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;" ::"r"(at_shared(to)), "l"(from), "r"(bytes), "r"(at_shared(bar)), "h"((short)3) : "memory")
#define STORE(to, from, bytes) asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(at_shared(from)), "r"(bytes) : "memory")
#define ADD(to, from, bytes) asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(to), "r"(at_shared(from)), "r"(bytes) : "memory")
#define COMMIT() asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define WAIT() asm volatile("cp.async.bulk.wait_group 0;" ::: "memory")
#define FENCE_SHARED() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define FENCE_PROXY() asm volatile("fence.proxy.async;" ::: "memory")
#define CLUSTER() asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory")
#define NOTHING (void)0
#define BEGIN(arrivals)                                                                                                                             \
    __shared__ __align__(16) float s[512];                                                                                                          \
    __shared__ mbarrier full, empty;                                                                                                                \
    if (T == 0) {                                                                                                                                   \
        INIT(&full, 1);                                                                                                                             \
        INIT(&empty, arrivals);                                                                                                                     \
    }                                                                                                                                               \
    __syncthreads()
#define TAKE(at, bytes)                                                                                                                             \
    if (T == 0) {                                                                                                                                   \
        EXPECT(&full, bytes);                                                                                                                       \
        LOAD(at, in, bytes, &full);                                                                                                                 \
    }                                                                                                                                               \
    await(&full, 0);                                                                                                                                \
    out[WHERE] = s[T]

/* ---- shared memory ---- */
#define OVERWRITTEN(name, before, behind_store, behind_barrier, at)                                                                                 \
    KERNEL name(const float *in, float *out)                                                                                                        \
    {                                                                                                                                               \
        BEGIN(1);                                                                                                                                   \
        before;                                                                                                                                     \
        s[T] = 0;                                                                                                                                   \
        behind_store;                                                                                                                               \
        __syncthreads();                                                                                                                            \
        behind_barrier;                                                                                                                             \
        TAKE(at, 1024);                                                                                                                             \
    }
OVERWRITTEN(overwritten, NOTHING, NOTHING, NOTHING, s) // told
OVERWRITTEN(overwritten_fenced_before, FENCE_SHARED(), NOTHING, NOTHING, s) // told
OVERWRITTEN(overwritten_fenced_by_one, NOTHING, if (T == 0) FENCE_SHARED(), NOTHING, s) // told
OVERWRITTEN(overwritten_behind_fences, NOTHING, FENCE_SHARED(), NOTHING, s)
OVERWRITTEN(overwritten_behind_a_fence, NOTHING, NOTHING, if (T == 0) FENCE_SHARED(), s)
OVERWRITTEN(overwritten_beside, NOTHING, NOTHING, NOTHING, s + 256)
#define SCALED(name, fence)                                                                                                                         \
    KERNEL name(const float *in, float *out) /* a ring whose stages are worked on where they came to */                                             \
    {                                                                                                                                               \
        BEGIN(1);                                                                                                                                   \
        float sum = 0;                                                                                                                              \
        for (int k = 0; k < 4; k++) {                                                                                                               \
            if (T == 0) {                                                                                                                           \
                EXPECT(&full, 1024);                                                                                                                \
                LOAD(s, in, 1024, &full);                                                                                                           \
            }                                                                                                                                       \
            await(&full, k & 1);                                                                                                                    \
            s[T] *= 2;                                                                                                                              \
            __syncthreads();                                                                                                                        \
            sum += s[255 - T];                                                                                                                      \
            fence;                                                                                                                                  \
            __syncthreads();                                                                                                                        \
        }                                                                                                                                           \
        out[WHERE] = sum;                                                                                                                           \
    }
SCALED(scaled_in_place, NOTHING) // told
SCALED(scaled_and_fenced, FENCE_SHARED())
#define ARRIVED(name, fence)                                                                                                                        \
    KERNEL name(const float *in, float *out) /* an mbarrier between the stores and the copy */                                                      \
    {                                                                                                                                               \
        BEGIN(256);                                                                                                                                 \
        s[T] = 0;                                                                                                                                   \
        fence;                                                                                                                                      \
        ARRIVE(&empty);                                                                                                                             \
        if (T == 0)                                                                                                                                 \
            await(&empty, 0);                                                                                                                       \
        TAKE(s, 1024);                                                                                                                              \
    }
ARRIVED(stored_and_arrived, NOTHING) // told
ARRIVED(stored_fenced_and_arrived, FENCE_SHARED())
/* ---- lanes of one warp ---- */
#define REFILLED(name, meet)                                                                                                                        \
    KERNEL name(const float *in, float *out) /* one lane asks for the next before the others have read */                                           \
    {                                                                                                                                               \
        BEGIN(1);                                                                                                                                   \
        float sum = 0;                                                                                                                              \
        for (int k = 0; k < 3 && T < 32; k++) {                                                                                                     \
            if (T == 0) {                                                                                                                           \
                EXPECT(&full, 128);                                                                                                                 \
                LOAD(s, in + 32 * k, 128, &full);                                                                                                   \
            }                                                                                                                                       \
            await(&full, k & 1);                                                                                                                    \
            sum += s[31 - T];                                                                                                                       \
            meet;                                                                                                                                   \
        }                                                                                                                                           \
        out[WHERE] = sum;                                                                                                                           \
    }
REFILLED(refilled_by_one_lane, NOTHING) // told
REFILLED(refilled_by_one_lane_met, __syncwarp())
#define STORED(name, fence_all, meet)                                                                                                               \
    KERNEL name(const float *in, float *out)                                                                                                        \
    {                                                                                                                                               \
        BEGIN(1);                                                                                                                                   \
        if (T >= 32)                                                                                                                                \
            return;                                                                                                                                 \
        s[T] = 1;                                                                                                                                   \
        fence_all;                                                                                                                                  \
        meet;                                                                                                                                       \
        TAKE(s, 128);                                                                                                                               \
    }
STORED(stored_by_lanes, FENCE_SHARED(), NOTHING) // told
STORED(stored_by_lanes_met, FENCE_SHARED(), __syncwarp())
/* ---- another block's ---- */
#define MULTICAST(name, writer, copier)                                                                                                             \
    PAIR name(const float *in, float *out)                                                                                                          \
    {                                                                                                                                               \
        BEGIN(1);                                                                                                                                   \
        if (blockIdx.x & 1)                                                                                                                         \
            s[T] = 1;                                                                                                                               \
        if (T == 0)                                                                                                                                 \
            EXPECT(&full, 1024);                                                                                                                    \
        writer;                                                                                                                                     \
        CLUSTER();                                                                                                                                  \
        if (!(blockIdx.x & 1)) {                                                                                                                    \
            if (T / 32 == 1) {                                                                                                                      \
                copier;                                                                                                                             \
            }                                                                                                                                       \
            __syncthreads();                                                                                                                        \
            if (T == 0)                                                                                                                             \
                LOAD_BOTH(s, in, 1024, &full);                                                                                                      \
        }                                                                                                                                           \
        await(&full, 0);                                                                                                                            \
        out[WHERE] = s[T];                                                                                                                          \
        CLUSTER();                                                                                                                                  \
    }
MULTICAST(overwritten_there, NOTHING, NOTHING) // told
MULTICAST(overwritten_there_fenced, FENCE_PROXY(), NOTHING)
MULTICAST(overwritten_there_fenced_here, NOTHING, FENCE_PROXY())
/* ---- global memory ---- */
#define GLOBAL(name, COPY, before, behind)                                                                                                          \
    KERNEL name(const float *in, float *out)                                                                                                        \
    {                                                                                                                                               \
        BEGIN(1);                                                                                                                                   \
        s[T] = in[T];                                                                                                                               \
        before;                                                                                                                                     \
        FENCE_SHARED();                                                                                                                             \
        out[WHERE] = 7;                                                                                                                             \
        behind;                                                                                                                                     \
        __syncthreads();                                                                                                                            \
        if (T == 0) {                                                                                                                               \
            COPY(out + WHERE, s, 1024);                                                                                                             \
            COMMIT();                                                                                                                               \
            WAIT();                                                                                                                                 \
        }                                                                                                                                           \
    }
GLOBAL(global_overwritten, STORE, FENCE_PROXY(), NOTHING) // told
GLOBAL(global_added_to, ADD, NOTHING, FENCE_SHARED()) // told
GLOBAL(global_overwritten_fenced, STORE, NOTHING, FENCE_PROXY())
GLOBAL(global_added_to_fenced, ADD, NOTHING, FENCE_PROXY())
/* ---- an mbarrier's words as data ---- */
#define DATA(name, given_up)                                                                                                                        \
    KERNEL name(const float *in, float *out)                                                                                                        \
    {                                                                                                                                               \
        BEGIN(256);                                                                                                                                 \
        ARRIVE(&empty);                                                                                                                             \
        await(&empty, 0);                                                                                                                           \
        __syncthreads();                                                                                                                            \
        if (T == 0) {                                                                                                                               \
            given_up;                                                                                                                               \
            *(float *)&empty = in[1];                                                                                                               \
        }                                                                                                                                           \
        __syncthreads();                                                                                                                            \
        out[WHERE] = *(float *)&empty;                                                                                                              \
    }
DATA(mbarrier_as_data, NOTHING) // told
DATA(mbarrier_given_up_for_data, INVAL(&empty))
/* ---- lanes that tell for others, in turns, or meet in a matrix instruction ---- */
#define RELEASED(name, meet, NEXT)                                                                                                                  \
    KERNEL name(const float *in, float *out) /* one lane of the readers gives the stage back */                                                     \
    {                                                                                                                                               \
        BEGIN(1);                                                                                                                                   \
        float sum = 0;                                                                                                                              \
        for (int k = 0; k < 3; k++) {                                                                                                               \
            if (T / 32 == 1) {                                                                                                                      \
                if (k > 0)                                                                                                                          \
                    await(&empty, k - 1 & 1);                                                                                                       \
                NEXT;                                                                                                                               \
            } else if (T < 32) {                                                                                                                    \
                await(&full, k & 1);                                                                                                                \
                sum += s[31 - T];                                                                                                                   \
                meet;                                                                                                                               \
                if (T == 0)                                                                                                                         \
                    ARRIVE(&empty);                                                                                                                 \
            }                                                                                                                                       \
        }                                                                                                                                           \
        out[WHERE] = sum;                                                                                                                           \
    }
#define COPIED                                                                                                                                      \
    if (T == 32) {                                                                                                                                  \
        EXPECT(&full, 128);                                                                                                                         \
        LOAD(s, in + 32 * k, 128, &full);                                                                                                           \
    }
#define WRITTEN                                                                                                                                     \
    s[T - 32] = in[T] + k;                                                                                                                          \
    __syncwarp();                                                                                                                                   \
    if (T == 32)                                                                                                                                    \
    ARRIVE(&full)
RELEASED(released_for_others, NOTHING, COPIED) // told
RELEASED(released_together, __syncwarp(), COPIED)
RELEASED(released_for_others_written, NOTHING, WRITTEN) // told
RELEASED(released_together_written, __syncwarp(), WRITTEN)
KERNEL arrived_in_turns(const float *in, float *out) /* halves of a warp, one after the other */
{
    BEGIN(32);
    if (T < 32) {
        s[T] = in[T];
        if (T & 1) {
            out[WHERE] = 1;
            FENCE_SHARED();
            ARRIVE(&empty);
        } else {
            out[WHERE] = 2;
            out[WHERE + 1024] = 3;
            FENCE_SHARED();
            ARRIVE(&empty);
        }
    } else if (T < 64) {
        await(&empty, 0);
        out[WHERE] = s[T - 32];
        if (T == 32) {
            STORE(out + WHERE + 32, s, 128);
            COMMIT();
            WAIT();
        }
    }
}
KERNEL met_in_a_product(const float *in, float *out) /* what goes into mma.sync has been read when any lane is behind it */
{
    __shared__ float s[256];
    float d[4] = {0, 0, 0, 0};
    s[T] = in[T];
    __syncwarp();
    unsigned v = __float_as_uint(s[T ^ 31]);
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %4}, {%4}, {%0, %1, %2, %3};" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(v));
    s[T] = d[0] + 1;
    __syncwarp();
    out[WHERE] = s[T ^ 1] + d[1];
}
