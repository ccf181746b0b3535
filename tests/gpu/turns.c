/* turns tests/gpu/turns.cu: what moves a cold launch on to its next turn of eight (measure/time/sample_slot.c,
 * docs/notes/2026-11-noise.md)? Needs a GPU.
 *
 * A kernel is timed again and again behind a flush, each time after as many empty launches as a generator says, and after one operation.
 * Prints for each operation how many turns it takes, by the number that explains the times best, what share of their variance that
 * explains, and the eight means less the least of them, ns. Built as tests/gpu/counters.c is, with cuda.h on the include path. */
#include "base/text.h"
#include "device/compile/compile.h"
#include "device/cuda/private.h"
#include "run/child/devices.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SAMPLES = 240, PADS = 4, ROOM = 32 << 20, REST_NS = 100000 };

static struct device *dev;
static struct device_function *waits;
static uint64_t memory;
static struct device_event *from, *to;
static struct device_graph *graph;
static CUstream second;

static void must(bool ok, const struct error *err)
{
    if (!ok) {
        printf("turns: %s\n", err->text);
        exit(1);
    }
}

static void launch(unsigned blocks, unsigned threads, uint32_t cycles)
{
    struct error err = {0};
    unsigned char params[512 + 12] = {0};
    memcpy(params + 512, &memory, 8);
    memcpy(params + 520, &cycles, 4);
    struct device_launch l = {
        .grid = {blocks, 1, 1}, .block = {threads, 1, 1}, .carveout = -1, .params = params, .param_bytes = sizeof params};
    must(dev->ops->launch(dev, waits, &l, &err), &err);
}

static bool nothing(size_t bytes, struct error *err)
{
    return true;
}
static bool kernel(size_t bytes, struct error *err)
{
    launch(1, 32, 0);
    return true;
}
static bool fill(size_t bytes, struct error *err)
{
    return dev->ops->fill(dev, memory, 1, bytes, err);
}
static bool to_host(size_t bytes, struct error *err)
{
    static char host[4096];
    return dev->ops->read(dev, memory, host, bytes, err);
}
static bool from_host(size_t bytes, struct error *err)
{
    static const char host[4096];
    return dev->ops->write(dev, memory, host, bytes, err);
}
static bool copy(size_t bytes, struct error *err)
{
    return dev->ops->copy(dev, memory, memory + ROOM / 2, bytes, err);
}
static bool event(size_t bytes, struct error *err)
{
    return dev->ops->record(dev, from, err);
}
static bool flush(size_t bytes, struct error *err)
{
    return dev->ops->flush(dev, err);
}
static bool note(size_t bytes, struct error *err)
{
    return dev->ops->stamp(dev, 0, err);
}
static bool wipe(size_t bytes, struct error *err)
{
    return dev->ops->wipe_threads(dev, err);
}
static bool in_graph(size_t bytes, struct error *err)
{
    return dev->ops->graph_launch(dev, graph, err);
}
static bool elsewhere(size_t bytes, struct error *err)
{
    struct cuda_state *s = cuda_state(dev);
    CUstream own = s->stream;
    s->stream = second;
    launch(1, 32, 0);
    s->stream = own;
    return cuda_check(s, s->api->cuStreamSynchronize(second), "waiting for the second stream", err);
}

static const struct {
    const char *name;
    bool (*does)(size_t bytes, struct error *err);
    size_t bytes;
} operations[] = {{"nothing", nothing, 0},
                  {"kernel", kernel, 0},
                  {"fill", fill, 4},
                  {"fill", fill, 24},
                  {"fill", fill, 256},
                  {"fill", fill, 1024},
                  {"fill", fill, 4096},
                  {"fill", fill, 8192},
                  {"fill", fill, 16384},
                  {"fill", fill, 32768},
                  {"fill", fill, 65532},
                  {"fill", fill, 65536},
                  {"fill", fill, 1 << 20},
                  {"fill", fill, ROOM / 2},
                  {"to the host", to_host, 24},
                  {"from the host", from_host, 24},
                  {"copy", copy, 24},
                  {"copy", copy, 4 << 20},
                  {"event", event, 0},
                  {"flush", flush, 0},
                  {"note of the clock", note, 0},
                  {"wipe of threads", wipe, 0},
                  {"graph of 3 kernels", in_graph, 0},
                  {"kernel on another stream", elsewhere, 0}};

struct series {
    double ns[SAMPLES];
    int seen[SAMPLES]; /* launches before it, without those of the operation */
};

static void measure(size_t which, struct series *s)
{
    struct error err = {0};
    const struct device_ops *ops = dev->ops;
    int seen = 0;
    for (int k = 0; k < SAMPLES; k++) {
        must(ops->sync(dev, &err), &err);
        nanosleep(&(struct timespec){.tv_nsec = REST_NS}, NULL);
        for (int pads = rand() % PADS; pads > 0; pads--, seen++)
            launch(1, 32, 0);
        must(operations[which].does(operations[which].bytes, &err) && ops->flush(dev, &err) && ops->record(dev, from, &err), &err);
        seen += 2; /* the flush */
        s->seen[k] = seen++;
        launch((unsigned)dev->chip.sm_count, 384, 2000);
        must(ops->record(dev, to, &err) && ops->sync(dev, &err) && ops->elapsed(dev, from, to, &s->ns[k], &err), &err);
    }
}

/* The share of the variance that turns explain where the operation takes `each` of them. */
static double explained(const struct series *s, int each, double mean_of[DEVICE_LAUNCH_SLOTS])
{
    double sum[DEVICE_LAUNCH_SLOTS] = {0}, all = 0, square = 0, between = 0;
    int count[DEVICE_LAUNCH_SLOTS] = {0};
    for (int k = 0; k < SAMPLES; k++) {
        int turn = (s->seen[k] + each * (k + 1)) % DEVICE_LAUNCH_SLOTS;
        sum[turn] += s->ns[k];
        count[turn]++;
        all += s->ns[k] / SAMPLES;
    }
    for (int k = 0; k < SAMPLES; k++)
        square += (s->ns[k] - all) * (s->ns[k] - all);
    for (int t = 0; t < DEVICE_LAUNCH_SLOTS; t++) {
        mean_of[t] = count[t] ? sum[t] / count[t] : NAN;
        between += count[t] ? count[t] * (mean_of[t] - all) * (mean_of[t] - all) : 0;
    }
    return between / square;
}

static void say(size_t which, const struct series *s)
{
    double best = -1, mean[DEVICE_LAUNCH_SLOTS], least = INFINITY;
    int each = 0;
    for (int c = 0; c < DEVICE_LAUNCH_SLOTS; c++)
        if (explained(s, c, mean) > best) {
            best = explained(s, c, mean);
            each = c;
        }
    explained(s, each, mean);
    for (int t = 0; t < DEVICE_LAUNCH_SLOTS; t++)
        least = fmin(least, mean[t]);
    printf("%-26s %9zu bytes: %d, explains %2.0f %%:", operations[which].name, operations[which].bytes, each, 100 * best);
    for (int t = 0; t < DEVICE_LAUNCH_SLOTS; t++)
        printf(" %4.0f", mean[t] - least);
    printf("\n");
}

int main(int argc, char **argv)
{
    struct error err = {0};
    struct compiled code = {0};
    struct device_module *module;
    must(argc > 1 || error_set(&err, ERROR_USAGE, "turns tests/gpu/turns.cu"), &err);
    must(device_open("cuda:0", &dev, &err), &err);
    struct compile_request request = {.path = argv[1], .label = "turns", .arch = dev->chip.arch};
    must(compile(&request, &code, &err), &err);
    struct device_image image = {"turns", argv[1], code.ptx, code.ptx_bytes, code.cubin, code.cubin_bytes};
    const struct device_ops *ops = dev->ops;
    must(ops->load(dev, &image, &module, &err) && ops->function(dev, module, "waits", &waits, &err) &&
             ops->alloc(dev, "memory", ROOM, &memory, &err) && ops->event(dev, &from, &err) && ops->event(dev, &to, &err),
         &err);
    must(cuda_check(cuda_state(dev), cuda_state(dev)->api->cuStreamCreate(&second, CU_STREAM_NON_BLOCKING), "a second stream", &err), &err);
    must(ops->graph_begin(dev, &err), &err);
    for (int k = 0; k < 3; k++)
        launch(1, 32, 0);
    must(ops->graph_end(dev, &graph, &err), &err);
    printf("%s: turns that each operation takes\n", dev->about);
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        static struct series s;
        srand((unsigned)i + 1);
        measure(i, &s);
        say(i, &s);
    }
    compiled_free(&code);
    device_close(dev);
    return 0;
}
