// A softmax as people write it for nvcc: headers of the host, a C++ name, one warp a row.
#include <algorithm>
#include <cassert>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cuda_runtime.h>
#include <limits>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <type_traits>

__global__ void softmax_warp(const float *__restrict__ x, float *__restrict__ y, int rows, int cols)
{
    uint32_t row = blockIdx.x * blockDim.y + threadIdx.y;
    constexpr float low = -INFINITY, top = std::numeric_limits<float>::max();
    static_assert(top == FLT_MAX && std::is_same<int32_t, int>::value && UINT32_MAX == 0xffffffffu && M_PI > 3, "as on the host");
    assert(cols < INT_MAX);
    if (row >= rows)
        return;
    const float *in = x + (std::int64_t)row * cols;
    float *out = y + (int64_t)row * cols;
    float m = low;
    for (int i = threadIdx.x; i < cols; i += 32)
        m = std::max(m, in[i]);
    for (int o = 16; o; o >>= 1)
        m = fmaxf(m, __shfl_xor_sync(0xffffffff, m, o));
    float s = 0;
    for (int i = threadIdx.x; i < cols; i += 32)
        s += std::exp(in[i] - m);
    for (int o = 16; o; o >>= 1)
        s += __shfl_xor_sync(0xffffffff, s, o);
    if (s != s)
        printf("row %u\n", row);
    for (int i = threadIdx.x; i < cols; i += 32)
        out[i] = __expf(in[i] - m) / s;
}
