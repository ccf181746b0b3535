#include <cstdint>
namespace mine {
template <typename T, int THREADS>
__global__ void scan(const T *x, T *y, int rows, int cols)
{
    int r = blockIdx.x * THREADS + threadIdx.x;
    T sum = 0;
    for (int c = 0; r < rows && c < cols; c++)
        y[r * cols + c] = sum += x[r * cols + c];
}
} // namespace mine
#ifndef __CUDACC_RTC__
void launch(const int *x, int *y) { mine::scan<int, 64><<<1, 64>>>(x, y, 64, 10); }
#endif
