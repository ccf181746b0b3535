/* What a network's reference needs between its layers: activations in double, without rounding, and how their errors propagate, channel by
 * channel (harness/op/chain/chain.h). The layers themselves are in conv.cu. */
#include "storage.cuh"

extern "C" __global__ void chain_widen(const float *from, double *to, int64_t count)
{
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < count; i += (int64_t)gridDim.x * blockDim.x)
        to[i] = from[i];
}

/* What a layer leaves inactive is nothing to the next one. Values are n, channels, pixels; the mask n, pixels. */
extern "C" __global__ void chain_forget(double *values, const float *mask, int64_t n, int64_t channels, int64_t pixels)
{
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n * channels * pixels; i += (int64_t)gridDim.x * blockDim.x)
        if (mask[i / (channels * pixels) * pixels + i % pixels] == 0)
            values[i] = 0;
}

#define SLICES 16 /* of a channel; as in measure/verify/device_check_chain.c */

/* For each channel the sum of squares of bounds, and of a rounding of each value (unit), over active pixels, in parts: own[slice * 2 *
 * channels + c], and the latter `channels` behind it. A block has a slice to itself and adds in a fixed order. */
extern "C" __global__ void chain_own(const double *values, const float *bounds, const float *mask, int64_t n, int64_t channels, int64_t pixels,
                                     double unit, double *own)
{
    __shared__ double parts[2][256];
    const int64_t some = (pixels + SLICES - 1) / SLICES;
    for (int64_t turn = blockIdx.x; turn < channels * SLICES; turn += gridDim.x) {
        const int64_t c = turn / SLICES, slice = turn % SLICES, end = min(pixels, (slice + 1) * some);
        double sums = 0, roundings = 0;
        for (int64_t image = 0; image < n; image++)
#pragma unroll 4
            for (int64_t i = slice * some + threadIdx.x; i < end; i += blockDim.x) {
                const int64_t at = (image * channels + c) * pixels + i;
                const bool on = !mask || mask[image * pixels + i] != 0;
                const double b = on && bounds ? (double)bounds[at] : 0, r = on ? unit * values[at] : 0;
                sums += b * b;
                roundings += r * r;
            }
        parts[0][threadIdx.x] = sums;
        parts[1][threadIdx.x] = roundings;
        __syncthreads();
        for (int half = 128; half; half >>= 1) {
            if (threadIdx.x < half)
                for (int k = 0; k < 2; k++)
                    parts[k][threadIdx.x] += parts[k][threadIdx.x + half];
            __syncthreads();
        }
        if (threadIdx.x < 2)
            own[(slice * 2 + threadIdx.x) * channels + c] = parts[threadIdx.x][0];
        __syncthreads();
    }
}

/* A bound grows by what the layers before bring into its channel. */
extern "C" __global__ void chain_spread(float *bounds, const float *more, int64_t n, int64_t channels, int64_t pixels)
{
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n * channels * pixels; i += (int64_t)gridDim.x * blockDim.x)
        bounds[i] += more[i / pixels % channels];
}
