extern "C" __global__ void my_rope_reference(const float *q_before, double *q, double *q_magnitude, const float *cos_t, const float *sin_t, long long heads, long long dim, long long tokens)
{
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= tokens * heads * dim)
        return;
    long long d = i % dim, t = i / dim / heads, h2 = dim / 2, k = d % h2; double c = cos_t[t * h2 + k], s = sin_t[t * h2 + k]; long long o = i - d; double aa = q_before[o + k], bb = q_before[o + k + h2]; q[i] = d < h2 ? aa * c - bb * s : bb * c + aa * s; q_magnitude[i] = fabs(aa) * fabs(d < h2 ? c : s) + fabs(bb) * fabs(d < h2 ? s : c);
}
