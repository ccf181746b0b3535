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

/* Lanes 0 to n - 1 store a byte each at `from`, then all lanes read WIDTH bytes each at `at`. Exactly the lanes that read only bytes that
 * were never stored are reported. */
#define STORES_THEN_READS \
    ".version 9.0\n.target sm_90a\n.address_size 64\n" \
    ".visible .entry k(.param .u64 p, .param .u32 n, .param .u32 from, .param .u32 at, .param .u32 step)\n{\n" \
    ".reg .b64 rd1, rd2, rd3, rd4, rd5; .reg .b32 r1, r2, r3, r4, r5, r6, r7; .reg .pred p1;\n" \
    "ld.param.u64 rd1, [p]; ld.param.u32 r1, [n]; ld.param.u32 r2, [from]; ld.param.u32 r3, [at]; ld.param.u32 r6, [step];\n" \
    "cvta.to.global.u64 rd1, rd1; mov.u32 r4, %%tid.x; setp.lt.u32 p1, r4, r1;\n" \
    "mad.lo.u32 r5, r4, r6, r2; cvt.u64.u32 rd2, r5; add.s64 rd3, rd1, rd2; @p1 st.global.u8 [rd3], r4;\n" \
    "mad.lo.u32 r5, r4, %d, r3; cvt.u64.u32 rd4, r5; add.s64 rd5, rd1, rd4; ld.global.u%d r7, [rd5];\nret;\n}\n"

static void stored_bytes_are_known(void **state)
{
    SCOPED char *bytes = text_format(STORES_THEN_READS, 1, 8), *words = text_format(STORES_THEN_READS, 4, 32);
    unsigned random = 7;
    for (int i = 0; i < 400; i++) {
        struct emu_test t;
        bool stored[256] = {false};
        int width = i % 2 ? 4 : 1, draw[4];
        for (int d = 0; d < 4; d++)
            draw[d] = (int)((random = random * 1103515245 + 12345) >> 16 & 0x7fff);
        int n = draw[0] % 33, from = draw[1] % 64, at = draw[2] % 64 / width * width, step = 1 + draw[3] % 2, lonely = 0;
        for (int lane = 0; lane < n; lane++)
            stored[from + lane * step] = true;
        for (int lane = 0; lane < 32; lane++) {
            bool any = false;
            for (int b = 0; b < width; b++)
                any |= stored[at + lane * width + b];
            lonely += !any;
        }
        emu_test_text(&t, "stores", i % 2 ? words : bytes, "k");
        emu_test_pointer(&t, emu_test_buffer(&t, "p", NULL, sizeof stored));
        emu_test_int(&t, n);
        emu_test_int(&t, from);
        emu_test_int(&t, at);
        emu_test_int(&t, step);
        emu_test_run(&t);
        const struct device_report *r = emu_test_report(&t, "uninitialised");
        if ((r ? r->count : 0) != (uint64_t)lonely)
            fail_msg("%d lanes store at %d, step %d; of reads of %d bytes at %d %d should be reported, not %d", n, from, step, width, at,
                     lonely, r ? (int)r->count : 0);
        emu_test_close(&t);
    }
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

/* A module that is loaded again is as it was at first, decoded once for all devices; one with a variable in memory has its first value. */
static void a_module_is_loaded_again(void **state)
{
    static const char counts[] = ".version 8.0\n.target sm_90\n.address_size 64\n%s"
                                 ".visible .entry k(.param .u64 out) {\n.reg .b64 %%a;\n.reg .b32 %%r;\n"
                                 "ld.param.u64 %%a, [out];\n%s\nadd.u32 %%r, %%r, 1;\n%s\nst.global.u32 [%%a], %%r;\nret;\n}\n";
    static const char *const parts[][3] = {{"", "mov.u32 %r, 41;", ""},
                                           {".global .u32 seen = 41;\n", "ld.global.u32 %r, [seen];", "st.global.u32 [seen], %r;"},
                                           {".global .u32 SIZE = 7;\n", "mov.u32 %r, 41;", ""}}; /* which no code reads */
    for (int i = 0; i < 3; i++) {
        SCOPED char *ptx = text_format(counts, parts[i][0], parts[i][1], parts[i][2]);
        struct device_function *first = NULL;
        for (int turn = 0; turn < 4; turn++) { /* the last one under another name */
            struct emu_test t;
            uint32_t value = 0;
            emu_test_chip(&t, turn == 1 ? "sm_100" : "GH100", turn == 3 ? "other" : "mine", ptx, "k");
            if (turn == 2) { /* room that moves the variable */
                emu_device.unload(&t.dev, t.module);
                emu_test_buffer(&t, "room", NULL, 4096);
                assert_true(emu_device.load(&t.dev, &(struct device_image){.label = "mine", .ptx = ptx}, &t.module, &t.err));
                assert_true(emu_device.function(&t.dev, t.module, "k", &t.function, &t.err));
            }
            uint64_t out = emu_test_buffer(&t, "out", NULL, 4);
            emu_test_pointer(&t, out);
            emu_test_run(&t);
            emu_test_read(&t, out, &value, 4);
            assert_int_equal(value, 42);
            first = turn ? first : t.function;
            assert_true(i == 1 || t.function == first);
            assert_false(emu_device.function(&t.dev, t.module, "none", &t.function, &t.err));
            assert_non_null(strstr(t.err.text, turn == 3 ? "other: there is no" : "mine: there is no"));
            emu_test_close(&t);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(planted_bugs),
                                       cmocka_unit_test(other_dialect),
                                       cmocka_unit_test(without_checks),
                                       cmocka_unit_test(writes_stay_inside),
                                       cmocka_unit_test(stored_bytes_are_known),
                                       cmocka_unit_test(reports_are_deterministic),
                                       cmocka_unit_test(a_module_is_loaded_again)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
