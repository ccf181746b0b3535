/* What a network's reference needs between its layers: activations in double, nothing rounded, and what their errors come to, channel by channel
 * (harness/op/chain/chain.h). The layers themselves are conv.cu's. */
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

/* Of each channel the sum of squares of bounds, and of a rounding of each value (unit), over active pixels: own[c], own[channels + c]. A block
 * has a channel to itself and adds in a fixed order. */
extern "C" __global__ void chain_own(const double *values, const float *bounds, const float *mask, int64_t n, int64_t channels, int64_t pixels,
                                     double unit, double *own)
{
    __shared__ double parts[2][256];
    for (int64_t c = blockIdx.x; c < channels; c += gridDim.x) {
        double sums = 0, roundings = 0;
        for (int64_t i = threadIdx.x; i < n * pixels; i += blockDim.x) {
            int64_t at = (i / pixels * channels + c) * pixels + i % pixels;
            if (mask && mask[i] == 0)
                continue;
            double b = bounds ? (double)bounds[at] : 0, r = unit * values[at];
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
            own[threadIdx.x * channels + c] = parts[threadIdx.x][0];
        __syncthreads();
    }
}

/* A bound grows by what the layers before bring into its channel. */
extern "C" __global__ void chain_spread(float *bounds, const float *more, int64_t n, int64_t channels, int64_t pixels)
{
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n * channels * pixels; i += (int64_t)gridDim.x * blockDim.x)
        bounds[i] += more[i / pixels % channels];
}
