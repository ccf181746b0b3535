/* Minimum and maximum of packed integers, and of three numbers. */
#include "common.cuh"
KERNEL packed(unsigned *out)
{
    for (int i = threadIdx.x; i < 256; i += blockDim.x) {
        int a = (int)mix(i) >> 2, b = (int)mix(i + 1000) >> 2, low = min((short)a, (short)b), high = max(a >> 16, b >> 16);
        check(out, (__vimin_s16x2_relu(a, b) & 0xffff) == (unsigned)max(low, 0));
        check(out, __vimax_s16x2_relu(a, b) >> 16 == (unsigned)max(high, 0));
        check(out, (short)__vimax3_s16x2(a, b, 77) == max(max((short)a, (short)b), 77));
        check(out, __viaddmin_s32_relu(a, b, 5000) == max(min(a + b, 5000), 0));
#if __CUDA_ARCH__ >= 1000
        float x = value(i, 1 / 8192.f), y = value(i + 77, 1 / 8192.f), m;
        asm("max.f32 %0, %1, %2, %3;" : "=f"(m) : "f"(x), "f"(y), "f"(.25f));
        check(out, m == fmaxf(fmaxf(x, y), .25f));
        asm("min.ftz.NaN.abs.f32 %0, %1, %2, %3;" : "=f"(m) : "f"(x), "f"(y), "f"(-.25f));
        check(out, m == fminf(fminf(fabsf(x), fabsf(y)), .25f));
#endif
    }
}
