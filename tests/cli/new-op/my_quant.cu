extern "C" __global__ void my_quant_reference(const float *x, double *q, double *q_magnitude, double *scale, double *scale_magnitude, long long cols, long long rows)
{
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= rows * cols)
        return;
    long long r = i / cols; double m = 0; for (long long c = 0; c < cols; c++) m = fmax(m, fabs((double)x[r * cols + c])); float sc = (float)m / 127.f; scale[r] = sc; scale_magnitude[r] = sc; q[i] = sc > 0 ? rint((double)(x[i] / sc)) : 0; q_magnitude[i] = 0;
}
