/* tests/gpu/fkl_peer: the Fused Kernel Library's own times of the layers of scenarios/fkl.yaml that its README pipeline and a chain of
 * multiplications are, for `bench import`. Its headers are not here:
 *   git clone https://github.com/Libraries-Openly-Fused/FusedKernelLibrary FKL
 *   nvcc -std=c++20 -O3 -arch=sm_90 -IFKL/include -DREVISION=\"$(git -C FKL rev-parse --short=10 HEAD)\" tests/gpu/fkl_peer.cu -o fkl_peer
 *   ./fkl_peer fkl.json && bench import fkl.json
 *
 * The protocol is bench's: a rest, 144 KiB of code that is no row's, a kernel that waits until the host has queued all, twice the L2
 * written and read back, an event, the launch, an event; layers in turns; every fourth launch of a stream takes longer, so a number of
 * empty ones that is drawn comes before. What it computes is held to a double here: its bilinear samples lie at x * ratio, not between
 * pixels' centres as the op's do, so that `bench` could not verify it against the op. Its boxes are arguments of the launch, and what a
 * resize needs of them is computed on the host; the op's are a tensor that a kernel reads. */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <unistd.h>
#include <vector>

#include <fused_kernel/algorithms/basic_ops/memory_operations.h>
#include <fused_kernel/core/utils/utils.h>
#include <fused_kernel/algorithms/basic_ops/arithmetic.h>
#include <fused_kernel/algorithms/image_processing/crop.h>
#include <fused_kernel/algorithms/image_processing/color_conversion.h>
#include <fused_kernel/algorithms/image_processing/resize.h>
#include <fused_kernel/fused_kernel.h>

#define CHECK(call) \
    do { \
        cudaError_t failed = (call); \
        if (failed != cudaSuccess) { \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(failed)); \
            exit(1); \
        } \
    } while (0)

#ifndef REVISION
#define REVISION "of no known revision"
#endif
static const int WIDTH = 3840, HEIGHT = 2160, ROUNDS = 100;

__global__ void wait_for(long long cycles)
{
    long long start = clock64();
    while (clock64() - start < cycles)
        ;
}
/* One warp of each block goes through 144 KiB of code: none of what is timed is in a cache of instructions behind it. */
__global__ void __launch_bounds__(1024) strange(unsigned *sink, unsigned by)
{
    unsigned a = by, b = by + 1, c = by + 2, d = by + 3;
    if (threadIdx.x >= 32)
        return;
#pragma unroll
    for (int i = 0; i < 9; i++) {
        if (a == 0)
            return;
#pragma unroll
        for (int k = 0; k < 256; k++)
            asm volatile("mad.lo.u32 %0, %0, %4, %0; mad.lo.u32 %1, %1, %4, %1; mad.lo.u32 %2, %2, %4, %2; mad.lo.u32 %3, %3, %4, %3;"
                         : "+r"(a), "+r"(b), "+r"(c), "+r"(d)
                         : "r"(by));
    }
    if (a + b + c + d == 12345)
        *sink = a;
}
__global__ void nothing() {}
__global__ void fill(float *a, size_t n, float v)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        a[i] = v;
}
__global__ void read_back(const float *a, size_t n, float *sink)
{
    float sum = 0;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        sum += a[i];
    if (sum == 12345.678f)
        *sink = sum;
}

struct peer {
    std::string where, what; /* of the JSON: "layer" or "case" with its name */
    std::function<void()> launch;
    std::vector<double> samples_ns;
    double off; /* largest difference from a double */
};
static std::vector<peer> peers;
static std::vector<uchar3> picture(size_t(WIDTH) * HEIGHT);
static fk::Ptr2D<uchar3> *image;
static cudaStream_t stream;
static fk::Stream *fkl_stream;

static uint32_t drawn = 1;
static int draw(int below)
{
    drawn = drawn * 1664525u + 1013904223u;
    return int((uint64_t(drawn) * below) >> 32);
}

/* The README's pipeline of one box and pixel, in double, as FKL says that it computes. */
static void expected(const fk::Rect &box, int to_w, int to_h, int x, int y, double out[3])
{
    float scale = to_h / float(box.height);
    int w = int(std::round(scale * box.width)), h = to_h;
    if (w > to_w) {
        float other = to_w / float(box.width);
        w = to_w, h = int(std::round(other * box.height));
    }
    int x1 = (to_w - w) / 2, y1 = (to_h - h) / 2;
    double v[3] = {0, 0, 0};
    if (x >= x1 && x < x1 + w && y >= y1 && y < y1 + h) {
        double sx = double(x - x1) * float(1.0 / (double(w) / box.width)), sy = double(y - y1) * float(1.0 / (double(h) / box.height));
        int fx = int(std::floor(sx)), fy = int(std::floor(sy));
        int nx = std::min(fx + 1, box.width - 1), ny = std::min(fy + 1, box.height - 1);
        double ax = sx - fx, ay = sy - fy;
        auto at = [&](int px, int py, int c) {
            const uchar3 &p = picture[size_t(box.y + py) * WIDTH + box.x + px];
            return double(c == 0 ? p.x : c == 1 ? p.y : p.z);
        };
        for (int c = 0; c < 3; c++)
            v[c] = at(fx, fy, c) * (1 - ax) * (1 - ay) + at(nx, fy, c) * ax * (1 - ay) + at(fx, ny, c) * (1 - ax) * ay +
                   at(nx, ny, c) * ax * ay;
    }
    for (int c = 0; c < 3; c++)
        out[c] = (v[2 - c] * 1.4 - 0.5) / 255;
}

template <int BATCH> static std::array<fk::Rect, BATCH> boxes()
{
    static const int sizes[5][2] = {{34, 25}, {70, 15}, {60, 59}, {20, 23}, {12, 11}};
    std::array<fk::Rect, BATCH> all;
    for (int i = 0; i < BATCH; i++) {
        const int *s = sizes[i % 5];
        all[i] = fk::Rect(draw(WIDTH - s[0]), draw(HEIGHT - s[1]), s[0], s[1]);
    }
    return all;
}

template <int BATCH, bool PLANES> static void add_thumbnails(const char *where, int to_w, int to_h)
{
    using namespace fk;
    const std::array<Rect, BATCH> crops = boxes<BATCH>();
    const Size size(to_w, to_h);
    const float3 background{0.f, 0.f, 0.f};
    const auto read = PerThreadRead<ND::_2D, uchar3>::build(*image)
                          .then(Crop<>::build(crops))
                          .then(Resize<InterpolationType::INTER_LINEAR, AspectRatio::PRESERVE_AR>::build(size, background))
                          .then(Mul<float3>::build(make_set<float3>(1.4f)))
                          .then(Sub<float3>::build(make_set<float3>(0.5f)))
                          .then(Div<float3>::build(make_set<float3>(255.f)))
                          .then(ColorConversion<ColorConversionCodes::COLOR_RGB2BGR, float3, float3>::build());
    float *out;
    const size_t values = size_t(BATCH) * 3 * to_w * to_h;
    CHECK(cudaMalloc(&out, values * sizeof *out));
    peer p{where, std::string("FKL: one launch, ") + (PLANES ? "planes" : "packed") + ", boxes by value"};
    if constexpr (PLANES) {
        const auto write =
            TensorSplit<float3>::build(RawPtr<ND::_3D, float>{out, PtrDims<ND::_3D>(to_w, to_h, BATCH, 3, to_w * sizeof(float))});
        p.launch = [=] { executeOperations<TransformDPP<>>(*fkl_stream, read, write); };
    } else {
        const auto write = TensorWrite<float3>::build(
            RawPtr<ND::_3D, float3>{(float3 *)out, PtrDims<ND::_3D>(to_w, to_h, BATCH, 1, to_w * sizeof(float3))});
        p.launch = [=] { executeOperations<TransformDPP<>>(*fkl_stream, read, write); };
    }
    CHECK(cudaMemset(out, 0xff, values * sizeof *out));
    p.launch();
    CHECK(cudaStreamSynchronize(stream));
    std::vector<float> got(values);
    CHECK(cudaMemcpy(got.data(), out, values * sizeof *out, cudaMemcpyDeviceToHost));
    for (int b = 0; b < BATCH; b++)
        for (int y = 0; y < to_h; y++)
            for (int x = 0; x < to_w; x++) {
                double want[3];
                expected(crops[b], to_w, to_h, x, y, want);
                for (int c = 0; c < 3; c++) {
                    size_t at = PLANES ? ((size_t(b) * 3 + c) * to_h + y) * to_w + x : ((size_t(b) * to_h + y) * to_w + x) * 3 + c;
                    double off = std::fabs(got[at] - want[c]);
                    p.off = std::isnan(off) || off > p.off ? off : p.off;
                }
            }
    peers.push_back(std::move(p));
}

template <bool WIDE> static void add_points(const char *where, int w, int h)
{
    using namespace fk;
    const size_t n = size_t(w) * h;
    std::vector<float> in(n), got(n);
    for (float &v : in)
        v = float(draw(2000) - 1000) / 256;
    float *from, *to;
    CHECK(cudaMalloc(&from, n * sizeof *from));
    CHECK(cudaMalloc(&to, n * sizeof *to));
    CHECK(cudaMemcpy(from, in.data(), n * sizeof *from, cudaMemcpyHostToDevice));
    const RawPtr<ND::_2D, float> a{from, PtrDims<ND::_2D>(w, h, w * sizeof(float))}, b{to, PtrDims<ND::_2D>(w, h, w * sizeof(float))};
    const auto by = Mul<float>::build(1.001f);
    const auto read = PerThreadRead<ND::_2D, float>::build(a).then(by).then(by).then(by).then(by).then(by).then(by);
    const auto write = PerThreadWrite<ND::_2D, float>::build(b);
    peer p{where, std::string("FKL: one launch of six multiplications") + (WIDE ? ", several values a thread" : "")};
    p.launch = [=] {
        if constexpr (WIDE)
            executeOperations<TransformDPP<ParArch::GPU_NVIDIA, TF::ENABLED>>(*fkl_stream, read, write);
        else
            executeOperations<TransformDPP<>>(*fkl_stream, read, write);
    };
    p.launch();
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(got.data(), to, n * sizeof *to, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < n; i++)
        p.off = std::fmax(p.off, std::fabs(got[i] - in[i] * std::pow(1.001, 6)));
    peers.push_back(std::move(p));
}

static void measure()
{
    cudaDeviceProp chip;
    CHECK(cudaGetDeviceProperties(&chip, 0));
    const size_t n = 2 * size_t(chip.l2CacheSize) / sizeof(float);
    float *flush;
    cudaEvent_t start, end;
    CHECK(cudaMalloc(&flush, (n + 1) * sizeof *flush));
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&end));
    for (int round = -10; round < ROUNDS; round++)
        for (size_t k = 0; k < peers.size(); k++) {
            peer &p = peers[round & 1 ? k : peers.size() - 1 - k];
            bool late = true;
            float ms = 0;
            for (long long hold = 200000; late && hold < 4000000; hold *= 2) {
                CHECK(cudaStreamSynchronize(stream));
                usleep(300);
                strange<<<2 * chip.multiProcessorCount, 1024, 0, stream>>>((unsigned *)flush, 2 * draw(1 << 30) + 1);
                for (int turn = draw(8); turn > 0; turn--)
                    nothing<<<1, 32, 0, stream>>>();
                wait_for<<<1, 1, 0, stream>>>(hold);
                fill<<<1024, 256, 0, stream>>>(flush, n, 1);
                read_back<<<1024, 256, 0, stream>>>(flush, n, flush + n);
                CHECK(cudaEventRecord(start, stream));
                p.launch();
                CHECK(cudaEventRecord(end, stream));
                late = cudaEventQuery(start) == cudaSuccess; /* the GPU may have waited for the host between the two */
                CHECK(cudaStreamSynchronize(stream));
                CHECK(cudaEventElapsedTime(&ms, start, end));
            }
            if (round >= 0 && !late)
                p.samples_ns.push_back(ms * 1e6);
        }
}

/* What the library refuses costs its own row. */
template <class Add> static void alone(Add add)
{
    try {
        add();
    } catch (const std::exception &e) {
        fprintf(stderr, "refused: %s\n", e.what());
    }
}

int main(int argc, char **argv)
{
    FILE *out = argc > 1 ? fopen(argv[1], "w") : stdout;
    cudaDeviceProp chip;
    CHECK(cudaGetDeviceProperties(&chip, 0));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    fkl_stream = new fk::Stream(stream);
    for (uchar3 &p : picture)
        p = uchar3{(unsigned char)draw(256), (unsigned char)draw(256), (unsigned char)draw(256)};
    uchar3 *pixels;
    CHECK(cudaMalloc(&pixels, picture.size() * sizeof *pixels));
    CHECK(cudaMemcpy(pixels, picture.data(), picture.size() * sizeof *pixels, cudaMemcpyHostToDevice));
    image = new fk::Ptr2D<uchar3>(pixels, WIDTH, HEIGHT, WIDTH * sizeof(uchar3), fk::MemType::Device);
    alone([] { add_thumbnails<5, true>("\"layer\": \"readme\"", 60, 60); });
    alone([] { add_thumbnails<1, true>("\"case\": \"fkl/batch[crops=1]\"", 60, 60); });
    alone([] { add_thumbnails<10, true>("\"case\": \"fkl/batch[crops=10]\"", 60, 60); });
    alone([] { add_thumbnails<25, true>("\"case\": \"fkl/batch[crops=25]\"", 60, 60); });
    alone([] { add_thumbnails<50, true>("\"layer\": \"fifty\"", 64, 128); });
#ifndef FEW
    alone([] { add_thumbnails<200, true>("\"case\": \"fkl/batch[crops=200]\"", 60, 60); });
    alone([] { add_thumbnails<200, false>("\"layer\": \"packed\"", 60, 60); });
#endif
    alone([] { add_points<false>("\"layer\": \"six\"", 1920, 1080); });
    alone([] { add_points<true>("\"layer\": \"six\"", 1920, 1080); });
    measure();
    unsigned char u[16];
    memcpy(u, &chip.uuid, 16);
    fprintf(out,
            "{\"bench_import\": 1, \"scenario\": \"fkl\", \"provenance\": {\"tool\": \"Fused Kernel Library " REVISION "\", \"protocol\": \"bench\", \"device\": \"%s\", "
            "\"uuid\": \"GPU-",
            chip.name);
    for (int i = 0; i < 16; i++)
        fprintf(out, "%02x%s", u[i], i == 3 || i == 5 || i == 7 || i == 9 ? "-" : "");
    fprintf(out, "\"}, \"rows\": [");
    for (size_t k = 0; k < peers.size(); k++) {
        peer &p = peers[k];
        std::vector<double> sorted = p.samples_ns;
        std::sort(sorted.begin(), sorted.end());
        fprintf(stderr, "%-36s %8.2f us of %zu samples, off by %.3g at most  %s\n", p.where.c_str(),
                sorted.empty() ? NAN : sorted[sorted.size() / 2] / 1e3, sorted.size(), p.off, p.what.c_str());
        fprintf(out, "%s{%s, \"variant\": \"fkl/%s\", \"what\": \"%s\", \"cache\": \"cold\", \"load\": \"isolated\", \"samples_ns\": [",
                k ? ",\n" : "\n", p.where.c_str(), k + 1 == peers.size() ? "wide" : "one", p.what.c_str());
        for (size_t i = 0; i < p.samples_ns.size(); i++)
            fprintf(out, "%s%.0f", i ? ", " : "", p.samples_ns[i]);
        fprintf(out, "]}");
    }
    fprintf(out, "]}\n");
}
