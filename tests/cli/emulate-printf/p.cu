#include <cstdio>
extern "C" __global__ void storm(int *y, int n)
{
    for (int i = 0; i < n; i++)
        printf("%d %d a line that is as long as people write them\n", blockIdx.x, i);
    y[threadIdx.x] = 1;
}
extern "C" __global__ void wide(int *y)
{
    for (int i = 0; i < 100; i++)
        printf("%2000000000d|%.2000000000f|%-5d|%05.1f|%lld\n", i, 0.5, i, 1.25, 1ll << 40);
    y[threadIdx.x] = 1;
}
extern "C" __global__ void texts(int *y)
{
    char own[8] = {'l', 'o', 'c', 'a', 'l', 0};
    __shared__ char both[8];
    both[threadIdx.x % 8] = threadIdx.x < 6 ? "share"[threadIdx.x] : 0;
    __syncthreads();
    own[5] = y[threadIdx.x] ? 's' : 0;
    printf("%s %s %s\n", own, both, (const char *)nullptr);
}
extern "C" __global__ void wild(int *y) { printf("%s\n", (const char *)(y + 100)); }
extern "C" __global__ void open_end(int *y) { printf("%.9s\n", (const char *)y); }
extern "C" __global__ void breaks(int *y) { y[0] = 1; __brkpt(); }
