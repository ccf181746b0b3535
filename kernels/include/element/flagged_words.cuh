/* element/flagged_words: words through which running blocks pass data to each other in global memory. Each has 8 bytes, 4 of data and the number of their round, and is
 * written and read as a whole. So a block that reads the right number has the data, and needs neither a separate flag nor a fence. */
#pragma once

/* {data, number} twice. */
struct words {
    unsigned long long a, b;
};
static __device__ __forceinline__ words load_words(const unsigned *p)
{
    words v;
    asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];" : "=l"(v.a), "=l"(v.b) : "l"(p) : "memory");
    return v;
}
static __device__ __forceinline__ void store_words(unsigned *p, const words &v)
{
    asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(p), "l"(v.a), "l"(v.b) : "memory");
}
static __device__ __forceinline__ void store_words(unsigned *p, uint2 data, unsigned number)
{
    store_words(p, words{(unsigned long long)number << 32 | data.x, (unsigned long long)number << 32 | data.y});
}
static __device__ __forceinline__ bool is_of(const words &v, unsigned number) { return (unsigned)(v.a >> 32) == number && (unsigned)(v.b >> 32) == number; }
