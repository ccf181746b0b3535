/* bench 1
op: matmul
what: a block 32 x 32 outputs of a channel, from tiles of both factors in shared memory; sums in f32
needs: c * h * w < 2147483648 and c * w * q < 2147483648 and c * h * q < 2147483648 and c <= 65535
layout: {input: [NCHW, NHWC], second: same, output: same}
dtype: {input: [f32, f16, bf16], second: same, output: same}
define:
  NHWC: layout(input) == NHWC
  ELEMENT_T: type(input)
steps:
  - kernel: matmul_tiled
    grid: ceil(q, 32) * ceil(h, 32), c, n
    block: 256
    args: input, second, output, c, h, w, q
*/

/* The definition of a tiled product: each element comes from memory once for 32 outputs. A thread makes four rows of a column. */
#include "element/element.cuh"

static __device__ __forceinline__ int place(int c, int row, int column, int C, int rows, int columns)
{
    return NHWC ? (row * columns + column) * C + c : (c * rows + row) * columns + column;
}

extern "C" __global__ void __launch_bounds__(256)
matmul_tiled(const ELEMENT_T *input, const ELEMENT_T *second, ELEMENT_T *output, int C, int H, int W, int Q)
{
    __shared__ float a[32][33], b[32][33];
    int across = (Q + 31) / 32, row0 = blockIdx.x / across * 32, column0 = blockIdx.x % across * 32, c = blockIdx.y, x = threadIdx.x % 32, y = threadIdx.x / 32;
    float sum[4] = {};
    input += (size_t)blockIdx.z * C * H * W;
    second += (size_t)blockIdx.z * C * W * Q;
    output += (size_t)blockIdx.z * C * H * Q;
    for (int k0 = 0; k0 < W; k0 += 32) {
        for (int j = y; j < 32; j += 8) {
            a[j][x] = row0 + j < H && k0 + x < W ? to_f32(input[place(c, row0 + j, k0 + x, C, H, W)]) : 0.0f;
            b[j][x] = k0 + j < W && column0 + x < Q ? to_f32(second[place(c, k0 + j, column0 + x, C, W, Q)]) : 0.0f;
        }
        __syncthreads();
        for (int k = 0; k < 32; k++)
            for (int j = 0; j < 4; j++)
                sum[j] += a[y + 8 * j][k] * b[k][x];
        __syncthreads();
    }
    for (int j = 0; j < 4; j++)
        if (row0 + y + 8 * j < H && column0 + x < Q)
            output[place(c, row0 + y + 8 * j, column0 + x, C, H, Q)] = from_f32<ELEMENT_T>(sum[j]);
}
