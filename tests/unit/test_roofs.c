/* measure/time/roofs: what each kernel of roofs.cu claims to do is what emu counts; a device without time has no roofs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/compile/compile.h"
#include "run/child/devices.h"
#include "device/compile/cubin.h"
#include "emu_run.h"
#include "measure/time/roofs.h"

static struct compiled code;
static char why_not[256];

static double counted(struct emu_test *t, const char *name)
{
    return emu_test_counter(t, name, 0);
}

/* Runs one kernel on emu for `blocks` blocks and returns with its counters in t. */
static void run(struct emu_test *t, const struct roof_kernel *k, int blocks, int count, int iterations)
{
    size_t bytes = (size_t)count * 16;
    unsigned *data = xmalloc(bytes);
    for (size_t i = 0; i < bytes / 4; i++)
        data[i] = (unsigned)(i * 2654435761u);
    emu_test_text(t, "roofs", code.ptx, k->kernel);
    uint64_t from = emu_test_buffer(t, "from", data, bytes), to = emu_test_buffer(t, "to", data, bytes);
    emu_test_pointer(t, to);
    emu_test_pointer(t, from);
    emu_test_int(t, count);
    emu_test_int(t, iterations);
    t->launch.grid[0] = (uint32_t)blocks;
    t->launch.block[0] = ROOF_THREADS;
    t->launch.smem = (uint32_t)k->smem;
    emu_device.clear(&t->dev);
    emu_test_run(t);
    if (emu_test_reports(t))
        fail_msg("%s", k->kernel);
    free(data);
}

static const struct roof_kernel *find(const char *kernel)
{
    for (const struct roof_kernel *k = roof_kernels; k->roof; k++)
        if (!strcmp(k->kernel, kernel))
            return k;
    fail_msg("no %s", kernel);
    return NULL;
}

static void need_compiler(void)
{
    if (!code.ptx) {
        print_message("skipped: %s\n", why_not);
        skip();
    }
}

static void bytes_are_those_counted(void **state)
{
    need_compiler();
    struct emu_test t;
    const struct roof_kernel *k = find("roof_copy");
    run(&t, k, 3, 3 * ROOF_BLOCK_PIECES, 1);
    assert_true(32 * (counted(&t, "emu.global_sectors_ld") + counted(&t, "emu.global_sectors_st")) == roof_amount(k, 3, 1));
    assert_true(counted(&t, "emu.global_sectors_ld") == counted(&t, "emu.global_sectors_ideal_ld"));
    assert_true(counted(&t, "emu.unique_bytes_read") == roof_amount(k, 3, 1) / 2); /* each piece once */
    emu_test_close(&t);
    k = find("roof_l2");
    run(&t, k, 3, 4 * ROOF_BLOCK_PIECES, 5);
    assert_true(32 * counted(&t, "emu.global_sectors_ld") == roof_amount(k, 3, 5));
    assert_true(counted(&t, "emu.unique_bytes_read") == 4 * 16 * ROOF_BLOCK_PIECES); /* all of it, again and again */
    emu_test_close(&t);
    k = find("roof_shared");
    run(&t, k, 2, 4096, 6);
    assert_true(128 * counted(&t, "emu.shared_wavefronts_ld") == roof_amount(k, 2, 6));
    assert_true(counted(&t, "emu.shared_bank_conflicts") == 0);
    emu_test_close(&t);
}

static void operations_are_those_counted(void **state)
{
    need_compiler();
    struct emu_test t;
    const struct roof_kernel *k = find("roof_f32");
    run(&t, k, 2, 4096, 7);
    assert_true(2 * 32 * counted(&t, "emu.warp_fma") == roof_amount(k, 2, 7));
    emu_test_close(&t);
    /* Tensor kernels: the instructions that one more iteration adds, times the work of one. The rest of the loop is unrolled, so the counts
     * of two kernels are compared: tf32 has half the depth in as many instructions. */
    assert_true(find("roof_mma_f16")->per_thread == 8 * 2.0 * 16 * 8 * 16 / 32);
    assert_true(find("roof_mma_tf32")->per_thread == 8 * 2.0 * 16 * 8 * 8 / 32);
    assert_true(find("roof_wgmma_f16")->per_thread == 4 * 2.0 * 64 * 128 * 16 / 128);
    assert_true(find("roof_wgmma_tf32")->per_thread == 4 * 2.0 * 64 * 128 * 8 / 128);
    assert_true(find("roof_mma_s8")->per_thread == 8 * 2.0 * 16 * 8 * 32 / 32);
    assert_true(find("roof_wgmma_s8")->per_thread == 4 * 2.0 * 64 * 128 * 32 / 128);
    for (k = roof_kernels; k->roof; k++) { /* all of them run, and read and write nothing that is not theirs */
        run(&t, k, 1, 8 * ROOF_BLOCK_PIECES, 2);
        double two = counted(&t, "emu.warp_instructions");
        emu_test_close(&t);
        run(&t, k, 1, 8 * ROOF_BLOCK_PIECES, 6);
        double more = counted(&t, "emu.warp_instructions") - two;
        emu_test_close(&t);
        assert_true(!strcmp(k->kernel, "roof_copy") ? more == 0 : more >= 4 * 8 * 4);
    }
}

/* The compiler may drop or merge operations without effect: the machine code, with each loop unrolled several times, must contain the loads
 * and operations of at least two iterations. (Once it merged loads of shared memory, and the result was 15 times the hardware's rate.) */
static void machine_code_keeps_the_work(void **state)
{
    need_compiler();
    struct error err = {0};
    struct kernel_facts *facts;
    int count = cubin_read(code.cubin, code.cubin_bytes, &facts, &err), seen = 0;
    assert_true(count > 0);
    for (int i = 0; i < count; i++) {
        const struct kernel_facts *f = &facts[i];
        const struct {
            const char *kernel;
            int has, wants;
        } table[] = {
            {"roof_copy", f->sass_ldg, 4},       {"roof_copy", f->sass_stg, 4},        {"roof_l2", f->sass_ldg, 8},
            {"roof_shared", f->sass_lds, 16},    {"roof_f32", f->sass_ffma, 128},      {"roof_mma_f16", f->sass_mma, 16},
            {"roof_mma_bf16", f->sass_mma, 16},  {"roof_mma_tf32", f->sass_mma, 16},   {"roof_mma_f16_acc16", f->sass_mma, 16},
            {"roof_wgmma_f16", f->sass_gmma, 8}, {"roof_wgmma_bf16", f->sass_gmma, 8}, {"roof_wgmma_tf32", f->sass_gmma, 8},
            {"roof_mma_s8", f->sass_mma, 16},    {"roof_wgmma_s8", f->sass_gmma, 8},
        };
        for (size_t k = 0; k < sizeof table / sizeof *table; k++)
            if (!strcmp(f->name, table[k].kernel)) {
                if (table[k].has < table[k].wants)
                    fail_msg("%s: %d of %d instructions are left", f->name, table[k].has, table[k].wants);
                seen++;
            }
    }
    assert_int_equal(seen, 14);
    free(facts);
}

static void a_device_without_time_has_none(void **state)
{
    struct device *dev;
    struct ceiling_list roofs;
    struct error err = {0};
    char note[256];
    assert_true(device_open("emu", &dev, &err));
    assert_false(roofs_measure(dev, NULL, NULL, &roofs, note, sizeof note, &err));
    assert_int_equal(err.kind, ERROR_USAGE);
    assert_int_equal(roofs.count, 0);
    device_close(dev);
}

static int set_up(void **state)
{
    if (!getenv("BENCH_HOME"))
        setenv("BENCH_HOME", ".", 1);
    char *path = roofs_source();
    struct error err = {0};
    struct compile_request r = {.path = path, .label = "roofs", .arch = "sm_90a"};
    if (!compile(&r, &code, &err))
        snprintf(why_not, sizeof why_not, "%.250s", err.text);
    free(path);
    return 0;
}

static int tear_down(void **state)
{
    compiled_free(&code);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bytes_are_those_counted), cmocka_unit_test(operations_are_those_counted),
                                       cmocka_unit_test(machine_code_keeps_the_work), cmocka_unit_test(a_device_without_time_has_none)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
