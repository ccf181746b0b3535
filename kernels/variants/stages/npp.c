/* The rows npp of ops of stages: what NVIDIA's library of image operations (wheel nvidia-npp) makes of them, one call a stage. NPP is
 * opened at run time and its header is not among the pinned ones, so the few calls and structures that are needed are declared here, by the
 * documentation of NPP 13.0. */
#include "op/foreign_library.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct context { /* NppStreamContext */
    void *stream;
    int device, sm_count, threads_per_sm, threads_per_block;
    size_t shared_per_block;
    int major, minor;
    unsigned flags;
    int reserved;
};
struct size {
    int width, height;
};
struct image { /* NppiImageDescriptor */
    void *data;
    int step;
    struct size size;
};
struct rectangles { /* NppiResizeBatchROI_Advanced: x, y, width, height */
    int from[4], to[4];
};
enum { LINEAR = 2 };

typedef int point(const float *from, int step, float by, float *to, int to_step, struct size, struct context);
typedef int point_in_place(float by, float *image, int step, struct size, struct context);
typedef int point_3(const float by[3], float *image, int step, struct size, struct context);

static struct {
    struct context context;
    point *mul;
    point_in_place *mul_in_place;
    point_3 *mul_3, *sub_3, *div_3;
    int (*set)(const uint8_t value[3], uint8_t *image, int step, struct size, struct context);
    int (*resize)(int most_width, int most_height, struct image *from, struct image *to, struct rectangles *boxes, unsigned count, int how,
                  struct context);
    int (*convert)(const uint8_t *from, int step, float *to, int to_step, struct size, struct context);
    int (*split)(const float *from, int step, float *const to[3], int to_step, struct size, struct context);
    int (*swap)(float *image, int step, struct size, const int order[3], struct context);
    void *describe; /* a function of the driver: the kernel below */
    int (*launch)(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                  void *stream, void **args, void **extra);
} npp;

static long long symbol(const struct bench_call *call, const char *name)
{
    for (int i = 0; i < call->symbol_count; i++)
        if (!strcmp(call->symbols[i].name, name))
            return call->symbols[i].value;
    return 0;
}

/* The context describes the stream to every call: NPP would otherwise ask the runtime, each time. */
static int open_npp(struct bench_call *call)
{
    int (*describe)(struct context *);
    const struct library_function core[] = {{"nppGetStreamContext", &describe}};
    const struct library_function points[] = {{"nppiMulC_32f_C1R_Ctx", &npp.mul},
                                    {"nppiMulC_32f_C1IR_Ctx", &npp.mul_in_place},
                                    {"nppiMulC_32f_C3IR_Ctx", &npp.mul_3},
                                    {"nppiSubC_32f_C3IR_Ctx", &npp.sub_3},
                                    {"nppiDivC_32f_C3IR_Ctx", &npp.div_3}};
    int failed = library_find(call, "libnppc.so.13", "nvidia-npp", core, 1);
    failed = failed ? failed : library_find(call, "libnppial.so.13", "nvidia-npp", points, 5);
    if (failed)
        return failed;
    if (describe(&npp.context))
        return library_say(call, 2, "nppGetStreamContext failed");
    npp.context.flags = 1; /* cudaStreamNonBlocking: waits for nobody's default stream */
    return 0;
}

/* Point ops: `length` times a number. Nothing lies between two calls but the result itself. */
bench_function npp_points;
int npp_points(struct bench_call *call)
{
    const struct bench_tensor *input = &call->tensors[0], *output = &call->tensors[1];
    struct size size = {(int)symbol(call, "w"), (int)(symbol(call, "n") * symbol(call, "h"))};
    int step = size.width * 4;
    int failed = npp.mul ? 0 : open_npp(call);
    if (failed)
        return failed;
    npp.context.stream = call->stream;
    int status = npp.mul(input->data, step, 1.001f, output->data, step, size, npp.context);
    for (long long i = 1; !status && i < symbol(call, "length"); i++)
        status = npp.mul_in_place(1.001f, output->data, step, size, npp.context);
    return status ? library_say(call, 2, "nppiMulC_32f failed") : 0;
}

/* The boxes lie on the device, and the batched calls of NPP want a descriptor of each there: this kernel of ours writes them. */
static const char describe_source[] =
    "struct image { void *data; int step, width, height; };\n"
    "struct rectangles { int from[4], to[4]; };\n"
    "extern \"C\" __global__ void describe(unsigned char *input, const int *boxes, unsigned char *fitted, image *from, image *to, "
    "rectangles *r,\n"
    "                                    int h, int w, int crops, int to_h, int to_w, int count)\n"
    "{\n"
    "    int b = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (b >= count)\n"
    "        return;\n"
    "    const int *box = boxes + b * 4;\n"
    "    bool wide = box[2] * to_h > box[3] * to_w;\n"
    "    int own_h = wide ? max((box[3] * to_w + box[2] / 2) / box[2], 1) : to_h, own_w = wide ? to_w : max((box[2] * to_h + box[3] / 2) / "
    "box[3], 1);\n"
    "    from[b] = {input + ((size_t)(b / crops) * h * w + (size_t)box[1] * w + box[0]) * 3, w * 3, box[2], box[3]};\n"
    "    to[b] = {fitted + (size_t)b * to_h * to_w * 3, to_w * 3, to_w, to_h};\n"
    "    r[b] = {{0, 0, box[2], box[3]}, {(to_w - own_w) / 2, (to_h - own_h) / 2, own_w, own_h}};\n"
    "}\n";

static int compile_describe(struct bench_call *call)
{
    static char ptx[1 << 16];
    int (*create)(void **, const char *, const char *, int, const char *const *, const char *const *),
        (*compile)(void *, int, const char *const *);
    int (*ptx_size)(void *, size_t *), (*get_ptx)(void *, char *), (*load)(void **, const void *),
        (*function)(void **, void *, const char *);
    const struct library_function compiler[] = {
        {"nvrtcCreateProgram", &create}, {"nvrtcCompileProgram", &compile}, {"nvrtcGetPTXSize", &ptx_size}, {"nvrtcGetPTX", &get_ptx}};
    const struct library_function driver[] = {{"cuModuleLoadData", &load}, {"cuModuleGetFunction", &function}, {"cuLaunchKernel", &npp.launch}};
    int failed = library_find(call, "libnvrtc.so.13", "nvidia-cuda-nvrtc", compiler, 4);
    failed = failed ? failed : library_find(call, "libcuda.so.1", "the driver", driver, 3);
    void *program, *module;
    size_t bytes;
    if (failed)
        return failed;
    if (create(&program, describe_source, "describe.cu", 0, NULL, NULL) || compile(program, 0, NULL) || ptx_size(program, &bytes) ||
        bytes > sizeof ptx || get_ptx(program, ptx) || load(&module, ptx) || function(&npp.describe, module, "describe"))
        return library_say(call, 2, "the kernel that writes NPP's descriptors does not compile");
    return 0;
}

static int open_thumbnails(struct bench_call *call)
{
    const struct library_function geometry[] = {{"nppiResizeBatch_8u_C3R_Advanced_Ctx", &npp.resize}};
    const struct library_function exchange[] = {{"nppiSet_8u_C3R_Ctx", &npp.set},
                                      {"nppiConvert_8u32f_C3R_Ctx", &npp.convert},
                                      {"nppiCopy_32f_C3P3R_Ctx", &npp.split},
                                      {"nppiSwapChannels_32f_C3IR_Ctx", &npp.swap}};
    int failed = open_npp(call);
    failed = failed ? failed : library_find(call, "libnppig.so.13", "nvidia-npp", geometry, 1);
    failed = failed ? failed : library_find(call, "libnppidei.so.13", "nvidia-npp", exchange, 4);
    return failed ? failed : compile_describe(call);
}

/* All crops lie one under the other, so that every call is one for the whole batch. */
bench_function npp_thumbnails;
int npp_thumbnails(struct bench_call *call)
{
    static const float factor[3] = {1.4f, 1.4f, 1.4f}, half[3] = {0.5f, 0.5f, 0.5f}, most[3] = {255, 255, 255};
    static const uint8_t black[3] = {0};
    static const int order[3] = {2, 1, 0};
    void *input = call->tensors[0].data, *boxes = call->tensors[1].data, *fitted = call->workspaces[0].data,
         *from = call->workspaces[2].data, *to = call->workspaces[3].data, *rectangles = call->workspaces[4].data;
    int h = (int)symbol(call, "h"), w = (int)symbol(call, "w"), crops = (int)symbol(call, "crops"), to_h = (int)symbol(call, "to_h");
    int to_w = (int)symbol(call, "to_w"), count = (int)symbol(call, "n") * crops, pixels = to_h * to_w;
    bool packed = !strcmp(call->tensors[2].layout, "NHWC");
    float *output = call->tensors[2].data, *values = packed ? output : call->workspaces[1].data;
    struct size all = {to_w, count * to_h}, one_a_row = {pixels, count};
    if (count < 2)
        return library_say(call, BENCH_UNSUPPORTED, "NPP's batched calls want two images or more");
    int failed = npp.describe ? 0 : open_thumbnails(call);
    if (failed)
        return failed;
    npp.context.stream = call->stream;
    void *args[] = {&input, &boxes, &fitted, &from, &to, &rectangles, &h, &w, &crops, &to_h, &to_w, &count};
    float *const planes[3] = {output + 2 * pixels, output + pixels, output};
    int status = npp.launch(npp.describe, ((unsigned)count + 127) / 128, 1, 1, 128, 1, 1, 0, call->stream, args, NULL);
    status = status ? status : npp.set(black, fitted, to_w * 3, all, npp.context);
    status = status ? status : npp.resize(to_w, to_h, from, to, rectangles, (unsigned)count, LINEAR, npp.context);
    status = status ? status : npp.convert(fitted, to_w * 3, values, to_w * 12, all, npp.context);
    status = status ? status : npp.mul_3(factor, values, to_w * 12, all, npp.context);
    status = status ? status : npp.sub_3(half, values, to_w * 12, all, npp.context);
    status = status ? status : npp.div_3(most, values, to_w * 12, all, npp.context);
    if (!status)
        status = packed ? npp.swap(values, to_w * 12, all, order, npp.context)
                        : npp.split(values, pixels * 12, planes, pixels * 12, one_a_row, npp.context);
    if (status)
        snprintf(call->message, call->message_bytes, "NPP failed with status %d", status);
    return status ? 2 : 0;
}
