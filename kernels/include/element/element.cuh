/* element/element: the types of tensor elements, converted to and from the f32 in which all kernels here compute.
 *
 * A head says `INPUT_T: type(input)` and `OUTPUT_T: type(output)`; __half and __nv_bfloat16 are plain 2-byte values to move, so only the
 * two functions below know what is inside. */
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__device__ __forceinline__ float to_f32(float x) { return x; }
__device__ __forceinline__ float to_f32(__half x) { return __half2float(x); }
__device__ __forceinline__ float to_f32(__nv_bfloat16 x) { return __bfloat162float(x); }

/* Rounds once, to nearest even. */
template <typename T> __device__ __forceinline__ T from_f32(float x);
template <> __device__ __forceinline__ float from_f32<float>(float x) { return x; }
template <> __device__ __forceinline__ __half from_f32<__half>(float x) { return __float2half_rn(x); }
template <> __device__ __forceinline__ __nv_bfloat16 from_f32<__nv_bfloat16>(float x) { return __float2bfloat16_rn(x); }

/* Two neighbours as one word, the first in the low half; each is rounded as above. */
template <typename T> __device__ __forceinline__ unsigned two_of(float low, float high);
template <> __device__ __forceinline__ unsigned two_of<__half>(float low, float high)
{
    __half2 v = __floats2half2_rn(low, high);
    return *reinterpret_cast<unsigned *>(&v);
}
template <> __device__ __forceinline__ unsigned two_of<__nv_bfloat16>(float low, float high)
{
    __nv_bfloat162 v = __floats2bfloat162_rn(low, high);
    return *reinterpret_cast<unsigned *>(&v);
}
/* Negative ones of two neighbours become 0; NaN stays NaN. One instruction for both, after rounding, where before it would be two for each. */
template <typename T> __device__ __forceinline__ unsigned relu_of(unsigned two);
template <> __device__ __forceinline__ unsigned relu_of<__half>(unsigned two)
{
    unsigned v;
    asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(v) : "r"(two), "r"(0));
    return v;
}
template <> __device__ __forceinline__ unsigned relu_of<__nv_bfloat16>(unsigned two)
{
    unsigned v;
    asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(v) : "r"(two), "r"(0));
    return v;
}

/* Below every number: where the search for a maximum begins. */
#define LEAST __int_as_float(0xff800000)

/* N bytes that move with one load or store; the address must be a multiple of N. */
template <int N> struct bytes_of;
template <> struct bytes_of<1> { using type = unsigned char; };
template <> struct bytes_of<2> { using type = unsigned short; };
template <> struct bytes_of<4> { using type = unsigned; };
template <> struct bytes_of<8> { using type = uint2; };
template <> struct bytes_of<16> { using type = uint4; };
/* V elements of T as one word, and as the elements: registers, as long as every index is known to the compiler. */
template <typename T, int V> union pack {
    typename bytes_of<V * sizeof(T)>::type word;
    T item[V];
    __device__ pack() {}
};
template <typename T, int V> __device__ __forceinline__ pack<T, V> load_pack(const T *p)
{
    pack<T, V> v;
    v.word = *reinterpret_cast<const decltype(v.word) *>(p);
    return v;
}
template <typename T, int V> __device__ __forceinline__ void store_pack(T *p, const pack<T, V> &v)
{
    *reinterpret_cast<decltype(v.word) *>(p) = v.word;
}
/* V results as they are stored: 2-byte types are rounded two at a time. */
template <typename T, int V> __device__ __forceinline__ pack<T, V> rounded(const float (&x)[V])
{
    pack<T, V> v;
    if constexpr (sizeof(T) == 2 && V % 2 == 0) {
        unsigned *two = reinterpret_cast<unsigned *>(&v.word);
#pragma unroll
        for (int i = 0; i < V / 2; i++)
            two[i] = two_of<T>(x[2 * i], x[2 * i + 1]);
    } else {
#pragma unroll
        for (int i = 0; i < V; i++)
            v.item[i] = from_f32<T>(x[i]);
    }
    return v;
}

/* The widest power of two, up to `widest`, that divides n: how many of n elements are moved at once. */
constexpr int divisor(int n, int widest) { return n % widest == 0 ? widest : divisor(n, widest / 2); }
