/* Module memory and the heap; test_state.c says what refers to what. */
static __device__ float kept[1000];
__device__ unsigned hits;
__device__ const float table[4] = {1, 2, 3, 4};
__device__ float unused[7];
__constant__ float taps[9];
extern "C" __global__ void k(float *out, int n)
{
    unsigned h = atomicAdd(&hits, 1);
    for (int i = 0; i < n && !h; i++)
        kept[i] = out[i] * table[i & 3] + taps[i % 9];
    out[threadIdx.x] = kept[threadIdx.x];
}
#ifdef HEAP
extern "C" __global__ void m(float **out)
{
    *out = (float *)malloc(100);
}
#endif
