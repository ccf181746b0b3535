/* How far a result of an op that is a file may be off, element by element, of what its reference says: as measure/verify/reference.c has it. */
#include "storage.cuh"

/* What errors of an element are relative to where the reference does not say (magnitude NULL): itself, or what its row usually is, where `usual` is
 * more than 0. bounds: the magnitudes are bounds; tolerance > 0: that share of them; else `share` of them and what tf32 and whole sums lose,
 * and `begun` of the result. A row a block;
 * `wrong` becomes the first element that is not between `below` and `above`, where its type has numbers (infinity is one, but for whole
 * `numbers`), or without a size. */
extern "C" __global__ void settle_rows(const double *reference, const double *magnitude, float *bound, int64_t rows, int64_t length, double usual,
                                       int bounds, double tolerance, double share, int tf32, double least, int whole, double apart, double begun,
                                       double below, double above, int numbers, unsigned long long *wrong)
{
    __shared__ double squares[256];
    for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
        const double *y = reference + row * length;
        double own = 0;
        for (int64_t i = threadIdx.x; usual > 0 && i < length; i += 256)
            own += y[i] * y[i];
        squares[threadIdx.x] = own;
        __syncthreads();
        for (int half = 128; half; half /= 2) {
            if (threadIdx.x < half)
                squares[threadIdx.x] += squares[threadIdx.x + half];
            __syncthreads();
        }
        double often = usual > 0 ? sqrt(squares[0] / (double)length * usual) : 0;
        for (int64_t i = threadIdx.x; i < length; i += 256) {
            int64_t at = row * length + i;
            double size = magnitude ? magnitude[at] : fmax(fabs(y[i]), isfinite(often) ? often : 0.0);
            bool held = (y[i] > below && y[i] < above) || (isinf(y[i]) && !numbers);
            if (!held || !(size >= 0)) {
                atomicMin(wrong, (unsigned long long)at);
                continue;
            }
            double sums = whole ? 0x1p-23 * fabs(y[i]) : share * size + (tf32 ? 0x1p-10 * (2 * fabs(y[i]) + fmin(6 / sqrt(least), 2.0) * size) : 0);
            if (bound)
                bound[at] = (float)((bounds ? size : tolerance > 0 ? tolerance * size : apart > 0 ? sums * apart + begun * fabs(y[i]) : 0) * (1 + 0x1p-23));
        }
        __syncthreads();
    }
}
