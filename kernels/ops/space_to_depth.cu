/* The definition, one thread an input pixel: pixel (dy, dx) of a block goes to channel C (block dy + dx) + c (DCR) or c block^2 + block dy + dx (CRD). */
extern "C" __global__ void space_to_depth_reference(const float *input, double *output, long long n, long long c, long long h, long long w, long long block, int crd)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n * c * h * w)
        return;
    long long x = i % w, y = i / w % h, channel = i / (w * h) % c, image = i / (w * h * c), phase = y % block * block + x % block;
    long long deep = crd ? channel * block * block + phase : c * phase + channel;
    output[((image * c * block * block + deep) * (h / block) + y / block) * (w / block) + x / block] = input[i];
}
