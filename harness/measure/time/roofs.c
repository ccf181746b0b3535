#include "measure/time/roofs.h"
#include "base/clock.h"
#include "base/order.h"
#include "base/date.h"
#include "base/dtype.h"
#include "base/file.h"
#include "base/text.h"
#include "device/compile/compile.h"
#include "device/cuda/cublas.h"
#include "device/cuda/nvml.h"
#include "measure/job.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER_BYTES ((size_t)512 << 20) /* of each of the two: far beyond any L2 */
#define BURSTS 7
#define BURST_NS 2e6
#define LAUNCHES 31
#define GRAPH_NODES 200
#define L2_SHARE 4 /* of the L2 that roof_l2 reads, so that the data stay in it */
#define GEMM 8192
#define GEMM_F32 4096 /* 18 ms would be long */

/* FLOP per thread: a 16 x 8 x 16 product by a warp is 4096 FLOP, 128 per thread; a 64 x 128 x 16 product by a warpgroup is 2048 per
 * thread. */
const struct roof_kernel roof_kernels[] = {
    {"copy", "roof_copy", "B/s", 0, 999, 0, 0, 128},
    {"l2", "roof_l2", "B/s", 0, 999, 6, 0, 64},
    {"shared", "roof_shared", "B/s", 0, 999, 4, 0, 128},
    {"f32", "roof_f32", "FLOP/s", 0, 999, 4, 0, 128},
    {"f16_acc32", "roof_mma_f16", "FLOP/s", 80, 999, 4, 0, 8 * 128},
    {"bf16_acc32", "roof_mma_bf16", "FLOP/s", 80, 999, 4, 0, 8 * 128},
    {"tf32", "roof_mma_tf32", "FLOP/s", 80, 999, 4, 0, 8 * 64},
    {"f16_acc16", "roof_mma_f16_acc16", "FLOP/s", 80, 999, 4, 0, 8 * 128},
    {"i8_acc32", "roof_mma_s8", "FLOP/s", 80, 90, 4, 0, 8 * 256}, /* newer chips: too low without another way */
    {"f16_acc32", "roof_wgmma_f16", "FLOP/s", 90, 90, 2, 17 * 1024, 4 * 2048},
    {"bf16_acc32", "roof_wgmma_bf16", "FLOP/s", 90, 90, 2, 17 * 1024, 4 * 2048},
    {"tf32", "roof_wgmma_tf32", "FLOP/s", 90, 90, 2, 17 * 1024, 4 * 1024},
    {"i8_acc32", "roof_wgmma_s8", "FLOP/s", 90, 90, 2, 17 * 1024, 4 * 4096},
    {0},
};

double roof_amount(const struct roof_kernel *k, int blocks, int iterations)
{
    return k->per_thread * ROOF_THREADS * blocks * iterations;
}

char *roofs_source(void)
{
    return file_share("kernels/roofs/roofs.cu");
}

struct bench_roofs {
    struct device *dev;
    const struct device_ops *ops;
    struct device_event *from, *to;
    struct device_module *module;
    uint64_t a, b;
    struct cublas *library; /* NULL: none */
    const struct job *wait; /* with kernels and library loaded, waits until its job is interrupted; NULL: measures at once */
    struct ceiling_list *out;
    struct text note;
};

/* Returns the shortest burst; `how` gets `what` and the distance of the median from it. */
static double least(double *ns, int count, const char *what, char how[96])
{
    qsort(ns, (size_t)count, sizeof *ns, order_doubles);
    snprintf(how, 96, "%s, median %.2g %% off", what, (ns[count / 2] / ns[0] - 1) * 100);
    return ns[0];
}

static void keep(struct bench_roofs *r, const char *name, const char *unit, const char *how, double value)
{
    struct ceiling *found = NULL;
    bool less = !strcmp(unit, "ns"); /* keep the shortest time and the highest rate */
    for (int i = 0; i < r->out->count; i++)
        if (!strcmp(r->out->items[i].name, name))
            found = &r->out->items[i];
    if (!isfinite(value) || value <= 0 || (found && (less ? value >= found->value : value <= found->value)))
        return;
    if (!found && r->out->count == ROOFS_MAX)
        return;
    found = found ? found : &r->out->items[r->out->count++];
    snprintf(found->name, sizeof found->name, "%s", name);
    snprintf(found->unit, sizeof found->unit, "%s", unit);
    snprintf(found->how, sizeof found->how, "%s", how);
    found->value = value;
}

/* Notes a missing measurement and goes on; a dead context ends the run. */
static bool missing(struct bench_roofs *r, const char *what, struct error *err)
{
    if (err->kind == ERROR_WRONG)
        return false;
    text_addf(&r->note, "%s%s: %.200s", r->note.len ? "; " : "", what, err->text);
    error_clear(err);
    return true;
}

struct roof_params { /* the one signature of roofs.cu */
    uint64_t to, from;
    int32_t count, iterations;
};

static bool launch(struct bench_roofs *r, struct device_function *f, const struct roof_kernel *k, int blocks, int count, int iterations,
                   struct error *err)
{
    struct roof_params params = {r->b, r->a, count, iterations};
    struct device_launch l = {.grid = {(uint32_t)blocks, 1, 1},
                              .block = {ROOF_THREADS, 1, 1},
                              .smem = k ? (uint32_t)k->smem : 0,
                              .carveout = -1,
                              .params = &params,
                              .param_bytes = sizeof params};
    return r->ops->launch(r->dev, f, &l, err);
}

static bool elapsed(struct bench_roofs *r, double *ns, struct error *err)
{
    return r->ops->record(r->dev, r->to, err) && r->ops->sync(r->dev, err) && r->ops->elapsed(r->dev, r->from, r->to, ns, err);
}

static bool run_kernel(struct bench_roofs *r, const struct roof_kernel *k, struct error *err)
{
    struct device_function *f;
    const struct chip *chip = &r->dev->chip;
    bool l2 = !strcmp(k->roof, "l2");
    size_t l2_bytes = chip->l2_bytes ? chip->l2_bytes : 4u << 20;
    size_t bytes = l2 ? l2_bytes / L2_SHARE : BUFFER_BYTES;
    int count = (int)(bytes / 16 / ROOF_BLOCK_PIECES * ROOF_BLOCK_PIECES), iterations = k->blocks_per_sm ? 16 : 1;
    int blocks = k->blocks_per_sm ? k->blocks_per_sm * chip->sm_count : count / ROOF_BLOCK_PIECES;
    char what[64], how[96];
    double ns[BURSTS], one;
    int kept = 0;
    if (!r->ops->function(r->dev, r->module, k->kernel, &f, err))
        return false;
    for (int burst = 0; burst < BURSTS; burst++) {
        if (!r->ops->record(r->dev, r->from, err) || !launch(r, f, k, blocks, count, iterations, err) || !elapsed(r, &one, err))
            return false;
        if (burst < 2 && k->blocks_per_sm) /* the first bursts only measure the duration of a burst */
            iterations = (int)fmin(1e6, fmax(16, iterations * BURST_NS / one));
        else if (burst)
            ns[kept++] = one;
    }
    snprintf(what, sizeof what, "kernel %s", k->kernel);
    double best = least(ns, kept, what, how);
    keep(r, k->roof, k->unit, how, roof_amount(k, blocks, iterations) / best * 1e9);
    return true;
}

static bool run_copy(struct bench_roofs *r, struct error *err)
{
    double ns[BURSTS];
    char how[96];
    for (int burst = 0; burst < BURSTS; burst++)
        if (!r->ops->record(r->dev, r->from, err) || !r->ops->copy(r->dev, r->b, r->a, BUFFER_BYTES, err) || !elapsed(r, &ns[burst], err))
            return false;
    double best = least(ns, BURSTS, "the driver's copy", how);
    keep(r, "copy", "B/s", how, 2.0 * (double)BUFFER_BYTES / best * 1e9);
    return true;
}

/* Times an empty launch as an isolated, cold row is timed: after a flush, between two events; and as one node of a large graph. */
static bool run_launch(struct bench_roofs *r, struct error *err)
{
    struct device_function *f;
    struct device_graph *graph = NULL;
    double ns[LAUNCHES], node = INFINITY;
    if (!r->ops->function(r->dev, r->module, "roof_empty", &f, err))
        return false;
    for (int i = 0; i < LAUNCHES; i++)
        if (!r->ops->flush(r->dev, err) || !r->ops->record(r->dev, r->from, err) || !launch(r, f, NULL, 1, 0, 0, err) ||
            !elapsed(r, &ns[i], err))
            return false;
    qsort(ns, LAUNCHES, sizeof *ns, order_doubles);
    keep(r, "launch", "ns", "empty kernel, median", ns[LAUNCHES / 2]);
    bool ok = r->ops->graph_begin(r->dev, err);
    ok = ok && ALL_OF(i, GRAPH_NODES, launch(r, f, NULL, 1, 0, 0, err));
    ok = ok && r->ops->graph_end(r->dev, &graph, err);
    for (int i = 0; ok && i < BURSTS; i++) {
        double whole;
        ok = r->ops->record(r->dev, r->from, err) && r->ops->graph_launch(r->dev, graph, err) && elapsed(r, &whole, err);
        node = ok ? fmin(node, whole / GRAPH_NODES) : node;
    }
    if (graph)
        r->ops->graph_free(r->dev, graph);
    if (ok)
        keep(r, "graph_node", "ns", "graph of 200 empty kernels", node);
    return ok;
}

static bool run_gemm(struct bench_roofs *r, struct cublas *library, int math, uint64_t workspace, struct error *err)
{
    struct cublas_gemm *g;
    int n = math == MATH_F32 ? GEMM_F32 : GEMM;
    double ns[BURSTS];
    char what[64], how[96];
    /* the second operand and the result share a buffer's two halves; 8192^2 of 4 bytes is 256 MiB */
    if (!cublas_gemm_make(library, math, n, r->a, r->a + BUFFER_BYTES / 2, r->b, workspace, &g, err))
        return false;
    bool ok = ALL_OF(burst, BURSTS, r->ops->record(r->dev, r->from, err) && cublas_gemm_run(g, err) && elapsed(r, &ns[burst], err));
    cublas_gemm_free(g);
    snprintf(what, sizeof what, "cublasLt %d", n);
    if (ok) {
        double best = least(ns + 1, BURSTS - 1, what, how); /* the first burst may include the library's initialisation */
        keep(r, math_name((enum math)math), "FLOP/s", how, 2.0 * n * n * n / best * 1e9);
    }
    return ok;
}

static bool run_library(struct bench_roofs *r, struct error *err)
{
    uint64_t workspace = 0;
    bool alive = true;
    if (r->ops->alloc(r->dev, "workspace", CUBLAS_WORKSPACE, &workspace, err)) {
        for (int math = MATH_F32; alive && math <= MATH_BF16_ACC32; math++) /* bench does not ask cublasLt for products of i8 */
            alive = run_gemm(r, r->library, math, workspace, err) || missing(r, math_name((enum math)math), err);
        r->ops->release(r->dev, workspace);
    } else {
        alive = missing(r, "matrix products of cublasLt", err);
    }
    if (alive)
        cublas_close(r->library);
    return alive;
}

/* Random half-precision values in [-0.5, 0.5], two per word: valid for a product of any type, and with the power draw of random data. */
static bool feed(struct bench_roofs *r, struct error *err)
{
    size_t bytes = (size_t)8 << 20;
    SCOPED uint16_t *data = xmalloc(bytes);
    uint64_t state = 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < bytes / 2; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        data[i] = f16_from_f32((float)((double)(state >> 11) * 0x1p-53 - 0.5));
    }
    bool ok = r->ops->write(r->dev, r->a, data, bytes, err);
    for (size_t done = bytes; ok && done < BUFFER_BYTES; done *= 2)
        ok = r->ops->copy(r->dev, r->a + done, r->a, done, err);
    return ok && r->ops->fill(r->dev, r->b, 0, BUFFER_BYTES, err) && r->ops->sync(r->dev, err);
}

/* A product that may accumulate in f16 may also accumulate in f32. So the f16 ceiling is at least the f32 ceiling, whichever method
 * reached it. */
static void put_in_order(struct bench_roofs *r)
{
    for (int i = 0; i < r->out->count; i++)
        if (!strcmp(r->out->items[i].name, "f16_acc32"))
            keep(r, "f16_acc16", "FLOP/s", "as f16_acc32: no faster method was found", r->out->items[i].value);
}

static bool run_all(struct bench_roofs *r, struct error *err)
{
    bool ok = feed(r, err);
    if (ok && !cublas_open(r->dev, &r->library, err)) {
        r->library = NULL;
        ok = missing(r, "matrix products of cublasLt", err);
    }
    while (ok && r->wait && !job_is_interrupted(r->wait))
        clock_rest(1000000);
    ok = ok && (run_copy(r, err) || missing(r, "copy", err)) && (run_launch(r, err) || missing(r, "launch", err));
    for (const struct roof_kernel *k = roof_kernels; ok && k->roof; k++)
        if (r->dev->chip.cc >= k->cc_from && r->dev->chip.cc <= k->cc_to)
            ok = run_kernel(r, k, err) || missing(r, k->roof, err);
    ok = ok && (!r->library || run_library(r, err));
    put_in_order(r);
    return ok;
}

/* Calls `work` with the kernels and the buffers at hand. */
static bool with_kernels(struct bench_roofs *r, const char *compiler, bool (*work)(struct bench_roofs *r, struct error *err),
                         struct error *err)
{
    struct device *dev = r->dev;
    struct compiled c = {0};
    SCOPED char *path = roofs_source();
    *r->out = (struct ceiling_list){0};
    date_now(r->out->measured);
    if (!dev->ops->keeps_time)
        return error_set(err, ERROR_USAGE, "%s measures no time, so it has no ceilings", dev->spec);
    struct compile_request request = {.path = path, .label = "roofs", .arch = dev->chip.arch, .compiler = compiler};
    bool ok = compile(&request, &c, err);
    struct device_image image = {
        .label = "roofs", .path = path, .ptx = c.ptx, .ptx_bytes = c.ptx_bytes, .cubin = c.cubin, .cubin_bytes = c.cubin_bytes};
    ok = ok && r->ops->load(dev, &image, &r->module, err) && r->ops->event(dev, &r->from, err) && r->ops->event(dev, &r->to, err) &&
         r->ops->alloc(dev, "ceilings a", BUFFER_BYTES, &r->a, err) && r->ops->alloc(dev, "ceilings b", BUFFER_BYTES, &r->b, err) &&
         work(r, err);
    bool dead = !ok && err->kind == ERROR_WRONG; /* after which no memory can be released */
    if (!dead) {
        if (r->a)
            r->ops->release(dev, r->a);
        if (r->b)
            r->ops->release(dev, r->b);
        if (r->from)
            r->ops->event_free(dev, r->from);
        if (r->to)
            r->ops->event_free(dev, r->to);
        if (r->module)
            r->ops->unload(dev, r->module);
    }
    compiled_free(&c);
    return ok;
}

bool roofs_measure(struct device *dev, const char *compiler, const struct job *wait, struct ceiling_list *out, char *note,
                   unsigned note_bytes, struct error *err)
{
    struct bench_roofs r = {.dev = dev, .ops = dev->ops, .wait = wait, .out = out};
    bool ok = with_kernels(&r, compiler, run_all, err);
    snprintf(note, note_bytes, "%s", text_get(&r.note));
    text_free(&r.note);
    return ok;
}

/* ---- the check of a GPU of several ---- */

#define CHECK_PAIRS 15

/* A number that may be 0. */
static void put(struct bench_roofs *r, const char *name, const char *unit, double value)
{
    if (!(value >= 0) || r->out->count == ROOFS_MAX)
        return;
    struct ceiling *c = &r->out->items[r->out->count++];
    *c = (struct ceiling){.value = value};
    snprintf(c->name, sizeof c->name, "%s", name);
    snprintf(c->unit, sizeof c->unit, "%s", unit);
}

/* Times the same burst in turns as A and as B: how far their medians lie apart, and how far the bursts spread. */
static bool run_twice(struct bench_roofs *r, const struct roof_kernel *k, struct error *err)
{
    struct device_function *f;
    double a[CHECK_PAIRS], b[CHECK_PAIRS], one = BURST_NS;
    int blocks = k->blocks_per_sm * r->dev->chip.sm_count, iterations = 16;
    if (!r->ops->function(r->dev, r->module, k->kernel, &f, err))
        return false;
    for (int i = -4; i < 2 * CHECK_PAIRS; i++) {
        if (!r->ops->record(r->dev, r->from, err) || !launch(r, f, k, blocks, 0, iterations, err) || !elapsed(r, &one, err))
            return false;
        if (i < 0) /* the first only measure the duration of a burst */
            iterations = (int)fmin(1e6, fmax(16, iterations * BURST_NS / one));
        else
            *(i % 2 ? &b[i / 2] : &a[i / 2]) = one;
    }
    qsort(a, CHECK_PAIRS, sizeof *a, order_doubles);
    qsort(b, CHECK_PAIRS, sizeof *b, order_doubles);
    put(r, "aa", "share", fabs(a[CHECK_PAIRS / 2] / b[CHECK_PAIRS / 2] - 1));
    put(r, "spread", "share", a[CHECK_PAIRS - 2] / a[1] - 1);
    return true;
}

static bool run_check(struct bench_roofs *r, struct error *err)
{
    static const char *const kernels[] = {"roof_copy", "roof_f32", "roof_mma_f16"};
    struct nvml_sample s;
    bool ok = feed(r, err);
    for (const struct roof_kernel *k = roof_kernels; ok && k->roof; k++)
        for (size_t i = 0; ok && i < sizeof kernels / sizeof *kernels; i++)
            if (!strcmp(k->kernel, kernels[i]) && r->dev->chip.cc >= k->cc_from && r->dev->chip.cc <= k->cc_to)
                ok = run_kernel(r, k, err) && (strcmp(k->roof, "f32") || run_twice(r, k, err));
    if (!ok || !nvml_open(&(struct error){0}))
        return ok;
    if (nvml_read(r->dev->uuid, &s)) { /* at once: the clocks are those of the bursts */
        put(r, "sm_clock_mhz", "MHz", s.sm_clock_hz / 1e6);
        put(r, "memory_clock_mhz", "MHz", s.memory_clock_hz / 1e6);
        put(r, "temperature_c", "degrees C", s.temperature_c);
        put(r, "throttle", "bits", (double)s.throttle);
        put(r, "ecc_errors", "", (double)s.ecc_errors);
    }
    nvml_close();
    return ok;
}

bool roofs_check(struct device *dev, const char *compiler, struct ceiling_list *out, struct error *err)
{
    struct bench_roofs r = {.dev = dev, .ops = dev->ops, .out = out};
    bool ok = with_kernels(&r, compiler, run_check, err);
    text_free(&r.note);
    return ok;
}
