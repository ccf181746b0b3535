/* How far a result of an op that is a file may be off, element by element, of what its reference says: as measure/verify/reference.c has it. */
#include "storage.cuh"

#define SCALES 4

/* The root mean square of the values of the row of which the magnitude is less than `below`. All 256 threads. */
static __device__ double usual_below(const double *y, int64_t length, double below)
{
    __shared__ double squares[256], counts[256];
    double own = 0, count = 0;
    for (int64_t i = threadIdx.x; i < length; i += 256)
        if (fabs(y[i]) < below) {
            own += y[i] * y[i];
            count += 1;
        }
    squares[threadIdx.x] = own;
    counts[threadIdx.x] = count;
    __syncthreads();
    for (int half = 128; half; half /= 2) {
        if (threadIdx.x < half) {
            squares[threadIdx.x] += squares[threadIdx.x + half];
            counts[threadIdx.x] += counts[threadIdx.x + half];
        }
        __syncthreads();
    }
    double usual = counts[0] > 0 ? sqrt(squares[0] / counts[0]) : 0;
    __syncthreads();
    return usual;
}

/* The scale of an element's errors if the reference does not give it (magnitude NULL): the element itself, or the usual size of values in its
 * row and scale, if `usual` is more than 0. Scales end at below_0, below_1 and below_2 (base/scales.h; infinity: there are no more). bounds:
 * the magnitudes are bounds. tolerance > 0: that share of them; otherwise `share` of them, what tf32 and whole sums lose, and `begun` of the
 * result; for an infinite result 0. A block has a row. `wrong` becomes the first element that is not between `below` and `above`, if its type
 * has numbers (infinity is one, except for whole `numbers`), or that has no finite size. */
extern "C" __global__ void settle_rows(const double *reference, const double *magnitude, float *bound, int64_t rows, int64_t length, double usual,
                                       int bounds, double tolerance, double share, int tf32, double least, int whole, double apart, double begun,
                                       double below, double above, int numbers, double below_0, double below_1, double below_2,
                                       unsigned long long *wrong)
{
    double scale[SCALES] = {below_0, below_1, below_2, __longlong_as_double(0x7ff0000000000000LL)};
    for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
        const double *y = reference + row * length;
        double often[SCALES] = {0};
        for (int k = 0; k < SCALES && !magnitude && usual > 0; k++)
            if (k == 0 || !isinf(scale[k - 1]))
                often[k] = usual_below(y, length, scale[k]) * sqrt(usual);
        for (int64_t i = threadIdx.x; i < length; i += 256) {
            int64_t at = row * length + i;
            int k = 0;
            while (k < SCALES - 1 && !isinf(scale[k]) && !(fabs(y[i]) < scale[k]))
                k++;
            double size = magnitude ? magnitude[at] : fmax(fabs(y[i]), often[k]);
            bool held = (y[i] > below && y[i] < above) || (isinf(y[i]) && !numbers);
            if (!held || !(size >= 0) || (isinf(size) && !isinf(y[i]))) {
                atomicMin(wrong, (unsigned long long)at);
                continue;
            }
            double sums = whole ? 0x1p-23 * fabs(y[i]) : share * size + (tf32 ? 0x1p-10 * (2 * fabs(y[i]) + fmin(6 / sqrt(least), 2.0) * size) : 0);
            double of = isinf(y[i]) ? 0 : bounds ? size : tolerance > 0 ? tolerance * size : apart > 0 ? sums * apart + begun * fabs(y[i]) : 0;
            if (bound)
                bound[at] = (float)(of * (1 + 0x1p-23));
        }
        __syncthreads();
    }
}
