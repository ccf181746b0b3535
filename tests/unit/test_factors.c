/* What tensor cores multiply in: the same from PTX and from machine code, and what data/factors.cu says. */
#include "base/dtype.h"
#include "base/text.h"
#include "device/compile/compile.h"
#include "device/compile/cubin.h"
#include "device/device.h"
#include "device/ptx/query.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const struct {
    const char *kernel;
    unsigned factors;
    bool hopper; /* there alone */
} kernels[] = {{"none", 0, false},
               {"mma_f16", FACTOR_F16, false},
               {"mma_bf16", FACTOR_BF16, false},
               {"mma_tf32", FACTOR_TF32, false},
               {"mma_i8", FACTOR_I8, false},
               {"mma_f16_sums", FACTOR_F16 | FACTOR_SUM_F16, false},
               {"wgmma_f16", FACTOR_F16, true},
               {"wgmma_bf16", FACTOR_BF16, true},
               {"wgmma_tf32", FACTOR_TF32, true},
               {"wgmma_e4m3", FACTOR_F8, true},
               {"wgmma_e5m2", FACTOR_F8, true},
               {"wgmma_f16_sums", FACTOR_F16 | FACTOR_SUM_F16, true}};

static void both_readings_agree(void **state)
{
    static const char *const archs[] = {"sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a"};
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++) {
        bool hopper = !strcmp(archs[i], "sm_90a");
        const char *define = "WGMMA=1";
        struct error err = {0};
        struct compiled c = {0};
        struct compile_request r = {
            .path = "tests/unit/data/factors.cu", .label = "test/factors", .arch = archs[i], .defines = &define, .define_count = hopper};
        if (!compile(&r, &c, &err))
            fail_msg("%s", err.text);
        char *ptx = xstrndup(c.ptx, c.ptx_bytes);
        for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
            if (kernels[k].hopper && !hopper)
                continue;
            unsigned text = ptx_factors(ptx, kernels[k].kernel), code = cubin_factors(c.cubin, c.cubin_bytes, kernels[k].kernel);
            if (text != kernels[k].factors || code != kernels[k].factors)
                fail_msg("%s for %s: %u, the PTX says %u, the machine code %u", kernels[k].kernel, archs[i], kernels[k].factors, text,
                         code);
        }
        assert_int_equal(cubin_factors(c.cubin, c.cubin_bytes, "no_such_kernel"), 0);
        assert_int_equal(cubin_factors(c.cubin, 100, "none"), 0);
        free(ptx);
        compiled_free(&c);
    }
}

/* What an entry says, or a function that it may call; not what another entry says, or a remark. */
static void who_waits(void **state)
{
    static const char ptx[] = ".visible .entry a() { griddepcontrol.launch_dependents; // griddepcontrol.wait;\n ret; }\n"
                              ".visible .entry b() { { griddepcontrol.launch_dependents; } griddepcontrol.wait; }\n.entry bb() { ret; }\n";
    static const char calls[] = ".entry b() { griddepcontrol.wait; }\n.func f() { griddepcontrol.wait; }\n.entry a() { call f; }";
    assert_true(ptx_waits(ptx, "b"));
    assert_false(ptx_waits(ptx, "a"));
    assert_false(ptx_waits(ptx, "bb"));
    assert_true(ptx_waits(calls, "a"));
    for (size_t n = 0; n < sizeof ptx; n++) { /* every prefix ends */
        char *part = xstrndup(ptx, n);
        ptx_waits(part, "b");
        free(part);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(both_readings_agree), cmocka_unit_test(who_waits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
