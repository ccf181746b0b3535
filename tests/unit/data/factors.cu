/* One matrix product of each type; test_factors.c reads it from PTX and from machine code. */
#define PRODUCT(name, type, count, to, text, a, b) \
    extern "C" __global__ void name(const unsigned *p, type *q) \
    { \
        type d[count]; \
        for (int i = 0; i < count; i++) \
            d[i] = q[i]; \
        asm volatile(text : to : a, b); \
        for (int i = 0; i < count; i++) \
            q[i] = d[i]; \
    }
#define FOUR "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
#define FOUR_INT "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
#define SMALL(types) "mma.sync.aligned." types " {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
#define TWO "r"(p[0]), "r"(p[1])
#define ONE "r"(p[2])
PRODUCT(mma_f16, float, 4, FOUR, SMALL("m16n8k8.row.col.f32.f16.f16.f32"), TWO, ONE)
PRODUCT(mma_bf16, float, 4, FOUR, SMALL("m16n8k8.row.col.f32.bf16.bf16.f32"), TWO, ONE)
PRODUCT(mma_tf32, float, 4, FOUR, SMALL("m16n8k4.row.col.f32.tf32.tf32.f32"), TWO, ONE)
PRODUCT(mma_i8, unsigned, 4, FOUR_INT, SMALL("m16n8k16.row.col.s32.s8.s8.s32"), TWO, ONE)
extern "C" __global__ void mma_f16_sums(const unsigned *p, unsigned *q)
{
    unsigned d[2] = {q[0], q[1]};
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3}, {%4}, {%0,%1};" : "+r"(d[0]), "+r"(d[1]) : TWO, ONE);
    q[0] = d[0];
    q[1] = d[1];
}
extern "C" __global__ void none(const float *p, float *q)
{
    *q = fmaf(p[0], p[1], p[2]);
}
#ifdef WGMMA
#define WIDE(name, types, tail) \
    extern "C" __global__ void name(unsigned long long a, unsigned long long b, float *q) \
    { \
        float d[4] = {q[0], q[1], q[2], q[3]}; \
        asm volatile("wgmma.fence.sync.aligned;"); \
        asm volatile("{.reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned." types " {%0,%1,%2,%3}, %4, %5, p, 1, 1" tail ";}" \
                     : FOUR \
                     : "l"(a), "l"(b)); \
        asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"); \
        for (int i = 0; i < 4; i++) \
            q[i] = d[i]; \
    }
WIDE(wgmma_f16, "m64n8k16.f32.f16.f16", ", 0, 0")
WIDE(wgmma_bf16, "m64n8k16.f32.bf16.bf16", ", 0, 0")
WIDE(wgmma_tf32, "m64n8k8.f32.tf32.tf32", "")
WIDE(wgmma_e4m3, "m64n8k32.f32.e4m3.e4m3", "")
WIDE(wgmma_e5m2, "m64n8k32.f32.e5m2.e5m2", "")
extern "C" __global__ void wgmma_f16_sums(unsigned long long a, unsigned long long b, unsigned *q)
{
    unsigned d[2] = {q[0], q[1]};
    asm volatile("wgmma.fence.sync.aligned;");
    asm volatile("{.reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%0,%1}, %2, %3, p, 1, 1, 0, 0;}"
                 : "+r"(d[0]), "+r"(d[1])
                 : "l"(a), "l"(b));
    asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;");
    q[0] = d[0];
    q[1] = d[1];
}
#endif
