/* measure/time/roofs on a chip with known rates: it must measure these rates. Everything below measure/time/roofs.c is a stand-in whose
 * events read a simulated clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "base/dtype.h"
#include "device/compile/compile.h"
#include "device/cuda/cublas.h"
#include "measure/time/roofs.h"
#include "virtual_clock.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COPY_RATE 2.0e12 /* bytes moved a second, either direction counted */
#define LAUNCH_NS 1500.0
#define NODE_NS 700.0

/* The work of one thread of each kernel in one iteration, counted by hand in kernels/roofs/roofs.cu, and the rate of this chip for it.
 */
static const struct {
    const char *kernel, *roof;
    double per_thread, rate;
} kernels[] = {{"roof_copy", "copy", 4 * 16 * 2, 1.5e12}, /* slower than the driver's */
               {"roof_l2", "l2", 4 * 16, 6e12},
               {"roof_shared", "shared", 8 * 16, 30e12},
               {"roof_f32", "f32", 64 * 2, 60e12},
               {"roof_mma_f16", "f16_acc32", 1024, 500e12},
               {"roof_mma_bf16", "bf16_acc32", 1024, 510e12},
               {"roof_mma_tf32", "tf32", 512, 250e12},
               {"roof_mma_f16_acc16", "f16_acc16", 1024, 550e12},
               {"roof_wgmma_f16", "f16_acc32", 8192, 800e12},
               {"roof_wgmma_bf16", "bf16_acc32", 8192, 790e12},
               {"roof_wgmma_tf32", "tf32", 4096, 400e12},
               {"roof_mma_s8", "i8_acc32", 2048, 1000e12},
               {"roof_wgmma_s8", "i8_acc32", 16384, 1600e12}};
#define KERNELS (sizeof kernels / sizeof *kernels)

static int burst;        /* every third takes 2 % longer, */
static double other = 1; /* and every second this many times as long */
static bool no_library;
static size_t fed;               /* bytes of random data in the first buffer */
static double shortest, longest; /* of launches that count their iterations, but for the first two of a kernel */

struct cublas_gemm {
    double ns;
};
static void take(double ns)
{
    ns *= burst % 2 ? other : 1;
    spend(ns * (burst++ % 3 ? 1 : 1.02));
}

static int held, given;                     /* buffers and modules */
static const char *no_function, *no_launch; /* the kernel that cannot be found, or launched */
static int finds;                           /* times that it is found before */
static bool no_copy, free_copy;             /* refused, or in no time at all */
static int syncs, sync_fails;               /* the wait, from 1, at which the device is lost; 0: never */
static bool wait_or_fail(struct device *dev, struct error *err)
{
    return ++syncs != sync_fails || error_set(err, ERROR_WRONG, "the device is lost");
}
static bool alloc(struct device *dev, const char *label, size_t bytes, uint64_t *address, struct error *err)
{
    *address = 4096;
    held++;
    return true;
}
static void release(struct device *dev, uint64_t address)
{
    held--;
    given++;
}
/* Data are as in use: halves of both signs up to 0.5. */
static bool put(struct device *dev, uint64_t address, const void *from, size_t bytes, struct error *err)
{
    double sum = 0, most = 0;
    if (fed) /* looked at once */
        return true;
    for (size_t i = 0; i < bytes / 2; i++) {
        double v = dtype_get(DTYPE_F16, from, i);
        sum += v;
        most = fmax(most, fabs(v));
    }
    assert_true(fabs(sum / (bytes / 2)) < 1e-3 && most <= 0.5 && most > 0.49);
    fed = bytes;
    return true;
}
static bool fill(struct device *dev, uint64_t address, uint32_t pattern, size_t bytes, struct error *err)
{
    return true;
}
static bool copy(struct device *dev, uint64_t to, uint64_t from, size_t bytes, struct error *err)
{
    if (to == 4096 && no_copy)
        return error_set(err, ERROR_ENVIRONMENT, "refused");
    fed += to > 4096 ? bytes : 0; /* behind what is there */
    take(to == 4096 && free_copy ? 0 : 2.0 * (double)bytes / COPY_RATE * 1e9);
    return true;
}
static bool load(struct device *dev, const struct device_image *image, struct device_module **module, struct error *err)
{
    *module = (struct device_module *)dev;
    held++;
    return true;
}
static void unload(struct device *dev, struct device_module *module)
{
    held--;
    given++;
}
static bool function(struct device *dev, struct device_module *module, const char *name, struct device_function **f, struct error *err)
{
    *f = (struct device_function *)(uintptr_t)name;
    return !no_function || strcmp(no_function, name) || finds-- > 0 || error_set(err, ERROR_ENVIRONMENT, "no such function");
}
static bool launch(struct device *dev, struct device_function *f, const struct device_launch *l, struct error *err)
{
    const char *name = (const char *)f;
    int32_t iterations;
    if (no_launch && !strcmp(no_launch, name))
        return error_set(err, ERROR_ENVIRONMENT, "refused");
    assert_int_equal(l->carveout, -1); /* as the driver likes it */
    assert_true(l->grid[1] == 1 && l->grid[2] == 1 && (l->grid[0] == 1 || strcmp(name, "roof_empty")));
    memcpy(&iterations, (const char *)l->params + 20, sizeof iterations);
    if (!strcmp(name, "roof_empty"))
        virtual_clock.capturing ? spend(NODE_NS) : take(LAUNCH_NS);
    static const char *last;
    static int nth;
    nth = last && !strcmp(last, name) ? nth + 1 : 0;
    last = name;
    for (size_t i = 0; i < KERNELS; i++)
        if (!strcmp(name, kernels[i].kernel)) {
            double ns = kernels[i].per_thread * l->block[0] * l->grid[0] * iterations / kernels[i].rate * 1e9;
            take(ns);
            shortest = nth < 2 || iterations == 1 ? shortest : fmin(shortest, ns);
            longest = nth < 2 || iterations == 1 ? longest : fmax(longest, ns);
        }
    return true;
}
/* ---- in place of the compiler and of cublasLt ---- */
bool compile(const struct compile_request *request, struct compiled *out, struct error *err)
{
    return true;
}
void compiled_free(struct compiled *c) {}
bool cublas_open(struct device *dev, struct cublas **out, struct error *err)
{
    *out = (struct cublas *)dev;
    return !no_library || error_set(err, ERROR_ENVIRONMENT, "no cublasLt here");
}
void cublas_close(struct cublas *c) {}
bool cublas_gemm_make(struct cublas *c, int math, int n, uint64_t a, uint64_t b, uint64_t d, uint64_t workspace, struct cublas_gemm **out,
                      struct error *err)
{
    *out = calloc(1, sizeof **out);
    assert_true(a == 4096 && b == a + (256 << 20) && d == 4096); /* both operands in the first buffer, which is half a GiB */
    /* 2 n^3 FLOP: f16 with f32 sums at 900 TFLOP/s, everything else at 100 */
    (*out)->ns = 2.0 * n * n * n / (math == MATH_F16_ACC32 ? 900e12 : 100e12) * 1e9;
    return true;
}
void cublas_gemm_free(struct cublas_gemm *g)
{
    free(g);
}
bool cublas_gemm_run(struct cublas_gemm *g, struct error *err)
{
    take(g->ns);
    return true;
}

static struct device_ops ops = {.name = "fake",
                                .alloc = alloc,
                                .release = release,
                                .write = put,
                                .fill = fill,
                                .copy = copy,
                                .load = load,
                                .unload = unload,
                                .function = function,
                                .launch = launch,
                                .sync = wait_or_fail};
static struct device device = {.ops = &ops, .chip = {.cc = 90, .sm_count = 132, .l2_bytes = 60 << 20}, .spec = "fake"};

static const struct ceiling *roof(const struct ceiling_list *r, const char *name)
{
    for (int i = 0; i < r->count; i++)
        if (!strcmp(r->items[i].name, name))
            return &r->items[i];
    fail_msg("no %s", name);
    return NULL;
}

static void is(const struct ceiling_list *r, const char *name, double value, const char *how)
{
    const struct ceiling *one = roof(r, name);
    if (!(fabs(one->value / value - 1) < 1e-3) || !strstr(one->how, how))
        fail_msg("%s: %g (%s), want %g (%s)", name, one->value, one->how, value, how);
}

static void measure(struct ceiling_list *out, char note[256])
{
    struct error err = {0};
    burst = 0;
    if (!roofs_measure(&device, NULL, NULL, out, note, 256, &err))
        fail_msg("%s", err.text);
    assert_true(held == 0 && virtual_clock.events == 0);
}

static void rates_come_out_as_they_are(void **state)
{
    struct ceiling_list r;
    char note[256];
    shortest = INFINITY, longest = 0;
    measure(&r, note);
    assert_string_equal(note, "");
    assert_true(shortest > 1.8e6 && longest < 2.2e6); /* bursts of 2 ms */
    assert_int_equal(fed, (size_t)512 << 20);
    is(&r, "copy", 2e12, "the driver's copy");
    is(&r, "l2", 6e12, "kernel roof_l2");
    is(&r, "shared", 30e12, "kernel roof_shared");
    is(&r, "f32", 100e12, "cublasLt 4096"); /* the better of both */
    is(&r, "f16_acc32", 900e12, "cublasLt 8192");
    is(&r, "bf16_acc32", 790e12, "kernel roof_wgmma_bf16");
    is(&r, "tf32", 400e12, "kernel roof_wgmma_tf32");
    is(&r, "f16_acc16", 900e12, "as f16_acc32"); /* 550 by the one kernel for it: an order that no chip has */
    is(&r, "launch", LAUNCH_NS, "median");
    is(&r, "graph_node", NODE_NS, "graph of 200");
    is(&r, "i8_acc32", 1600e12, "kernel roof_wgmma_s8");
    assert_int_equal(r.count, 11);
}

/* A device that is lost, at whichever wait, is an error or said, and what was not measured by then has no value. */
static void a_lost_device_has_no_roofs(void **state)
{
    int lost = 0;
    for (sync_fails = 1;; sync_fails += 5) {
        struct ceiling_list r;
        char note[256];
        struct error err = {0};
        syncs = 0, burst = 0, given = 0;
        bool ok = roofs_measure(&device, NULL, NULL, &r, note, sizeof note, &err);
        if (syncs < sync_fails)
            break;
        assert_true(!ok || (note[0] && r.count < 10));
        assert_true(ok || (err.kind == ERROR_WRONG && given <= 1)); /* but for cublasLt's workspace */
        held = virtual_clock.events = 0;
        lost++;
    }
    sync_fails = 0;
    assert_true(lost > 10);
}

/* Two bursts of three take their time, the third 2 % more: the best is told, and that the median is as good. */
static void spread_is_told(void **state)
{
    struct ceiling_list r;
    char note[256];
    measure(&r, note);
    assert_non_null(strstr(roof(&r, "l2")->how, ", median 0 % off"));
    no_library = true;
    measure(&r, note);
    no_library = false;
    assert_non_null(strstr(note, "no cublasLt here"));
    is(&r, "f16_acc32", 800e12, "kernel roof_wgmma_f16");
    is(&r, "f32", 60e12, "kernel roof_f32");
    device.chip.cc = 80; /* without wgmma */
    measure(&r, note);
    device.chip.cc = 90;
    is(&r, "f16_acc16", 900e12, "as f16_acc32");
    is(&r, "tf32", 250e12, "kernel roof_mma_tf32");
}

static bool has(const struct ceiling_list *r, const char *name)
{
    for (int i = 0; i < r->count; i++)
        if (!strcmp(r->items[i].name, name))
            return true;
    return false;
}

static bool graph_refused(struct device *dev, struct error *err)
{
    return error_set(err, ERROR_ENVIRONMENT, "refused");
}

/* What cannot be asked is said, and nothing else is lost by it; what takes no time has no rate. */
static void what_cannot_be_asked(void **state)
{
    static const struct {
        const char *function, *launch, *note, *without;
        bool copy, free, graph;
        int count;
    } tries[] = {{.function = "roof_l2", .note = "l2: no such function", .without = "l2", .count = 10},
                 {.function = "roof_empty", .note = "launch: no such function", .without = "launch", .count = 9},
                 {.launch = "roof_shared", .note = "shared: refused", .without = "shared", .count = 10},
                 {.launch = "roof_empty", .note = "launch: refused", .without = "graph_node", .count = 9},
                 {.graph = true, .note = "launch: refused", .without = "graph_node", .count = 10},
                 {.copy = true, .note = "copy: refused", .count = 11},
                 {.free = true, .note = "", .count = 11}};
    bool (*const begin)(struct device *, struct error *) = ops.graph_begin;
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        struct ceiling_list r;
        char note[256];
        no_function = tries[i].function, no_launch = tries[i].launch, no_copy = tries[i].copy, free_copy = tries[i].free;
        ops.graph_begin = tries[i].graph ? graph_refused : begin;
        measure(&r, note);
        assert_string_equal(note, tries[i].note);
        assert_true(r.count == tries[i].count && (!tries[i].without || !has(&r, tries[i].without)));
        if (no_copy || free_copy)
            is(&r, "copy", 1.5e12, "kernel roof_copy");
        is(&r, "f16_acc16", 900e12, "as f16_acc32"); /* what comes last */
    }
    no_function = no_launch = NULL, no_copy = free_copy = false, ops.graph_begin = begin;
}

/* The ceilings of one GPU of several, without the library's. A burst timed in turns as A and as B: how far their medians lie apart, and how
 * far the bursts of A spread, without the fastest and the slowest. */
static void a_check_times_a_burst_against_itself(void **state)
{
    static const struct {
        int cc;
        bool tensor;
        double other, apart, spread;
    } tries[] = {{90, true, 1, 0, 0.02}, {75, false, 1, 0, 0.02}, {80, true, 1, 0, 0.02}, {100, true, 1.25, 0.25, 0.02}};
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        struct ceiling_list r = {0};
        struct error err = {0};
        device.chip.cc = tries[i].cc, other = tries[i].other, burst = 0;
        assert_true(roofs_check(&device, NULL, &r, &err));
        device.chip.cc = 90, other = 1;
        assert_true(held == 0 && virtual_clock.events == 0 && has(&r, "f32") && has(&r, "f16_acc32") == tries[i].tensor);
        is(&r, "copy", 1.5e12, "kernel roof_copy");
        double apart = roof(&r, "aa")->value, back = 1 - 1 / (1 + tries[i].apart); /* either may be the longer one */
        assert_true(fabs(apart - tries[i].apart) < 1e-9 || fabs(apart - back) < 1e-9);
        assert_true(fabs(roof(&r, "spread")->value - tries[i].spread) < 1e-9);
    }
    int lost = 0;
    for (sync_fails = 1;; sync_fails++, lost++) { /* at whichever wait the device is lost */
        struct ceiling_list r = {0};
        struct error err = {0};
        syncs = 0;
        bool ok = roofs_check(&device, NULL, &r, &err);
        if (syncs < sync_fails)
            break;
        assert_true(!ok && err.kind == ERROR_WRONG);
        held = virtual_clock.events = 0;
    }
    sync_fails = 0;
    assert_true(lost > 2 * 15);
    struct ceiling_list r = {0};
    struct error err = {0};
    no_function = "roof_f32", finds = 1; /* found once, as its rate was measured */
    assert_false(roofs_check(&device, NULL, &r, &err));
    assert_int_equal(err.kind, ERROR_ENVIRONMENT);
    no_function = NULL;
}

/* A rate of a kernel for another chip is none: chips after Hopper have neither its instructions nor a whole rate of the older ones. */
static void each_chip_has_its_kernels(void **state)
{
    static const struct {
        int cc;
        double tf32, i8;
    } chips[] = {{75, 0, 0}, {80, 250e12, 1000e12}, {89, 250e12, 1000e12}, {90, 400e12, 1600e12}, {100, 250e12, 0}, {120, 250e12, 0}};
    for (size_t i = 0; i < sizeof chips / sizeof *chips; i++) {
        struct ceiling_list r;
        char note[256];
        device.chip.cc = chips[i].cc, no_library = true;
        measure(&r, note);
        device.chip.cc = 90, no_library = false;
        assert_true(has(&r, "tf32") == (chips[i].tf32 > 0) && has(&r, "i8_acc32") == (chips[i].i8 > 0));
        if (chips[i].tf32 > 0)
            is(&r, "tf32", chips[i].tf32, "kernel");
        if (chips[i].i8 > 0)
            is(&r, "i8_acc32", chips[i].i8, "kernel");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rates_come_out_as_they_are),           cmocka_unit_test(spread_is_told),
                                       cmocka_unit_test(a_lost_device_has_no_roofs),           cmocka_unit_test(what_cannot_be_asked),
                                       cmocka_unit_test(a_check_times_a_burst_against_itself), cmocka_unit_test(each_chip_has_its_kernels)};
    clock_give(&ops, 74000);
    setenv("BENCH_HOME", ".", 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
