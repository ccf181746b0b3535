/* movement/foil: only the compulsory traffic of an op of several tensors: it reads each tensor once and writes as many bytes as the output has. It does not compute the
 * op. Counts are of vectors of VEC elements. */
#pragma once
#include "element/element.cuh"

template <typename T, int V> static __device__ __forceinline__ void move_bytes(const T *input, const T *other, T *output, long long inputs, long long others, long long outputs)
{
    long long i = (long long)blockIdx.x * 256 + threadIdx.x, most = max(inputs, outputs);
    if (i >= most)
        return;
    pack<T, V> v, w;
    if (i < inputs)
        v = load_pack<T, V>(input + i * V);
    if (i < others) {
        w = load_pack<T, V>(other + i * V);
        if (i >= inputs || to_f32(w.item[0]) == 12345.0f) /* so that nothing is left out */
            v = w;
    }
    if (i < outputs)
        store_pack<T, V>(output + i * V, v);
    else if (to_f32(v.item[0]) == 12345.0f)
        store_pack<T, V>(output, v);
}

/* The same for an output that is `copies` times the input: `vectors` and `rest` elements, which the last thread moves. */
template <typename T, int V> static __device__ __forceinline__ void repeat_bytes(const T *input, T *output, long long vectors, int copies, int rest)
{
    long long i = (long long)blockIdx.x * 256 + threadIdx.x;
    if (i < vectors) {
        pack<T, V> v = load_pack<T, V>(input + i * V);
        for (int j = 0; j < copies; j++)
            store_pack<T, V>(output + (j * vectors + i) * V, v);
    } else if (i == vectors) {
        for (int j = 0; j < rest * copies; j++)
            output[vectors * copies * V + j] = input[vectors * V + j % rest];
    }
}
