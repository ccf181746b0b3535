/* Planted bugs of each safety class are found at their line of tests/emu/checks.cu, with thread and buffer; clean kernels give no report.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "emu_run.h"

struct planted {
    const char *kernel, *kind; /* NULL: clean */
    int line;
    const char *text; /* part of the report; NULL: any */
    int n;
    uint32_t smem;
};
static const struct planted table[] = {
    {"clean", NULL, 0, NULL, 256, 0},
    {"past_end", "out_of_bounds", 19, "offset 1024 of `in`, which has 1024 (block 0,0,0 thread 255,0,0)", 0, 0},
    {"before_start", "out_of_bounds", 24, "4 bytes before `out` (block 0,0,0 thread 0,0,0)", 0, 0},
    {"shared_past_end", "out_of_bounds", 29, "shared write of 4 bytes", 0, 1024},
    {"misaligned", "misaligned", 35, "thread 1,0,0", 0, 0},
    {"shared_unwritten", "uninitialised", 44, "thread 200,0,0", 0, 0},
    {"local_unwritten", "uninitialised", 51, "local read", 3, 0},
    {"global_unwritten", "uninitialised", 55, "`out`", 0, 0},
    {"race_read", "race", 61, "no barrier between them", 0, 0},
    {"race_write", "race", 66, "write to shared memory", 0, 0},
    {"race_after_read", "race", 76, "write to shared memory", 0, 0},
    {"lanes_at_barrier", "divergent_barrier", 83, "lanes 0x000fffff of warp 0", 0, 0},
    {"shuffle_inactive", "inactive_lane", 90, "reads lane 16", 0, 0},
    {"no_wait", "cp_async_wait", 99, "cp.async", 0, 0},
    {"waited", NULL, 0, NULL, 0, 0},
    {"early_exit", NULL, 0, NULL, 200, 0},
    {"null_pointer", "out_of_bounds", 127, "a null pointer", 16, 0},
    {"histogram", NULL, 0, NULL, 256, 0},
};

static void run_planted(const char *fixture, const struct planted *p, bool checks)
{
    struct emu_test t;
    static float in[1024];
    for (int i = 0; i < 1024; i++)
        in[i] = (float)(i % 7);
    emu_test_file(&t, fixture, p->kernel);
    emu_set_checks(&t.dev, checks);
    bool large = !strcmp(p->kernel, "waited") || !strcmp(p->kernel, "no_wait");
    emu_test_pointer(&t, emu_test_buffer(&t, "in", in, large ? sizeof in : 1024));
    emu_test_pointer(&t, emu_test_buffer(&t, "out", NULL, 1024));
    emu_test_int(&t, p->n);
    t.launch.block[0] = 256;
    t.launch.smem = p->smem;
    emu_test_run(&t);
    bool bounds = p->kind && (!strcmp(p->kind, "out_of_bounds") || !strcmp(p->kind, "misaligned"));
    if (!p->kind || (!checks && !bounds)) {
        if (emu_test_reports(&t))
            fail_msg("%s: reports where there should be none", p->kernel);
    } else {
        const struct device_report *r = emu_test_report_at(&t, p->kind, p->line);
        if (!r) {
            emu_test_reports(&t);
            fail_msg("%s: no report of '%s' at line %d", p->kernel, p->kind, p->line);
        }
        if (!strstr(r->text, p->text) || strcmp(file_base(r->file), "checks.cu"))
            fail_msg("%s: '%s' of line %d in %s, want '%s' of line %d", p->kernel, r->text, r->line, r->file, p->text, p->line);
    }
    emu_test_close(&t);
}

static void planted_bugs(void **state)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        run_planted("checks.ptx", &table[i], true);
}
static void other_dialect(void **state)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        run_planted("checks_100.ptx", &table[i], true);
}
/* --no-check leaves the bounds. */
static void without_checks(void **state)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        run_planted("checks.ptx", &table[i], false);
}

/* Out of bounds changes nothing outside: the neighbours keep their bytes. */
static void writes_stay_inside(void **state)
{
    struct emu_test t;
    unsigned char before[4096], after[4096];
    memset(before, 0x5a, sizeof before);
    emu_test_file(&t, "checks.ptx", "past_end");
    uint64_t in = emu_test_buffer(&t, "in", before, 1024), neighbour = emu_test_buffer(&t, "neighbour", before, sizeof before);
    uint64_t out = emu_test_buffer(&t, "out", before, 512), last = emu_test_buffer(&t, "last", before, sizeof before);
    emu_test_pointer(&t, in);
    emu_test_pointer(&t, out);
    emu_test_int(&t, 0);
    t.launch.block[0] = 256;
    t.launch.grid[0] = 2;
    emu_test_run(&t);
    emu_test_read(&t, neighbour, after, sizeof after);
    assert_memory_equal(before, after, sizeof before);
    emu_test_read(&t, last, after, sizeof after);
    assert_memory_equal(before, after, sizeof before);
    assert_non_null(emu_test_report(&t, "out_of_bounds"));
    emu_test_close(&t);
}

/* What does not depend on the number of threads: the reports, word by word. */
static void reports_are_deterministic(void **state)
{
    char first[512] = "";
    for (int threads = 1; threads <= 4; threads++) {
        struct emu_test t;
        static float in[256];
        emu_test_file(&t, "checks.ptx", "past_end");
        emu_set_threads(&t.dev, threads);
        emu_test_pointer(&t, emu_test_buffer(&t, "in", in, sizeof in));
        emu_test_pointer(&t, emu_test_buffer(&t, "out", NULL, 64 * 1024));
        emu_test_int(&t, 0);
        t.launch.block[0] = 256;
        t.launch.grid[0] = 40;
        emu_test_run(&t);
        const struct device_report *r = emu_test_report(&t, "out_of_bounds");
        assert_non_null(r);
        assert_int_equal(r->count, 39 * 256 + 1);
        if (threads == 1)
            snprintf(first, sizeof first, "%s", r->text);
        assert_string_equal(r->text, first);
        emu_test_close(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(planted_bugs), cmocka_unit_test(other_dialect), cmocka_unit_test(without_checks),
                                       cmocka_unit_test(writes_stay_inside), cmocka_unit_test(reports_are_deterministic)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
