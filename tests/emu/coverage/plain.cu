/* What textbooks show first: one thread an element, shared tiles, constant memory, atomics. Their results: ../coverage.c. */
#define KERNEL extern "C" __global__ void

KERNEL saxpy(const float *x, float *y, int n, float a)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = a * x[i] + y[i];
}

KERNEL transpose(const float *in, float *out, int width, int height)
{
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (x < width && y + j < height)
            tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (x < height && y + j < width)
            out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}

KERNEL matmul(const float *a, const float *b, float *c, int n)
{
    __shared__ float as[16][16], bs[16][16];
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < (n + 15) / 16; t++) {
        int k = t * 16;
        as[threadIdx.y][threadIdx.x] = row < n && k + threadIdx.x < n ? a[row * n + k + threadIdx.x] : 0;
        bs[threadIdx.y][threadIdx.x] = col < n && k + threadIdx.y < n ? b[(k + threadIdx.y) * n + col] : 0;
        __syncthreads();
        for (int i = 0; i < 16; i++)
            sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
        __syncthreads();
    }
    if (row < n && col < n)
        c[row * n + col] = sum;
}

__constant__ float taps[5] = {0.25f, -0.5f, 1, 0.5f, 2};
__device__ unsigned tickets;
KERNEL convolve(const float *in, float *out, int n)
{
    __shared__ float s[128 + 4];
    int i = blockIdx.x * 128 + threadIdx.x;
    s[threadIdx.x + 2] = i < n ? in[i] : 0;
    if (threadIdx.x < 2) {
        s[threadIdx.x] = i >= 2 ? in[i - 2] : 0;
        s[130 + threadIdx.x] = i + 128 < n ? in[i + 128] : 0;
    }
    __syncthreads();
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 5; k++)
        sum += taps[k] * s[threadIdx.x + k];
    if (i < n)
        out[i] = sum;
}

KERNEL stencil(const float *in, float *out, int nx, int ny, int nz)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= nx - 1 || y >= ny - 1)
        return;
    int at = y * nx + x, plane = nx * ny;
    float below = in[at], here = in[at + plane];
    for (int z = 1; z < nz - 1; z++) {
        at += plane;
        float above = in[at + plane];
        out[at] = 0.5f * here + 0.1f * (below + above + in[at - 1] + in[at + 1] + in[at - nx] + in[at + nx]);
        below = here;
        here = above;
    }
}

KERNEL nbody(const float4 *body, float4 *force, int n)
{
    extern __shared__ float4 near[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 me = body[i];
    float3 f = {0, 0, 0};
    for (int t = 0; t < n; t += blockDim.x) {
        near[threadIdx.x] = body[t + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < blockDim.x; j++) {
            float dx = near[j].x - me.x, dy = near[j].y - me.y, dz = near[j].z - me.z;
            float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
            float s = near[j].w * inverse * inverse * inverse;
            f.x += dx * s, f.y += dy * s, f.z += dz * s;
        }
        __syncthreads();
    }
    force[i] = make_float4(f.x, f.y, f.z, 0);
}

KERNEL mandelbrot(int *out, int width, int height, int most)
{
    int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= width || py >= height)
        return;
    double cx = -2.0 + 3.0 * px / width, cy = -1.0 + 2.0 * py / height, x = 0, y = 0;
    int n = 0;
    while (n < most && x * x + y * y < 4) {
        double t = __dadd_rn(__dadd_rn(__dmul_rn(x, x), -__dmul_rn(y, y)), cx);
        y = __dadd_rn(__dmul_rn(__dmul_rn(2, x), y), cy);
        x = t;
        n++;
    }
    out[py * width + px] = n;
}

KERNEL histogram(const unsigned char *in, unsigned *out, int n)
{
    __shared__ unsigned bins[64];
    if (threadIdx.x < 64)
        bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&bins[in[i] & 63], 1u);
    __syncthreads();
    if (threadIdx.x < 64)
        atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}

KERNEL last_block_sum(const float *in, float *partial, float *out, int n)
{
    __shared__ float s[128];
    __shared__ bool last;
    int i = blockIdx.x * 128 + threadIdx.x;
    s[threadIdx.x] = i < n ? in[i] : 0;
    __syncthreads();
    for (int k = 64; k; k /= 2) {
        if (threadIdx.x < k)
            s[threadIdx.x] += s[threadIdx.x + k];
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = s[0];
        __threadfence();
        last = atomicInc(&tickets, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        float sum = 0;
        for (int b = 0; b < gridDim.x; b++)
            sum += ((volatile float *)partial)[b];
        *out = sum;
    }
}

KERNEL sparse_rows(const int *start, const int *column, const float *value, const float *x, float *y, int rows)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows)
        return;
    float sum = 0;
    for (int k = start[r]; k < start[r + 1]; k++)
        sum += value[k] * x[column[k]];
    y[r] = sum;
}

KERNEL floyd(int *d, int n, int k)
{
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && j < n)
        d[i * n + j] = min(d[i * n + j], d[i * n + k] + d[k * n + j]);
}

KERNEL life(const unsigned char *in, unsigned char *out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, n = 0;
    if (x >= width || y >= height)
        return;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            n += (dx || dy) && (in[(y + dy + height) % height * width + (x + dx + width) % width] & 1);
    out[y * width + x] = n == 3 || (n == 2 && (in[y * width + x] & 1));
}

KERNEL blelloch(const int *in, int *out) /* exclusive, 512 a block */
{
    __shared__ int s[512];
    int t = threadIdx.x, offset = 1;
    s[2 * t] = in[blockIdx.x * 512 + 2 * t];
    s[2 * t + 1] = in[blockIdx.x * 512 + 2 * t + 1];
    for (int d = 256; d > 0; d >>= 1, offset *= 2) {
        __syncthreads();
        if (t < d)
            s[offset * (2 * t + 2) - 1] += s[offset * (2 * t + 1) - 1];
    }
    if (t == 0)
        s[511] = 0;
    for (int d = 1; d < 512; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (t < d) {
            int a = offset * (2 * t + 1) - 1, b = offset * (2 * t + 2) - 1, v = s[a];
            s[a] = s[b];
            s[b] += v;
        }
    }
    __syncthreads();
    out[blockIdx.x * 512 + 2 * t] = s[2 * t];
    out[blockIdx.x * 512 + 2 * t + 1] = s[2 * t + 1];
}

KERNEL bitonic(int *data) /* 256 a block */
{
    __shared__ int s[256];
    int t = threadIdx.x;
    s[t] = data[blockIdx.x * 256 + t];
    for (int k = 2; k <= 256; k *= 2)
        for (int j = k / 2; j > 0; j /= 2) {
            __syncthreads();
            int other = t ^ j;
            if (other > t && (s[t] > s[other]) == !(t & k)) {
                int v = s[t];
                s[t] = s[other];
                s[other] = v;
            }
        }
    __syncthreads();
    data[blockIdx.x * 256 + t] = s[t];
}

KERNEL black_scholes(const float *price, const float *strike, float *call, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float s = 20 + 10 * price[i], x = 20 + 10 * strike[i], t = 0.5f, r = 0.02f, v = 0.3f, root = v * sqrtf(t);
    float d1 = (logf(s / x) + (r + 0.5f * v * v) * t) / root, d2 = d1 - root;
    call[i] = s * normcdff(d1) - x * expf(-r * t) * normcdff(d2);
}

KERNEL gray(const uchar3 *in, unsigned char *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = (in[i].x * 77 + in[i].y * 150 + in[i].z * 29) >> 8;
}

KERNEL lcg(unsigned long long *state, unsigned *inside, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long s = state[i];
    unsigned hits = 0;
    for (int k = 0; k < rounds; k++) {
        s = s * 6364136223846793005ull + 1442695040888963407ull;
        unsigned x = s >> 33 & 0xffff, y = s >> 49 & 0x7fff;
        hits += (unsigned long long)x * x + (unsigned long long)y * y < 1ull << 31;
    }
    state[i] = s;
    atomicAdd(inside, hits);
}

KERNEL crc(const unsigned *in, unsigned *out)
{
    unsigned c = ~0u;
    for (int w = 0; w < 4; w++) {
        unsigned v = in[(blockIdx.x * blockDim.x + threadIdx.x) * 4 + w];
        for (int b = 0; b < 32; b++) {
            unsigned bit = (c ^ (v >> b)) & 1;
            c = c >> 1 ^ (bit ? 0xedb88320u : 0);
        }
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = ~c;
}

KERNEL search(const int *sorted, const int *wanted, int *where, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, low = 0, high = n;
    while (low < high) {
        int middle = (low + high) / 2;
        if (sorted[middle] < wanted[i])
            low = middle + 1;
        else
            high = middle;
    }
    where[i] = low;
}

KERNEL bits(const unsigned *a, const unsigned *b, unsigned *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x = a[i], y = b[i];
    out[i] = __popc(x) + __clz(y) * 3 + __ffs(x) * 5 + __brev(y) + __byte_perm(x, y, 0x6135) + __umulhi(x, y) + __funnelshift_l(x, y, 7) + (x / (y | 1)) + x % (y | 1) + __dp4a(x, y, 9u);
}

KERNEL chars(signed char *a, const unsigned char *b, short *c, const unsigned short *d, long long *e)
{
    int t = threadIdx.x;
    a[t] = a[t] * b[t] + c[t];
    c[t] = c[t] / ((d[t] & 7) + 1) - (b[t] >> (d[t] & 3));
    e[t] = ((long long)a[t] << (d[t] & 15)) / 7 + e[t] % 1000003 - (e[t] >> 3);
}

KERNEL doubles(const double *x, double *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = sqrt(fabs(x[i])) / 3 + fma(x[i], x[i], -1.0) + exp(x[i]) * sin(x[i]) + pow(fabs(x[i]) + 1, 1.5) + floor(4 * x[i]) + (x[i] > 0 ? log1p(x[i]) : cbrt(x[i]));
}

KERNEL floats(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = sinf(x[i]) + cosf(10 * x[i]) + tanf(x[i]) + expf(x[i]) + logf(1.5f + x[i]) + tanhf(x[i]) + erff(x[i]) + powf(2 + x[i], 1.3f) + atan2f(x[i], 0.7f) + fmodf(9 * x[i], 0.37f) +
               rintf(5 * x[i]) + truncf(7 * x[i]) + cbrtf(x[i]) + exp2f(x[i]) + log1pf(0.5f * x[i]) + asinf(x[i]) + hypotf(x[i], 2) + fmaxf(x[i], 0.1f) + copysignf(3, x[i]) + 1 / (x[i] + 2);
}
