/* 4, 8 or 16 bytes a lane: WORDS floats. */
#if WORDS == 1
#define VECTOR_T float
__device__ inline float add_scaled(float x, float y, float f) { return fmaf(y, f, x); }
#elif WORDS == 2
#define VECTOR_T float2
__device__ inline float2 add_scaled(float2 x, float2 y, float f) { return make_float2(fmaf(y.x, f, x.x), fmaf(y.y, f, x.y)); }
#else
#define VECTOR_T float4
__device__ inline float4 add_scaled(float4 x, float4 y, float f)
{
    return make_float4(fmaf(y.x, f, x.x), fmaf(y.y, f, x.y), fmaf(y.z, f, x.z), fmaf(y.w, f, x.w));
}
#endif
