/* Running a piece of PTX on emu from a test. Include after cmocka. */
#ifndef BENCH_TESTS_EMU_RUN_H
#define BENCH_TESTS_EMU_RUN_H

#include "base/file.h"
#include "base/text.h"
#include "device/compile/compile.h"
#include "emu/device/emu.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct emu_test {
    struct device dev;
    struct device_module *module;
    struct device_function *function;
    struct error err;
    _Alignas(16) unsigned char params[512];
    size_t param_bytes, used;
    struct device_launch launch;
};

static inline void emu_test_chip(struct emu_test *t, const char *chip, const char *label, const char *ptx, const char *kernel)
{
    memset(t, 0, sizeof *t);
    t->dev.ops = &emu_device;
    if (!emu_device.open(&t->dev, chip, &t->err))
        fail_msg("%s", t->err.text);
    struct device_image image = {.label = label, .ptx = ptx, .ptx_bytes = strlen(ptx)};
    if (!emu_device.load(&t->dev, &image, &t->module, &t->err) || !emu_device.function(&t->dev, t->module, kernel, &t->function, &t->err))
        fail_msg("%s", t->err.text);
    const struct param *params;
    emu_device.signature(&t->dev, t->function, &params, &t->param_bytes);
    t->launch = (struct device_launch){
        .grid = {1, 1, 1}, .block = {32, 1, 1}, .params = t->params, .param_bytes = t->param_bytes, .time_limit_s = 30};
}

static inline void emu_test_text(struct emu_test *t, const char *label, const char *ptx, const char *kernel)
{
    emu_test_chip(t, "GH100", label, ptx, kernel);
}

/* PTX of a source in tests/emu: "races.ptx" is races.cu for sm_90a, "races_100.ptx" the same for sm_100. The compile cache keeps it. If a
 * file of that name exists, it is used unchanged: checks.ptx stays as a compiler of 2026 wrote it. Skips without a compiler. */
static inline char *emu_test_ptx(const char *name)
{
    struct error err = {0};
    SCOPED char *pinned = text_format("tests/emu/%s", name);
    if (file_exists(pinned)) {
        char *ptx = file_read(pinned, 1 << 24, NULL, &err);
        if (!ptx)
            fail_msg("%s", err.text);
        return ptx;
    }
    char version[96];
    if (!compile_version(NULL, version, sizeof version, &err)) {
        print_message("no NVRTC here: sh ci/setup fetches it\n");
        skip();
    }
    size_t n = strcspn(name, "_.");
    SCOPED char *source = text_format("tests/emu/%.*s.cu", (int)n, name);
    SCOPED char *arch = name[n] == '_' ? text_format("sm_%.*s", (int)strcspn(name + n + 1, "."), name + n + 1) : xstrdup("sm_90a");
    struct compiled c;
    if (!compile(&(struct compile_request){.path = source, .label = name, .arch = arch, .ptx_only = true}, &c, &err))
        fail_msg("%s", err.text);
    char *ptx = c.ptx;
    c.ptx = NULL;
    compiled_free(&c);
    return ptx;
}
static inline void emu_test_file(struct emu_test *t, const char *name, const char *kernel)
{
    SCOPED char *ptx = emu_test_ptx(name);
    emu_test_text(t, name, ptx, kernel);
}

static inline uint64_t emu_test_buffer(struct emu_test *t, const char *label, const void *data, size_t bytes)
{
    uint64_t address = 0;
    assert_true(emu_device.alloc(&t->dev, label, bytes, &address, &t->err));
    if (data)
        assert_true(emu_device.write(&t->dev, address, data, bytes, &t->err));
    return address;
}

/* Arguments in order, each aligned to its size. */
static inline void emu_test_argument(struct emu_test *t, const void *value, size_t bytes)
{
    t->used = (t->used + bytes - 1) / bytes * bytes;
    memcpy(t->params + t->used, value, bytes);
    t->used += bytes;
}
static inline void emu_test_pointer(struct emu_test *t, uint64_t address)
{
    emu_test_argument(t, &address, 8);
}
static inline void emu_test_int(struct emu_test *t, int32_t v)
{
    emu_test_argument(t, &v, 4);
}

static inline bool emu_test_launch(struct emu_test *t)
{
    return emu_device.launch(&t->dev, t->function, &t->launch, &t->err);
}
static inline void emu_test_run(struct emu_test *t)
{
    if (!emu_test_launch(t))
        fail_msg("%s", t->err.text);
}
static inline void emu_test_read(struct emu_test *t, uint64_t address, void *to, size_t bytes)
{
    assert_true(emu_device.read(&t->dev, address, to, bytes, &t->err));
}

struct emu_counter_wanted {
    const char *name;
    int line;
    double value;
};
static inline void emu_counter_visit(void *context, const struct device_counter *counter, int line, double value)
{
    struct emu_counter_wanted *w = context;
    if (!strcmp(counter->name, w->name) && line == w->line)
        w->value = value;
}
static inline double emu_test_counter(struct emu_test *t, const char *name, int line)
{
    struct emu_counter_wanted w = {name, line, line ? 0 : -1}; /* lines report_race only what is not 0 */
    emu_device.counters(&t->dev, emu_counter_visit, &w);
    return w.value;
}
/* The report of that kind, of that line (0: any). */
static inline const struct device_report *emu_test_report_at(struct emu_test *t, const char *kind, int line)
{
    const struct device_report *r;
    int n = emu_device.reports(&t->dev, &r);
    for (int i = 0; i < n; i++)
        if (!strcmp(r[i].kind, kind) && (!line || r[i].line == line))
            return &r[i];
    return NULL;
}
static inline const struct device_report *emu_test_report(struct emu_test *t, const char *kind)
{
    return emu_test_report_at(t, kind, 0);
}
static inline int emu_test_reports(struct emu_test *t)
{
    const struct device_report *r;
    int n = emu_device.reports(&t->dev, &r);
    for (int i = 0; i < n; i++)
        print_message("%s: %s\n", r[i].kind, r[i].text);
    return n;
}
static inline void emu_test_close(struct emu_test *t)
{
    emu_device.unload(&t->dev, t->module);
    emu_device.close(&t->dev);
}
/* Runs the kernel, which has nothing to report, reads `out` at `to` and closes. */
static inline void emu_test_finish(struct emu_test *t, uint64_t to, void *out, size_t bytes)
{
    emu_test_run(t);
    assert_int_equal(emu_test_reports(t), 0);
    emu_test_read(t, to, out, bytes);
    emu_test_close(t);
}

/* Whether emu takes the PTX's kernel `k`; else err says why. */
static inline bool emu_test_takes(const char *chip, const char *ptx, struct error *err)
{
    struct device dev = {.ops = &emu_device};
    struct device_module *module = NULL;
    struct device_function *function;
    struct device_image image = {.label = "taken", .ptx = ptx, .ptx_bytes = strlen(ptx)};
    assert_true(emu_device.open(&dev, chip, err));
    bool taken = emu_device.load(&dev, &image, &module, err) && emu_device.function(&dev, module, "k", &function, err);
    emu_device.unload(&dev, module);
    emu_device.close(&dev);
    return taken;
}

#define PTX_HEAD ".version 9.0\n.target sm_90a\n.address_size 64\n"

#endif
