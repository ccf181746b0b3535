/* The quotients of stage/pixel.cuh against the plain ones, at their hardest: numerators beside multiples, reciprocals a unit of the last place off either way. */
#include "stage/pixel.cuh"

__device__ unsigned next(unsigned &seed)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed ^ seed >> 15) * 0x2c1b3c6du;
}
__device__ bool same(float a, float b) { return a == b || (a != a && b != b); }

__device__ void check(int a, int b, int *wrong)
{
    int want = a >= 0 ? a / b : -1, rest = a - want * b;
    for (int off = -1; off <= 1; off++) {
        float r = __int_as_float(__float_as_int(1.0f / (float)b) + off);
        if (floor_of(a, b, true, r) != want)
            atomicAdd(&wrong[0], 1);
        if (quotient((float)rest, (float)b, r) != (float)rest / (float)b)
            atomicAdd(&wrong[1], 1);
    }
}

/* wrong: places, their parts, values. Positions below `most`. */
extern "C" __global__ void quotients(int *wrong, int most, int each)
{
    int thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    for (int i = thread; i < 128 * 512; i += threads) /* all small ones: |a| < b too */
        if (i % 512 - 128 > -(i / 512 + 1))
            check(i % 512 - 128, i / 512 + 1, wrong);
    unsigned seed = thread * 977u + 1;
    for (int i = 0; i < each; i++) {
        int b = 1 + (int)(next(seed) % (unsigned)(most - 1) >> next(seed) % 22), k = (int)(next(seed) % (unsigned)(most / b)), beside = (int)(next(seed) % 3) - 1;
        if (k * b + beside > -b)
            check(k * b + beside, b, wrong);
        unsigned bits = next(seed);
        float by = __uint_as_float((bits & 0x807fffffu) | (63u + next(seed) % 128u) << 23), x = __uint_as_float(next(seed));
        if (fabsf(x) < 0x1p-60f) /* less than that leaves over what no float holds */
            x = i % 2 ? 0 : i % 4 ? 1 / 0.0f : by;
        if (!same(over(x, by), x / by))
            atomicAdd(&wrong[2], 1);
    }
}
