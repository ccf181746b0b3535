#include STORAGE // kernels/reference/storage.cuh: how a GPU reads and stores these types where it checks results
extern "C" __global__ void both(const uint8_t *four, const uint8_t *five, float *read4, float *read5, const float *values, uint8_t *made4, uint8_t *made5)
{
    int i = threadIdx.x;
    read4[i] = (float)narrow_value(E4M3, four[i]);
    read5[i] = (float)narrow_value(E5M2, five[i]);
    narrow_rounded(E4M3, values[i], &made4[i]);
    narrow_rounded(E5M2, values[i], &made5[i]);
}
