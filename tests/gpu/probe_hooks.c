/* Every hook of device/cuda against results that are known beforehand. */
#include "probe.h"
#include "device/cuda/cuda.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPS (p->dev->ops)

static uint64_t buffer(struct probe *p, size_t bytes)
{
    struct error err = {0};
    uint64_t at = 0;
    if (!OPS->alloc(p->dev, "probe", bytes, &at, &err))
        probe_check(p, "alloc", false, &err);
    return at;
}

static void memory(struct probe *p)
{
    struct error err = {0};
    unsigned char bytes[1027], back[1027];
    bool aligned = true, ok = true;
    uint64_t at[20];
    for (int i = 0; i < 20; i++) {
        at[i] = buffer(p, 1 + (size_t)i * 777);
        aligned = aligned && at[i] % 512 == 0;
    }
    probe_check(p, "alloc: 512-byte aligned", aligned, NULL);
    for (int i = 0; i < 20; i++)
        OPS->release(p->dev, at[i]);
    uint64_t a = buffer(p, 4096), b = buffer(p, 4096);
    for (int i = 0; i < 1027; i++)
        bytes[i] = (unsigned char)(i * 37 + i / 256);
    ok = OPS->write(p->dev, a, bytes, sizeof bytes, &err) && OPS->copy(p->dev, b, a, sizeof bytes, &err) &&
         OPS->read(p->dev, b, back, sizeof back, &err);
    probe_check(p, "write, copy, read", ok && memcmp(bytes, back, sizeof bytes) == 0, &err);
    ok = OPS->fill(p->dev, a, 0x04030201, 1023, &err) && OPS->read(p->dev, a, back, sizeof back, &err);
    for (int i = 0; i < 1027; i++)
        ok = ok && back[i] == (i < 1023 ? i % 4 + 1 : bytes[i]);
    probe_check(p, "fill: odd length, nothing behind it touched", ok, &err);
    struct error memory_err = {0};
    uint64_t none = 0;
    ok = OPS->alloc(p->dev, "far too much", (size_t)1 << 44, &none, &memory_err);
    probe_check(p, "alloc: too much is an error with figures",
                !ok && memory_err.kind == ERROR_ENVIRONMENT && strstr(memory_err.text, "free"), &memory_err);
    probe_note(p, "error.out_of_memory", memory_err.text);
    OPS->release(p->dev, a);
    OPS->release(p->dev, b);
}

static void code(struct probe *p)
{
    struct error err = {0};
    struct {
        double *out;
        char a;
        double b;
        short c;
        float d;
        uint64_t e;
        int f;
    } args = {NULL, -7, 2.5, -300, 0.125f, 1ull << 40, -9};
    const double want[6] = {-7, 2.5, -300, 0.125, 1099511627776.0, -9};
    double got[6] = {0};
    uint64_t at = buffer(p, 4096), y = buffer(p, 4096), symbol = 0;
    size_t symbol_bytes = 0;
    args.out = (double *)(uintptr_t)at;
    bool ok = probe_launch(p, "arguments", 1, 1, &args, 44, &err) && OPS->read(p->dev, at, got, sizeof got, &err);
    probe_check(p, "launch: parameters of every kind", ok && memcmp(got, want, sizeof want) == 0, &err);
    float factors[8], x[64], back[64];
    for (int i = 0; i < 8; i++)
        factors[i] = (float)(i + 1);
    for (int i = 0; i < 64; i++)
        x[i] = (float)(i * i);
    struct {
        uint64_t x, y;
        int n;
    } scale = {at, y, 64};
    ok = OPS->symbol(p->dev, p->module, "factors", &symbol, &symbol_bytes, &err) &&
         OPS->write(p->dev, symbol, factors, sizeof factors, &err) && OPS->write(p->dev, at, x, sizeof x, &err) &&
         probe_launch(p, "scale", 1, 64, &scale, 20, &err) && OPS->read(p->dev, y, back, sizeof back, &err);
    for (int i = 0; i < 64; i++)
        ok = ok && back[i] == x[i] * factors[i & 7];
    probe_check(p, "symbol: __constant__ written from the host", ok && symbol_bytes == 32, &err);
    struct error wrong = {0};
    struct device_function *f = NULL;
    probe_check(p, "function: an unknown name lists those there are",
                !OPS->function(p->dev, p->module, "scael", &f, &wrong) && strstr(wrong.hint, "scale"), &wrong);
    probe_check(p, "symbol: an unknown name",
                !OPS->symbol(p->dev, p->module, "nothing", &symbol, &symbol_bytes, &wrong) && wrong.kind == ERROR_USAGE, &wrong);
    struct device_image ptx_only = {.label = "probe as PTX", .ptx = p->code.ptx, .ptx_bytes = p->code.ptx_bytes};
    struct device_module *m = NULL;
    ok = OPS->load(p->dev, &ptx_only, &m, &err) && OPS->function(p->dev, m, "scale", &f, &err);
    probe_check(p, "load: PTX alone, compiled by the driver", ok, &err);
    if (m)
        OPS->unload(p->dev, m);
    struct device_image broken = {.label = "broken", .ptx = ".version 7.0\n.target sm_75\n.address_size 64\nnonsense", .ptx_bytes = 52};
    probe_check(p, "load: broken PTX is an error", !OPS->load(p->dev, &broken, &m, &wrong), &wrong);
    probe_note(p, "error.broken_ptx", wrong.text);
    OPS->release(p->dev, at);
    OPS->release(p->dev, y);
}

static void shared_memory(struct probe *p)
{
    struct error err = {0};
    struct device_function *f = probe_function(p, "shared_sum");
    uint64_t at = buffer(p, 64), got = 0, words = p->dev->chip.smem_per_block_optin / 4;
    struct {
        uint64_t out;
        int words;
    } args = {at, (int)words};
    struct device_launch l = {
        .grid = {1, 1, 1}, .block = {256, 1, 1}, .smem = (uint32_t)(words * 4), .carveout = 100, .params = &args, .param_bytes = 12};
    if (!f)
        return;
    bool ok = OPS->fill(p->dev, at, 0, 64, &err) && OPS->launch(p->dev, f, &l, &err) && OPS->read(p->dev, at, &got, 8, &err);
    probe_check(p, "launch: all of the opt-in shared memory, carveout 100", ok && got == words * (words - 1) / 2, &err);
    l.smem += 16;
    struct error refused = {0};
    ok = OPS->launch(p->dev, f, &l, &refused);
    probe_check(p, "launch: more than there is, refused with its numbers",
                !ok && refused.kind == ERROR_USAGE && strstr(refused.text, "232464"), &refused);
    probe_note(p, "error.too_much_shared_memory", refused.text);
    l.smem = 1024;
    args.words = 256;
    l.block[0] = 2048;
    ok = OPS->launch(p->dev, f, &l, &refused);
    probe_check(p, "launch: 2,048 threads, refused with its numbers", !ok && refused.kind == ERROR_USAGE && strstr(refused.text, "2048"),
                &refused);
    probe_note(p, "error.too_many_threads", refused.text);
    l.block[0] = 256;
    probe_check(p, "launch: and the next one runs", OPS->launch(p->dev, f, &l, &err) && OPS->sync(p->dev, &err) && !cuda_is_lost(p->dev),
                &err);
    OPS->release(p->dev, at);
}

static void grouped_launches(struct probe *p)
{
    struct error err = {0};
    uint64_t at = buffer(p, 1 << 16), count = at + (1 << 15);
    uint32_t got[264];
    struct device_function *f = probe_function(p, "cluster_rank"), *c = probe_function(p, "cooperative");
    for (uint32_t size = 2; f && size <= 16; size *= 2) {
        struct device_launch l = {
            .grid = {32, 1, 1}, .block = {32, 1, 1}, .cluster = {size, 1, 1}, .carveout = -1, .params = &at, .param_bytes = 8};
        bool ok = OPS->launch(p->dev, f, &l, &err) && OPS->read(p->dev, at, got, 128, &err);
        for (uint32_t i = 0; i < 32; i++)
            ok = ok && got[i] == (size << 16 | i % size);
        char name[64];
        snprintf(name, sizeof name, "launch: clusters of %u", size);
        probe_check(p, name, ok, &err);
    }
    uint32_t blocks = (uint32_t)p->dev->chip.sm_count;
    struct {
        uint64_t count, out;
    } args = {count, at};
    struct device_launch l = {
        .grid = {blocks, 1, 1}, .block = {64, 1, 1}, .cooperative = true, .carveout = -1, .params = &args, .param_bytes = 16};
    bool ok = c && blocks <= 264 && OPS->fill(p->dev, count, 0, 4, &err) && OPS->launch(p->dev, c, &l, &err) &&
              OPS->read(p->dev, at, got, blocks * 4, &err);
    for (uint32_t i = 0; i < blocks && i < 264; i++)
        ok = ok && got[i] == blocks;
    probe_check(p, "launch: cooperative, one block an SM, grid barrier", ok, &err);
    struct error refused = {0};
    l.grid[0] = 1u << 20;
    ok = c && OPS->launch(p->dev, c, &l, &refused);
    probe_check(p, "launch: a cooperative grid that does not fit, refused", !ok && refused.kind == ERROR_USAGE, &refused);
    probe_note(p, "error.cooperative_too_large", refused.text);
    OPS->release(p->dev, at);
}

static void dependent_launch(struct probe *p)
{
    struct error err = {0};
    uint64_t at = buffer(p, 64), got = 0;
    struct {
        uint64_t value, amount;
        int cycles;
    } add = {at, 3, 100000};
    struct device_function *a = probe_function(p, "slow_add"), *d = probe_function(p, "pdl_double");
    struct device_launch first = {.grid = {1, 1, 1}, .block = {32, 1, 1}, .carveout = -1, .params = &add, .param_bytes = 20};
    struct device_launch second = {.grid = {1, 1, 1}, .block = {32, 1, 1}, .pdl = true, .carveout = -1, .params = &at, .param_bytes = 8};
    bool ok = a && d && OPS->fill(p->dev, at, 0, 8, &err);
    for (int i = 0; i < 5 && ok; i++) /* ((0+3)*2+3)*2 ... */
        ok = OPS->launch(p->dev, a, &first, &err) && OPS->launch(p->dev, d, &second, &err);
    ok = ok && OPS->read(p->dev, at, &got, 8, &err);
    probe_check(p, "launch: programmatic dependent launch keeps order", ok && got == 186, &err);
    struct device_graph *g = NULL;
    ok = OPS->fill(p->dev, at, 0, 8, &err) && OPS->sync(p->dev, &err) && OPS->graph_begin(p->dev, &err);
    for (int i = 0; i < 5 && ok; i++)
        ok = OPS->launch(p->dev, a, &first, &err) && OPS->launch(p->dev, d, &second, &err);
    ok = ok && OPS->graph_end(p->dev, &g, &err) && OPS->read(p->dev, at, &got, 8, &err);
    probe_check(p, "graph: capture runs nothing", ok && got == 0, &err);
    ok = g && OPS->graph_launch(p->dev, g, &err) && OPS->read(p->dev, at, &got, 8, &err);
    probe_check(p, "graph: its launch runs all, in order", ok && got == 186, &err);
    if (g)
        OPS->graph_free(p->dev, g);
    OPS->release(p->dev, at);
}

static void tensor_maps(struct probe *p)
{
    struct error err = {0};
    float host[20][36], box[128];
    unsigned char args[128 + 16] __attribute__((aligned(64)));
    uint64_t tensor = buffer(p, sizeof host), out = buffer(p, 512);
    for (int y = 0; y < 20; y++)
        for (int x = 0; x < 36; x++)
            host[y][x] = (float)(100 * y + x);
    struct device_tensor_map m = {.address = tensor,
                                  .element_bytes = 4,
                                  .element_kind = DTYPE_F32,
                                  .rank = 2,
                                  .dim = {36, 20},
                                  .stride_bytes = {4, 36 * 4},
                                  .box = {16, 8},
                                  .element_stride = {1, 1}};
    int x0 = 28, y0 = -3; /* over two edges: zeros there */
    memcpy(args + 128, &out, 8);
    memcpy(args + 136, &x0, 4);
    memcpy(args + 140, &y0, 4);
    bool ok = OPS->write(p->dev, tensor, host, sizeof host, &err) && OPS->tensor_map(p->dev, &m, args, &err) &&
              probe_launch(p, "tma_box", 1, 32, args, 144, &err) && OPS->read(p->dev, out, box, sizeof box, &err);
    for (int i = 0; i < 128 && ok; i++) {
        int x = x0 + i % 16, y = y0 + i / 16;
        ok = box[i] == (x < 36 && y >= 0 ? host[y][x] : 0.0f);
    }
    probe_check(p, "tensor_map: a box over the edge by TMA, zeros outside", ok, &err);
    m.oob_nan = true;
    ok = OPS->tensor_map(p->dev, &m, args, &err) && probe_launch(p, "tma_box", 1, 32, args, 144, &err) &&
         OPS->read(p->dev, out, box, sizeof box, &err);
    probe_check(p, "tensor_map: NaN outside", ok && box[0] != box[0] && box[3 * 16] == host[0][28], &err);
    struct error refused = {0};
    m.stride_bytes[1] = 37;
    probe_check(p, "tensor_map: a crooked stride is refused in words",
                !OPS->tensor_map(p->dev, &m, args, &refused) && refused.kind == ERROR_USAGE, &refused);
    OPS->release(p->dev, tensor);
    OPS->release(p->dev, out);
}

void probe_hooks(struct probe *p)
{
    OPS->range_push(p->dev, "probe hooks");
    memory(p);
    code(p);
    shared_memory(p);
    grouped_launches(p);
    dependent_launch(p);
    tensor_maps(p);
    OPS->range_pop(p->dev);
}
