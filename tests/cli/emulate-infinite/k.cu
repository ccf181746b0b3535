#define NOTHING __longlong_as_double(0x7ff8000000000000LL)
#define INFINITE __longlong_as_double(0x7ff0000000000000LL)
/* masked: 1: causal; 2: not at all. fill: what a masked score is; every other score is times `by`, or `instead` */
extern "C" __global__ void scores(const float *x, float *y, int n, float by, int masked, float fill, float instead)
{
    int c = threadIdx.x, r = blockIdx.x;
    if (c < n)
        y[r * n + c] = masked == 1 && c > r ? fill : instead ? instead : x[r * n + c] * by;
}
extern "C" __global__ void scores_ref(const float *x, double *y, long long n, double by, double fill)
{
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n * n)
        y[i] = i % n > i / n ? fill : x[i] * by;
}
extern "C" __global__ void saxpy(const float *x, float *y, int n, float a)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] += a * x[i];
}
extern "C" __global__ void saxpy_ref(const float *x, double *y, int n, double a)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] += a * x[i];
}
extern "C" __global__ void roots(const float *x, float *y, int n)
{
    int i = threadIdx.x;
    if (i < n)
        y[i] = sqrtf(x[i]);
}
extern "C" __global__ void roots_ref(const float *x, double *y, int n, int leave)
{
    int i = threadIdx.x;
    if (i < n - leave)
        y[i] = x[i] < 0 ? NOTHING : sqrt((double)x[i]);
}
/* a magnitude that says nothing */
extern "C" __global__ void roots_wide(const float *x, double *y, double *m, int n)
{
    int i = threadIdx.x;
    if (i < n)
        y[i] = sqrt((double)fabs(x[i])), m[i] = INFINITE;
}
