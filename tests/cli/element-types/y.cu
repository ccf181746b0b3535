/* bench 1
op: mx
what: block-scaled tensor cores of sm_120; a warp 16 x 8 outputs
needs: cc >= 120 and m % 16 == 0 and n % 8 == 0 and k % 64 == 0
algorithm: implicit_gemm
steps:
  - kernel: mx
    grid: n / 8, m / 16
    block: 32
    args: a, b, a_scale, b_scale, c, n, k
*/
extern "C" __global__ void mx(const unsigned char *a, const unsigned char *b, const unsigned char *a_scale, const unsigned char *b_scale, float *c, int n, int k)
{
    int g = threadIdx.x / 4, t = threadIdx.x % 4, row = blockIdx.y * 16 + g, column = blockIdx.x * 8 + g;
    float sum[4] = {};
    for (int k0 = 0; k0 < k; k0 += 64) {
        unsigned fa[4], fb[2];
        for (int r = 0; r < 4; r++)
            fa[r] = *(const unsigned *)(a + ((row + r % 2 * 8) * k + k0 + r / 2 * 32 + t * 8) / 2);
        for (int r = 0; r < 2; r++)
            fb[r] = *(const unsigned *)(b + (column * k + k0 + r * 32 + t * 8) / 2);
        unsigned sa = *(const unsigned short *)(a_scale + ((row + t % 2 * 8) * k + k0) / 32), sb = *(const unsigned short *)(b_scale + (column * k + k0) / 32);
        asm volatile("mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                     "{%0, %1, %2, %3}, %10, {0, 0}, %11, {0, 0};"
                     : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                     : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]), "r"(sa), "r"(sb));
    }
    for (int i = 0; i < 4; i++)
        c[(row + i / 2 * 8) * n + blockIdx.x * 8 + 2 * t + i % 2] = sum[i];
}
