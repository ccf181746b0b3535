// Computes one bf16 product although the math mode is tf32; its head claims the algorithm split3.
// emu: wrong tensor cores multiply bf16 in conv, which is not allowed for tf32 with algorithm `split3`
// cuda: wrong tensor cores multiply bf16 in conv, which is not allowed for tf32 with algorithm `split3`
/* bench 1
what: one product of bf16 tensor cores under tf32
like: right
math: [tf32]
algorithm: split3
steps:
  - kernel: conv
    grid: ceil(n * p * q, 16), ceil(k, 16)
    block: 32
    args: input, filter, output, n, c, h, w, k
*/
#include <mma.h>
#include <cuda_bf16.h>
using namespace nvcuda::wmma;
extern "C" __global__ void conv(const float *x, const float *f, float *y, int N, int C, int H, int W, int K)
{
    __shared__ __nv_bfloat16 a[256], b[256];
    __shared__ float d[256];
    int lane = threadIdx.x, first = blockIdx.x * 16, k0 = blockIdx.y * 16, size = N * H * W;
    fragment<matrix_a, 16, 16, 16, __nv_bfloat16, row_major> fa;
    fragment<matrix_b, 16, 16, 16, __nv_bfloat16, row_major> fb;
    fragment<accumulator, 16, 16, 16, float> fd;
    fill_fragment(fd, 0.0f);
    for (int t = 0; t < 9; t++)
        for (int c0 = 0; c0 < C; c0 += 16) {
            for (int e = lane; e < 256; e += 32) {
                int i = first + e / 16, c = c0 + e % 16;
                int q = i % W, p = i / W % H, n = i / (W * H), r = p + t / 3 - 1, s = q + t % 3 - 1;
                a[e] = __float2bfloat16(i < size && c < C && r >= 0 && r < H && s >= 0 && s < W ? x[((n * C + c) * H + r) * W + s] : 0.0f);
                int cc = c0 + e / 16, k = k0 + e % 16;
                b[e] = __float2bfloat16(cc < C && k < K ? f[(k * C + cc) * 9 + t] : 0.0f);
            }
            __syncthreads();
            load_matrix_sync(fa, a, 16);
            load_matrix_sync(fb, b, 16);
            mma_sync(fd, fa, fb, fd);
            __syncthreads();
        }
    store_matrix_sync(d, fd, 16, mem_row_major);
    __syncthreads();
    for (int e = lane; e < 256; e += 32) {
        int i = first + e / 16, k = k0 + e % 16, n = i / (W * H);
        if (i < size && k < K)
            y[((long)n * K + k) * H * W + i % (W * H)] = d[e];
    }
}
