/* What warps do together, calls, irregular control flow. */
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#define KERNEL extern "C" __global__ void
namespace cg = cooperative_groups;

static __device__ float warp_sum(float v)
{
    for (int k = 16; k; k /= 2)
        v += __shfl_xor_sync(~0u, v, k);
    return v;
}

KERNEL reduce(const float *in, float *out, int n)
{
    __shared__ float s[32];
    float v = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        v += in[i];
    v = warp_sum(v);
    if (threadIdx.x % 32 == 0)
        s[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x < 32) {
        v = threadIdx.x < blockDim.x / 32 ? s[threadIdx.x] : 0;
        v = warp_sum(v);
        if (threadIdx.x == 0)
            atomicAdd(out, v);
    }
}

KERNEL scan(const int *in, int *out)
{
    __shared__ int s[8];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, v = in[blockIdx.x * 256 + threadIdx.x];
    for (int k = 1; k < 32; k *= 2) {
        int other = __shfl_up_sync(~0u, v, k);
        v += lane >= k ? other : 0;
    }
    if (lane == 31)
        s[warp] = v;
    __syncthreads();
    for (int k = 0; k < warp; k++)
        v += s[k];
    out[blockIdx.x * 256 + threadIdx.x] = v;
}

KERNEL softmax(const float *in, float *out, int columns) /* a warp a row */
{
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    float most = -3.0e38f, sum = 0;
    for (int c = lane; c < columns; c += 32)
        most = fmaxf(most, in[row * columns + c]);
    for (int k = 16; k; k /= 2)
        most = fmaxf(most, __shfl_xor_sync(~0u, most, k));
    for (int c = lane; c < columns; c += 32)
        sum += __expf(in[row * columns + c] - most);
    sum = warp_sum(sum);
    for (int c = lane; c < columns; c += 32)
        out[row * columns + c] = __fdividef(__expf(in[row * columns + c] - most), sum);
}

KERNEL layernorm(const float *in, const float *gain, float *out, int columns) /* a block a row */
{
    __shared__ float s[2][8];
    float sum = 0, squares = 0;
    for (int c = threadIdx.x; c < columns; c += blockDim.x) {
        float v = in[blockIdx.x * columns + c];
        sum += v;
        squares += v * v;
    }
    sum = warp_sum(sum), squares = warp_sum(squares);
    if (threadIdx.x % 32 == 0)
        s[0][threadIdx.x / 32] = sum, s[1][threadIdx.x / 32] = squares;
    __syncthreads();
    sum = squares = 0;
    for (int k = 0; k < blockDim.x / 32; k++)
        sum += s[0][k], squares += s[1][k];
    float mean = sum / columns, inverse = rsqrtf(squares / columns - mean * mean + 1e-5f);
    for (int c = threadIdx.x; c < columns; c += blockDim.x)
        out[blockIdx.x * columns + c] = (in[blockIdx.x * columns + c] - mean) * inverse * gain[c];
}

KERNEL compact(const int *in, int *out, int *count, int n) /* keeps what is odd, by one atomic a warp */
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool keep = i < n && (in[i] & 1);
    unsigned all = __ballot_sync(~0u, keep), before = all & ((1u << (threadIdx.x % 32)) - 1);
    int base = 0;
    if (threadIdx.x % 32 == 0 && all)
        base = atomicAdd(count, __popc(all));
    base = __shfl_sync(~0u, base, 0);
    if (keep)
        out[base + __popc(before)] = in[i];
}

KERNEL tiles(const int *in, int *out)
{
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    auto eight = cg::tiled_partition<8>(warp);
    int t = block.thread_rank(), v = in[blockIdx.x * blockDim.x + t];
    int sum = cg::reduce(warp, v, cg::plus<int>()), most = cg::reduce(eight, v, cg::greater<int>()), before = cg::exclusive_scan(eight, v, cg::plus<int>());
    int odd = 0;
    if (v & 1) {
        auto some = cg::coalesced_threads();
        odd = some.size() * 100 + some.thread_rank();
    }
    out[blockIdx.x * blockDim.x + t] = sum + 3 * most + 7 * before + 11 * odd + 13 * eight.meta_group_rank() + 17 * __popc(__match_any_sync(~0u, v & 3));
}

KERNEL jacobi(float *a, float *b, int n, int rounds)
{
    auto grid = cg::this_grid();
    for (int r = 0; r < rounds; r++) {
        for (int i = grid.thread_rank(); i < n; i += grid.size())
            b[i] = i == 0 || i == n - 1 ? a[i] : 0.5f * (a[i - 1] + a[i + 1]);
        grid.sync();
        float *t = a;
        a = b;
        b = t;
    }
}

KERNEL lock(int *counter, int *owner)
{
    __shared__ int held;
    if (threadIdx.x == 0)
        held = 0;
    __syncthreads();
    for (bool done = false; !done;)
        if (atomicCAS(&held, 0, 1) == 0) {
            owner[*(volatile int *)counter] = threadIdx.x;
            *(volatile int *)counter += 1;
            __threadfence();
            atomicExch(&held, 0);
            done = true;
        }
}

struct shape {
    float size;
    __device__ virtual float area() const = 0;
};
struct square : shape {
    __device__ float area() const override { return size * size; }
};
struct circle : shape {
    __device__ float area() const override { return 3 * size * size; }
};
KERNEL shapes(const float *in, float *out)
{
    square s;
    circle c;
    s.size = c.size = in[threadIdx.x];
    const shape *p = threadIdx.x & 1 ? (const shape *)&s : (const shape *)&c;
    out[threadIdx.x] = p->area();
}

static __device__ float twice(float x) { return 2 * x; }
static __device__ float square_of(float x) { return x * x; }
static __device__ float less(float x) { return x - 1; }
__device__ float (*const choices[3])(float) = {twice, square_of, less};
KERNEL pointers(const float *in, float *out) { out[threadIdx.x] = choices[threadIdx.x % 3](in[threadIdx.x]); }

static __device__ __noinline__ int ackermann(int m, int n) { return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1)); }
KERNEL recursion(int *out) { out[threadIdx.x] = ackermann(threadIdx.x % 3, threadIdx.x % 5); }

KERNEL machine(const int *in, int *out, int n)
{
    int t = threadIdx.x, v = in[t], turns = 0;
    for (int i = 0; i < n; i++) {
        switch ((v + i) % 9) {
        case 0: v += 5; break;
        case 1: v = v * 3 & 0xffff; break;
        case 2: v -= i; break;
        case 3: v ^= t; break;
        case 4: if (v & 8) continue; v++; break;
        case 5: v = v << 1 & 0x7fff; break;
        case 6: v = ~v & 0xfff; /* on */
        case 7: v += 7; break;
        default: if (v > 60000) goto out; v += 2;
        }
        turns++;
    }
out:
    out[t] = v * 100 + turns;
}

struct forty { int a[40]; };
static __device__ __noinline__ forty make(int seed)
{
    forty f;
    for (int i = 0; i < 40; i++)
        f.a[i] = seed * i;
    return f;
}
KERNEL structures(const forty given, int *out)
{
    forty f = make(threadIdx.x);
    out[threadIdx.x] = f.a[threadIdx.x % 40] + given.a[(threadIdx.x * 7) % 40];
}

KERNEL halves(const __half2 *x, __half2 *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = __hfma2(x[i], __float2half2_rn(0.5f), __hmax2(y[i], __float2half2_rn(0.0f)));
}

KERNEL brains(const __nv_bfloat16 *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = __bfloat162float(__hmul(x[i], x[i])) + __bfloat162float(__float2bfloat16(3.14159f)) + __bfloat162float(__hadd(x[i], __float2bfloat16(1.0f)));
}

KERNEL moving(const float *in, float *out, int n) /* each thread sums its window of a local ring, indexed at run time */
{
    float ring[8], sum = 0;
    for (int k = 0; k < 8; k++)
        ring[k] = 0;
    int base = threadIdx.x * n;
    for (int i = 0; i < n; i++) {
        int slot = (i * 5 + threadIdx.x) & 7;
        sum += in[base + i] - ring[slot];
        ring[slot] = in[base + i];
        out[base + i] = sum;
    }
}
KERNEL packed(const unsigned *a, const unsigned *b, unsigned *out)
{
    unsigned x = a[threadIdx.x], y = b[threadIdx.x];
    out[threadIdx.x] = __vadd4(x, y) ^ __vsubus2(x, y) ^ __vabsdiffu4(x, y) ^ __vmaxs2(x, y) ^ __vsadu4(x, y) ^ __vavgu4(x, y) ^ __vcmpgtu2(x, y);
}

struct node {
    int value;
    node *next;
};
KERNEL lists(const int *in, int *out) /* a list a thread, built, reversed, summed, and given back, twice */
{
    int sum = 0;
    for (int turn = 0; turn < 2; turn++) {
        node *first = nullptr, *turned = nullptr;
        for (int i = 0; i <= (int)threadIdx.x % 5; i++)
            first = new node{in[threadIdx.x] + i, first};
        while (first) {
            node *n = first;
            first = n->next;
            n->next = turned;
            turned = n;
        }
        for (int place = 1; turned; place++) {
            node *n = turned;
            sum += place * n->value;
            turned = n->next;
            delete n;
        }
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
