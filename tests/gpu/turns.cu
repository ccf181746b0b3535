// What tests/gpu/turns.c launches: a short kernel on all SMs with half a kilobyte of parameters.
struct large {
    unsigned long long word[64];
};
extern "C" __global__ void waits(const __grid_constant__ large given, unsigned *out, unsigned cycles)
{
    long long from = clock64();
    unsigned long long sum = 0;
    for (int i = threadIdx.x; i < 64; i += 32)
        sum += given.word[i];
    while (clock64() - from < cycles)
        ;
    if (sum == 12345)
        out[0] = cycles;
}
