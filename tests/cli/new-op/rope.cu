#include <cuda_fp16.h>
// Rotary embedding, in place: q [tokens, heads, dim], cos/sin [tokens, dim/2]
template <typename T>
__global__ void rope_kernel(T *__restrict__ q, const float *__restrict__ cos_t, const float *__restrict__ sin_t, int heads, int dim)
{
    int token = blockIdx.x, head = blockIdx.y;
    T *row = q + ((size_t)token * heads + head) * dim;
    for (int i = threadIdx.x; i < dim / 2; i += blockDim.x) {
        float c = cos_t[token * (dim / 2) + i], s = sin_t[token * (dim / 2) + i];
        float a = float(row[i]), b = float(row[i + dim / 2]);
        row[i] = T(a * c - b * s);
        row[i + dim / 2] = T(b * c + a * s);
    }
}
template __global__ void rope_kernel<__half>(__half *, const float *, const float *, int, int);
template __global__ void rope_kernel<float>(float *, const float *, const float *, int, int);
