/* The table of devices: complete, and its errors in words. Nothing here needs a GPU; where a driver answers, cuda:0 is opened as well. */
#include "device/cuda/private.h"
#include "run/child/devices.h"
#include "device/compile/cubin.h"
#include "device/compile/compile.h"
#include "device/cuda/nvml.h"
#include "base/file.h"
#include "base/text.h"
#include "device/chip/throttle.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static void every_hook_is_there(void **state)
{
    int count = 0;
    bool cuda = false, emu = false;
    for (; device_table[count]; count++) {
        const struct device_ops *o = device_table[count];
        assert_int_equal(o->version, DEVICE_OPS_VERSION);
        const void *const always[] = {(void *)o->open,   (void *)o->close,      (void *)o->alloc,    (void *)o->release,
                                      (void *)o->write,  (void *)o->read,       (void *)o->fill,     (void *)o->copy,
                                      (void *)o->load,   (void *)o->unload,     (void *)o->function, (void *)o->signature,
                                      (void *)o->symbol, (void *)o->tensor_map, (void *)o->launch,   (void *)o->sync};
        const void *const timed[] = {(void *)o->event,     (void *)o->event_free,   (void *)o->record,
                                     (void *)o->elapsed,   (void *)o->flush,        (void *)o->graph_begin,
                                     (void *)o->graph_end, (void *)o->graph_launch, (void *)o->graph_free};
        for (size_t i = 0; i < sizeof always / sizeof *always; i++)
            if (!always[i])
                fail_msg("device %s lacks hook %zu", o->name, i);
        for (size_t i = 0; i < sizeof timed / sizeof *timed; i++)
            if (o->keeps_time && !timed[i])
                fail_msg("device %s lacks time hook %zu", o->name, i);
        cuda = cuda || strcmp(o->name, "cuda") == 0;
        emu = emu || strcmp(o->name, "emu") == 0;
    }
    assert_true(cuda && emu);
    assert_int_equal(count, 2);
}

static void unknown_devices_name_the_nearest(void **state)
{
    struct error err = {0};
    struct device *dev = NULL;
    assert_false(device_open("cdua", &dev, &err));
    assert_int_equal(err.kind, ERROR_USAGE);
    assert_non_null(strstr(err.text, "'cdua'"));
    assert_non_null(strstr(err.hint, "did you mean cuda?"));
    assert_false(device_open("", &dev, &err));
    assert_int_equal(err.kind, ERROR_USAGE);
    assert_false(device_open("cud", &dev, &err)); /* a prefix is no name */
    assert_null(dev);
}

static void a_missing_gpu_is_said_in_words(void **state)
{
    struct error err = {0};
    struct device *dev = NULL;
    char why[256];
    if (device_cuda_present(why, sizeof why)) {
        assert_string_equal(why, "");
        if (!device_open("cuda", &dev, &err))
            fail_msg("%s", err.text);
        assert_string_equal(dev->spec, "cuda:0");
        assert_true(dev->chip.sm_count > 0 && dev->chip.l2_bytes > 0);
        assert_int_equal(strncmp(dev->uuid, "GPU-", 4), 0);
        device_close(dev);
        assert_false(device_open("cuda:999", &dev, &err));
        assert_int_equal(err.kind, ERROR_ENVIRONMENT);
        return;
    }
    assert_true(strlen(why) > 10);
    assert_false(device_open("cuda", &dev, &err));
    assert_int_equal(err.kind, ERROR_ENVIRONMENT);
    assert_non_null(strstr(err.text, "device cuda"));
    assert_true(err.hint[0] != 0);
    assert_false(nvml_open(&err));
    assert_int_equal(err.kind, ERROR_ENVIRONMENT);
    struct nvml_sample s;
    assert_false(nvml_read("GPU-none", &s));
    assert_true(s.sm_clock_hz < 0 && s.power_w < 0 && s.throttle == -1); /* absent, not 0 */
}

static void throttle_reasons_in_words(void **state)
{
    struct text t = {0};
    throttle_text(-1, &t);
    throttle_text(0x1 | 0x2 | 0x100, &t); /* idle, application clocks, display: nothing was slowed */
    assert_int_equal(t.len, 0);
    throttle_text(0x4 | 0x20, &t);
    assert_string_equal(text_get(&t), "power cap, thermal");
    text_free(&t);
}

/* Machine code of a PTX, by a ptxas here; NULL where there is none. */
static char *machine_code(const char *text, size_t *bytes)
{
    static const char *const places[] = {"ptxas", "/usr/local/cuda/bin/ptxas"};
    char folder[] = "/tmp/bench-test-flush.XXXXXX";
    struct error err = {0};
    bool done = false;
    assert_non_null(mkdtemp(folder));
    char *ptx = file_join(folder, "flush.ptx"), *cubin = file_join(folder, "flush.cubin");
    assert_true(file_write(ptx, text, strlen(text), &err));
    for (int i = 0; i < 2 && !done; i++) {
        char *command = text_format("%s -arch=sm_90 %s -o %s >/dev/null 2>&1", places[i], ptx, cubin);
        done = system(command) == 0;
        free(command);
    }
    char *data = done ? file_read(cubin, 1 << 20, bytes, &err) : NULL;
    unlink(ptx);
    unlink(cubin);
    rmdir(folder);
    free(ptx);
    free(cubin);
    if (!done)
        print_message("skipped: no ptxas here\n");
    return data;
}

/* A compiler may drop a load whose value goes nowhere: then "reading back" would read nothing. */
static void the_flush_reads_and_writes(void **state)
{
    size_t bytes = 0;
    char *data = machine_code(cuda_flush_ptx, &bytes);
    struct kernel_facts *facts;
    struct error err = {0};
    if (!data)
        skip();
    assert_int_equal(cubin_read(data, bytes, &facts, &err), 2);
    assert_string_equal(facts[0].name, "flush_read");
    assert_int_equal(facts[0].sass_ldg, 1);
    assert_string_equal(facts[1].name, "flush_write");
    assert_int_equal(facts[1].sass_stg, 1);
    free(facts);
    free(data);
}

/* A block of 1024 threads overwrites all its registers, so that no register of an SM is left; every byte of a frame; and more code than an
 * SM of cc 9.0 keeps (128 KiB), so that no row's code stays. */
static void threads_leave_nothing(void **state)
{
    size_t bytes = 0;
    struct kernel_facts *facts;
    struct error err = {0};
    for (size_t frame = 0; frame <= 16384; frame = frame ? 16 * frame : 64) {
        char *ptx = cuda_threads_ptx(frame), *data = machine_code(ptx, &bytes);
        free(ptx);
        if (!data)
            skip();
        assert_int_equal(cubin_read(data, bytes, &facts, &err), 1);
        assert_string_equal(facts->name, frame ? "wipe_frames" : "wipe_places");
        assert_true(frame ? facts->stack_bytes == (int)frame : facts->registers > 56 && facts->registers <= 64);
        assert_true(frame || facts->code_bytes > 128 << 10);
        assert_true(frame ? facts->sass_stl >= 1 && facts->sass_ldl >= 1 : facts->sass_sts >= 1 && facts->sass_stl == 0);
        free(facts);
        free(data);
    }
}

/* Two steps of a network may have the same kernel with more and less shared memory: the driver keeps one limit for both. */
static void a_kernel_has_one_limit_of_shared_memory(void **state)
{
    static const char source[] = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n ret;\n}\n";
    struct device_image image = {.label = "k", .ptx = source, .ptx_bytes = sizeof source - 1};
    struct device_function *function[2];
    struct device_module *module;
    struct device *dev;
    struct error err = {0};
    if (!device_open("cuda:0", &dev, &err)) {
        print_message("skipped: %s\n", err.text);
        skip();
    }
    image.cubin = (unsigned char *)machine_code(source, &image.cubin_bytes);
    if (!image.cubin || !dev->ops->load(dev, &image, &module, &err))
        fail_msg("%s", err.text);
    for (int i = 0; i < 2; i++)
        assert_true(dev->ops->function(dev, module, "k", &function[i], &err));
    static const uint32_t smem[] = {124480, 61440, 124480};
    for (int i = 0; i < 3; i++) {
        struct device_launch launch = {.grid = {1, 1, 1}, .block = {32, 1, 1}, .smem = smem[i], .carveout = -1, .time_limit_s = 5};
        if (!dev->ops->launch(dev, function[i & 1], &launch, &err))
            fail_msg("%s", err.text);
    }
    dev->ops->unload(dev, module);
    free((void *)image.cubin);
    device_close(dev);
}

int main(void)
{
    if (!getenv("BENCH_HOME"))
        setenv("BENCH_HOME", ".", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_hook_is_there),
        cmocka_unit_test(unknown_devices_name_the_nearest),
        cmocka_unit_test(a_missing_gpu_is_said_in_words),
        cmocka_unit_test(throttle_reasons_in_words),
        cmocka_unit_test(the_flush_reads_and_writes),
        cmocka_unit_test(a_kernel_has_one_limit_of_shared_memory),
        cmocka_unit_test(threads_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
