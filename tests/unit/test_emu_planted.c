/* emu finds the bugs of tests/emu/planted.cu, one a kernel, at their line, for any number of threads. The correct kernels beside them give
 * no report and the right values. Both code generators. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "emu_run.h"

struct planted {
    const char *kernel, *kind; /* NULL: clean */
    int line;
    const char *text; /* part of the report */
    int n;
    bool ends; /* the launch does */
};
static const struct planted table[] = {
    {"warps_at_barriers", "divergent_barrier", 11, "other warps at the barrier of line 9", 0, true},
    {"never_arrives", "deadlock", 17, "waits forever", 0, false},
    {"traps", "trap", 23, "thread 6,0,0", 0, false},
    {"asserts", "assert", 28, "thread 6,0,0", 0, false},
    {"local_past_end", "out_of_bounds", 34, "local read of 4 bytes", 3, true},
    {"shared_misaligned", "misaligned", 41, "shared read of 4 bytes", 2, true},
    {"atomic_past_end", "out_of_bounds", 45, "global atomic of 4 bytes", 100, true},
    {"half_written", "race", 50, "write to shared memory", 0, true},
    {"missing_second_barrier", "race", 58, "write to shared memory", 0, true},
    {"copy_over_readers", "race", 70, "write to shared memory", 0, true},
    {"unlocked", "race", 83, "no barrier between them", 0, true},
    {"barrier_passed_over", "race", 101, "read of shared memory", 0, true},
    {"wrong_mask", "inactive_lane", 106, "is not in its mask", 0, true},
    {"too_much_const", "out_of_bounds", 110, "bytes before `out`", 0, true},
    {"given_back", "out_of_bounds", 198, "which malloc did not return", 1, true},
    {"given_back", NULL, 0, NULL, 0, true},
    {"locked", NULL, 0, NULL, 0, true},
    {"one_warp", NULL, 0, NULL, 0, true},
    {"bytes_apart", NULL, 0, NULL, 0, true},
    {"named_halves", NULL, 0, NULL, 0, true},
    {"produced", NULL, 0, NULL, 0, true},
    {"ring", NULL, 0, NULL, 0, true},
    {"barrier_passed_over", NULL, 0, NULL, 1, true},
};

static float value(int i)
{
    return (float)(i % 7);
}

static void wanted_values(const struct planted *p, const float *out)
{
    for (int i = 0; i < 256; i++) {
        float want = !strcmp(p->kernel, "locked")                ? 8
                     : !strcmp(p->kernel, "one_warp")            ? value(i / 32 * 32 + 31 - i % 32)
                     : !strcmp(p->kernel, "named_halves")        ? value(i ^ 127)
                     : !strcmp(p->kernel, "given_back")          ? value(i)
                     : !strcmp(p->kernel, "ring")                ? 6 * value(255 - i)
                     : !strcmp(p->kernel, "barrier_passed_over") ? value(255 - i)
                     : !strcmp(p->kernel, "bytes_apart")         ? value(i % 32 * 8 + i / 32)
                     : i < 128                                   ? 0
                                                                 : value(255 - i) + 2;
        if (out[i] != want)
            fail_msg("%s: out[%d] is %g, want %g", p->kernel, i, (double)out[i], (double)want);
    }
}

static void run_planted(const char *fixture, const struct planted *p, int threads)
{
    struct emu_test t;
    float in[256], out[256];
    for (int i = 0; i < 256; i++)
        in[i] = value(i);
    emu_test_file(&t, fixture, p->kernel);
    emu_set_threads(&t.dev, threads);
    emu_test_pointer(&t, emu_test_buffer(&t, "in", in, sizeof in));
    uint64_t address = emu_test_buffer(&t, "out", in, sizeof in);
    emu_test_pointer(&t, address);
    emu_test_int(&t, p->n);
    t.launch.block[0] = 256;
    t.launch.grid[0] = p->kind ? 3 : 1;
    if (emu_test_launch(&t) != p->ends)
        fail_msg("%s: %s", p->kernel, p->ends ? t.err.text : "it ended");
    if (p->kind) {
        const struct device_report *r = emu_test_report_at(&t, p->kind, p->line);
        if (!r) {
            emu_test_reports(&t);
            fail_msg("%s in %s: no report of '%s' at line %d", p->kernel, fixture, p->kind, p->line);
        }
        if (!strstr(r->text, p->text) || strcmp(file_base(r->file), "planted.cu"))
            fail_msg("%s: '%s' of line %d in %s, want '%s'", p->kernel, r->text, r->line, r->file, p->text);
    } else {
        if (emu_test_reports(&t))
            fail_msg("%s in %s: reports where there should be none", p->kernel, fixture);
        emu_test_read(&t, address, out, sizeof out);
        wanted_values(p, out);
    }
    emu_test_close(&t);
}

static void found_at_their_line(void **state)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        for (int threads = 1; threads <= 3; threads++) {
            run_planted("planted.ptx", &table[i], threads);
            run_planted("planted_100.ptx", &table[i], threads);
        }
}

/* ---- the same for any number of threads ---- */
struct sums {
    double counters;
    float atomics[4];
};
static void add_up(void *context, const struct device_counter *counter, int line, double v)
{
    double *sum = context;
    for (const char *name = counter->name; *name; name++)
        *sum = *sum * 1.000001 + v * (line + 1) + *name;
}
static const char *const float_atomics =
    PTX_HEAD ".visible .entry k(.param .u64 in, .param .u64 out) { .reg .b64 %rd<6>; .reg .b32 %r<6>; .reg .f32 %f<3>;\n"
             "ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; "
             "mad.lo.s32 %r4, %r2, %r3, %r1;\n"
             "and.b32 %r5, %r4, 1023; mul.wide.u32 %rd3, %r5, 4; add.s64 %rd4, %rd1, %rd3; ld.global.f32 %f1, [%rd4];\n"
             "and.b32 %r5, %r4, 3; mul.wide.u32 %rd3, %r5, 4; add.s64 %rd5, %rd2, %rd3; atom.global.add.f32 %f2, [%rd5], %f1; ret; }\n";

/* Sums of floats in every order that blocks could have would differ in the last bits. */
static void float_atomics_in_order(void **state)
{
    struct sums first = {0};
    for (int threads = 1; threads <= 3; threads++) {
        struct emu_test t;
        struct sums s = {0};
        float in[1024], zero[4] = {0};
        for (int i = 0; i < 1024; i++)
            in[i] = 1.0f / (float)(3 * i + 1) * (i & 1 ? 1000.0f : -1.0f);
        emu_test_text(&t, "atomics", float_atomics, "k");
        emu_set_threads(&t.dev, threads);
        emu_test_pointer(&t, emu_test_buffer(&t, "in", in, sizeof in));
        uint64_t out = emu_test_buffer(&t, "out", zero, sizeof zero);
        emu_test_pointer(&t, out);
        t.launch.block[0] = 64;
        t.launch.grid[0] = 100;
        emu_test_run(&t);
        emu_test_read(&t, out, s.atomics, sizeof s.atomics);
        emu_device.counters(&t.dev, add_up, &s.counters);
        if (threads == 1)
            first = s;
        assert_memory_equal(first.atomics, s.atomics, sizeof s.atomics);
        assert_true(first.counters == s.counters);
        emu_test_close(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(found_at_their_line), cmocka_unit_test(float_atomics_in_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
