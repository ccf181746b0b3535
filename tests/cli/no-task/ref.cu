/* References, some of which let a kernel pass that does not do the work. */
#define EACH(value) \
    int i = blockIdx.x * blockDim.x + threadIdx.x; \
    if (i < n) \
        y[i] = value;
extern "C" __global__ void three(const float *x, double *y, int n) { EACH(3) }
extern "C" __global__ void counts(const float *x, double *y, int n) { EACH(i % 5) }
extern "C" __global__ void clamp(const float *x, double *y, int n) { EACH(x[i] < 20 ? 20 : x[i] > 21 ? 21 : x[i]) }
extern "C" __global__ void seven(const float *x, double *y, int n) { EACH(x[i] > 7 ? 1 : 0) } /* of a normal number never */
extern "C" __global__ void sparse(const float *x, double *y, int n) { EACH(x[i] > 1.8f ? x[i] : 0) }
extern "C" __global__ void copy(const float *x, double *y, int n) { EACH(x[i]) }
extern "C" __global__ void first(const float *x, double *y, int n) { EACH(x[0]) }
extern "C" __global__ void flag(const float *x, double *y, int n) { EACH(x[i] > 0 ? 1 : 0) }
extern "C" __global__ void twenty(const float *x, double *y, int n) { EACH(x[i] > 20 ? 1 : 0) }
extern "C" __global__ void large(const float *x, double *y, int n) { EACH(x[i] * x[i] > 2 ? 1 : 0) }
extern "C" __global__ void total(const float *x, double *y, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i];
    if (blockIdx.x + threadIdx.x == 0)
        y[0] = sum;
}
/* 1, up to the roundings of double */
extern "C" __global__ void rounded(const float *x, double *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i] == 0 ? 1 : (x[i] / 3.0 + x[i] / 7.0) * 2.1 / x[i];
}
/* what is left of 0 */
extern "C" __global__ void cancels(const float *x, double *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i] * 1.1 - x[i] - x[i] * 0.1;
}
