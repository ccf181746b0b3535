/* Divergence, early exit, calls, recursion, function pointers, locks inside a warp, barriers of some warps, hangs and deadlocks: kernels of
 * tests/emu/flow.cu, compiled for five architectures, against the same functions in C. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "emu_run.h"

#define N 700
static const char *const fixtures[] = {"flow_75.ptx", "flow_80.ptx", "flow_90a.ptx", "flow_100.ptx", "flow_120.ptx"};

static int collatz(int v)
{
    int steps = 0;
    while (v != 1) {
        v = v & 1 ? 3 * v + 1 : v / 2;
        if (++steps > 1000)
            break;
    }
    return steps;
}
static int depth(int n)
{
    return n <= 0 ? 0 : 1 + depth(n / 2);
}
static int choice(int v, int i)
{
    switch (v % 9) {
    case 0: return 5;
    case 1: return i * 3;
    case 2: return i ^ 77;
    case 3: return (int)((float)i * 3 + 0.5f);
    case 4: return -i;
    case 5: return i / 7;
    case 6: return i % 11;
    default: return 1 << (i & 15);
    }
}
static int want(int kernel, int v, int i)
{
    switch (kernel) {
    case 0: return collatz(v);
    case 1: return i & 1 ? depth(v) : depth(v / 3) + 100;
    case 2: return choice(v, i);
    case 3: return v % 3 == 0 ? v + i : v % 3 == 1 ? v * i : v - i;
    default: return i;
    }
}

static void open_kernel(struct emu_test *t, const char *fixture, const char *kernel, uint64_t *out)
{
    static int in[N], zero[N];
    for (int i = 0; i < N; i++)
        in[i] = 1 + (i * 7919) % 5000;
    emu_test_file(t, fixture, kernel);
    emu_test_pointer(t, emu_test_buffer(t, "in", in, sizeof in));
    emu_test_pointer(t, *out = emu_test_buffer(t, "out", zero, sizeof zero));
    emu_test_int(t, N);
    t->launch.grid[0] = 6;
    t->launch.block[0] = 128;
}

static void same_as_c(void **state)
{
    static const char *const kernels[] = {"collatz", "recursive", "choice", "pointers", "locked"};
    for (size_t f = 0; f < sizeof fixtures / sizeof *fixtures; f++)
        for (int k = 0; k < 5; k++) {
            struct emu_test t;
            uint64_t out;
            int got[N];
            open_kernel(&t, fixtures[f], kernels[k], &out);
            emu_test_run(&t);
            emu_test_read(&t, out, got, sizeof got);
            for (int i = 0; i < N; i++) {
                int w = want(k, 1 + (i * 7919) % 5000, i);
                if (got[i] != w)
                    fail_msg("%s %s: [%d] is %d, want %d", fixtures[f], kernels[k], i, got[i], w);
            }
            assert_int_equal(emu_test_reports(&t), 0);
            if (k == 4) { /* the sum under the lock */
                uint64_t at;
                size_t bytes;
                int sum = 0, expected = 0;
                assert_true(emu_device.symbol(&t.dev, t.module, "guarded_sum", &at, &bytes, &t.err));
                assert_int_equal(bytes, 4);
                emu_test_read(&t, at, &sum, 4);
                for (int i = 0; i < N; i++)
                    expected += 1 + (i * 7919) % 5000;
                assert_int_equal(sum, expected);
            }
            emu_test_close(&t);
        }
}

/* The same results and counters for any number of threads of the host. */
static void threads_change_nothing(void **state)
{
    double first[3] = {0};
    static const char *const names[] = {"emu.warp_instructions", "emu.divergent_branches", "emu.thread_instructions"};
    for (int threads = 1; threads <= 5; threads++) {
        struct emu_test t;
        uint64_t out;
        open_kernel(&t, "flow_90a.ptx", "collatz", &out);
        emu_set_threads(&t.dev, threads);
        emu_test_run(&t);
        for (int i = 0; i < 3; i++) {
            double v = emu_test_counter(&t, names[i], 0);
            if (threads == 1)
                first[i] = v;
            assert_true(v == first[i] && v > 0);
        }
        emu_test_close(&t);
    }
}

/* An endless wait and an endless computation end with the time limit, and say where. */
static void hangs_are_reported(void **state)
{
    static const char *const kernels[] = {"forever", "endless"};
    for (int k = 0; k < 2; k++) {
        struct emu_test t;
        uint64_t out;
        open_kernel(&t, "flow_90a.ptx", kernels[k], &out);
        t.launch.time_limit_s = 0.2;
        assert_false(emu_test_launch(&t));
        assert_int_equal(t.err.kind, ERROR_WRONG);
        const struct device_report *r = emu_test_report(&t, "time_limit");
        assert_non_null(r);
        assert_in_range(r->line, k ? 82 : 74, k ? 85 : 77);
        emu_test_close(&t);
    }
}

static void deadlock_is_reported(void **state)
{
    struct emu_test t;
    uint64_t out;
    open_kernel(&t, "flow_90a.ptx", "half_barrier", &out);
    t.launch.grid[0] = 1;
    assert_false(emu_test_launch(&t)); /* two warps arrive where three are awaited */
    assert_non_null(emu_test_report(&t, "deadlock"));
    emu_test_close(&t);
}

static void traps_and_asserts(void **state)
{
    struct emu_test t;
    uint64_t out;
    int in[128];
    for (int i = 0; i < 128; i++)
        in[i] = i == 77 ? -1 : 3;
    for (int k = 0; k < 2; k++) {
        open_kernel(&t, "flow_100.ptx", k ? "traps" : "asserts", &out);
        assert_true(emu_device.write(&t.dev, ((uint64_t *)t.params)[0], in, sizeof in, &t.err));
        t.launch.grid[0] = 1;
        assert_false(emu_test_launch(&t));
        const struct device_report *r = emu_test_report(&t, k ? "trap" : "assert");
        assert_non_null(r);
        assert_int_equal(r->line, k ? 100 : 94);
        if (!k) {
            assert_non_null(strstr(r->text, "in[threadIdx.x] >= 0"));
            assert_non_null(strstr(r->text, "thread 77,0,0"));
        }
        emu_test_close(&t);
    }
}

/* A loop whose body falls out of the middle, entered from two sides: irreducible. Each lane's path is counted by hand. */
static void irreducible(void **state)
{
    static const char ptx[] = PTX_HEAD ".visible .entry k(.param .u64 out)\n{\n.reg .b32 %r<8>;\n.reg .b64 %x<4>;\n.reg .pred %p<4>;\n"
                                       "ld.param.u64 %x1, [out];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %x2, %r1, 4;\nadd.s64 %x1, %x1, "
                                       "%x2;\nmov.u32 %r2, 0;\nmov.u32 %r3, 0;\n"
                                       "and.b32 %r4, %r1, 1;\nsetp.eq.s32 %p1, %r4, 1;\n@%p1 bra B;\n"
                                       "A: add.s32 %r2, %r2, 1;\nadd.s32 %r3, %r3, 1;\nsetp.ge.s32 %p2, %r3, %r1;\n@%p2 bra OUT;\n"
                                       "B: add.s32 %r2, %r2, 100;\nadd.s32 %r3, %r3, 1;\nsetp.lt.s32 %p3, %r3, %r1;\n@%p3 bra A;\n"
                                       "OUT: st.global.u32 [%x1], %r2;\nret;\n}\n";
    struct emu_test t;
    int got[32];
    emu_test_text(&t, "irreducible", ptx, "k");
    uint64_t out = emu_test_buffer(&t, "out", NULL, sizeof got);
    emu_test_pointer(&t, out);
    emu_test_run(&t);
    emu_test_read(&t, out, got, sizeof got);
    for (int lane = 0; lane < 32; lane++) {
        int r2 = 0, r3 = 0;
        bool b = lane & 1;
        for (;;) {
            if (!b) {
                r2++;
                if (++r3 >= lane)
                    break;
            }
            b = false;
            r2 += 100;
            if (!(++r3 < lane))
                break;
        }
        assert_int_equal(got[lane], r2);
    }
    emu_test_close(&t);
}

/* Operations call each other in tail position: a block of half a million of them must not need a deep stack. */
static void a_long_block(void **state)
{
    struct text text = {0};
    struct emu_test t;
    int32_t out[32];
    text_add(&text, PTX_HEAD
             ".visible .entry k(.param .u64 out) { .reg .b64 %rd<4>; .reg .b32 %r<4>; .reg .f32 %f<2>; .reg .pred %p<2>;\n"
             "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.x; mov.f32 %f1, 0f00000000; setp.lt.u32 %p1, %r1, 5;\n");
    for (int i = 0; i < 60000; i++)
        text_add(&text, "add.s32 %r2, %r2, 1;\n@%p1 add.s32 %r2, %r2, 1;\nfma.rn.f32 %f1, %f1, %f1, %f1;\nsetp.lt.u32 %p1, %r1, "
                        "5;\nselp.b32 %r3, %r1, %r2, %p1;\ncvt.rn.f32.s32 %f1, %r1;\n"
                        "add.cc.u32 %r3, %r3, %r3;\nshl.b32 %r3, %r3, 1;\n");
    text_add(&text, "mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r2; ret; }\n");
    emu_test_text(&t, "long", text_get(&text), "k");
    uint64_t address = emu_test_buffer(&t, "out", NULL, sizeof out);
    emu_test_pointer(&t, address);
    emu_test_run(&t);
    emu_test_read(&t, address, out, sizeof out);
    for (int i = 0; i < 32; i++)
        assert_int_equal(out[i], i + 60000 + (i < 5 ? 60000 : 0));
    assert_int_equal((int)emu_test_counter(&t, "emu.warp_instructions", 0), 8 * 60000 + 9);
    emu_test_close(&t);
    text_free(&text);
}

/* Shuffles of all kinds, widths and clamps, as the manual's pseudo-code says, and ballots; also where the warp's mask is a register's. */
static void shuffles(void **state)
{
    static const char *const kinds[] = {"up", "down", "bfly", "idx"};
    uint32_t a[32], b[32], out[3 * 32] = {0}, random = 1;
    for (int kind = 0; kind < 4; kind++)
        for (int turn = 0; turn < 40; turn++) {
            const uint32_t width = 1u << turn % 6, c = turn < 6 ? (32 - width) << 8 | (kind ? 31 : 0) : (random >> 3) & 0x1f1f, full = ~0u;
            struct emu_test t;
            SCOPED_TEXT ptx = {0};
            for (int i = 0; i < 32; i++) {
                a[i] = random = random * 1664525 + 1013904223;
                b[i] = turn % 2 ? random >> 16 & 31 : (uint32_t)turn / 2;
            }
            text_addf(&ptx,
                      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 po, "
                      ".param .u32 pc, .param .u32 pm)\n{\n.reg .pred %%p<3>;\n.reg .b32 %%r<10>;\n.reg .b64 %%rd<6>;\n"
                      "ld.param.u64 %%rd1, [pa];\nld.param.u64 %%rd2, [pb];\nld.param.u64 %%rd3, [po];\nld.param.u32 %%r1, [pc];\n"
                      "ld.param.u32 %%r2, [pm];\nmov.u32 %%r0, %%tid.x;\nmul.wide.u32 %%rd4, %%r0, 4;\nadd.s64 %%rd1, %%rd1, %%rd4;\n"
                      "add.s64 %%rd2, %%rd2, %%rd4;\nadd.s64 %%rd3, %%rd3, %%rd4;\nld.global.u32 %%r3, [%%rd1];\n"
                      "ld.global.u32 %%r4, [%%rd2];\nshfl.sync.%s.b32 %%r5|%%p1, %%r3, %%r4, %%r1, %%r2;\nselp.u32 %%r6, 1, 0, %%p1;\n"
                      "vote.sync.ballot.b32 %%r7, %%p1, %%r2;\nst.global.u32 [%%rd3], %%r5;\nst.global.u32 [%%rd3+128], %%r6;\n"
                      "st.global.u32 [%%rd3+256], %%r7;\nret;\n}\n",
                      kinds[kind]);
            emu_test_text(&t, "shuffle", text_get(&ptx), "k");
            emu_test_pointer(&t, emu_test_buffer(&t, "a", a, sizeof a));
            emu_test_pointer(&t, emu_test_buffer(&t, "b", b, sizeof b));
            const uint64_t to = emu_test_buffer(&t, "out", out, sizeof out);
            emu_test_pointer(&t, to);
            emu_test_int(&t, (int)c);
            emu_test_int(&t, (int)full);
            emu_test_run(&t);
            emu_test_read(&t, to, out, sizeof out);
            assert_int_equal(emu_test_reports(&t), 0);
            uint32_t ballot = 0;
            for (int lane = 0; lane < 32; lane++) {
                const int value = (int)b[lane], mask = (int)(c >> 8), clamp = (int)(c & 31), most = (lane & mask) | (clamp & ~mask);
                int j = lane - value;
                bool p = j >= most;
                if (kind > 0) {
                    j = kind == 1 ? lane + value : kind == 2 ? lane ^ value : (lane & mask) | (value & ~mask);
                    p = j <= most;
                }
                assert_int_equal(out[lane], a[p ? j : lane]);
                assert_int_equal(out[32 + lane], p);
                ballot |= (uint32_t)p << lane;
            }
            for (int lane = 0; lane < 32; lane++)
                assert_int_equal(out[64 + lane], ballot);
            emu_test_close(&t);
        }
}

/* What each block of a launch did, whichever thread of the host ran it: block n goes n times through a loop of three instructions. */
static void work_of_each_block(void **state)
{
    static const char text[] = PTX_HEAD
        ".visible .entry k() { .reg .b32 %r<3>; .reg .pred %p; mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ctaid.y; mad.lo.u32 %r0, %r1, 5, %r0;\n"
        "LOOP: setp.eq.u32 %p, %r0, 0; @%p bra END; sub.u32 %r0, %r0, 1; bra LOOP; END: ret; }";
    struct emu_test t;
    const uint32_t *work;
    emu_test_text(&t, "work", text, "k");
    t.launch.grid[0] = 5;
    t.launch.grid[1] = 200;
    t.launch.block[0] = 64;
    for (int seed = 0; seed < 2; seed++) {
        emu_set_seed(&t.dev, seed);
        emu_test_run(&t);
        assert_int_equal(emu_device.group_work(&t.dev, &work), 1000);
        for (uint32_t i = 0; i < 1000; i++)
            if (work[i] != 2 * (6 + 4 * i))
                fail_msg("block %u: %u instructions", i, work[i]);
    }
    emu_test_close(&t);
    emu_test_text(
        &t, "queue", /* who is first takes work from the others */
        PTX_HEAD
        ".visible .entry k(.param .u64 to) { .reg .b32 %r<2>; .reg .b64 %d; ld.param.u64 %d, [to]; atom.global.add.u32 %r0, [%d], 1;\n"
        "add.u32 %r1, %r0, 1; st.global.u32 [%d+4], %r1; ret; }",
        "k");
    emu_test_pointer(&t, emu_test_buffer(&t, "to", (uint32_t[2]){0}, 8));
    t.launch.grid[0] = 5;
    emu_test_run(&t);
    assert_int_equal(emu_device.group_work(&t.dev, &work), 0);
    emu_test_close(&t);
    emu_test_text(&t, "work", text, "k");
    t.launch.grid[0] = 5;
    t.launch.cooperative = true; /* its blocks run in turns */
    t.launch.block[0] = 64;
    emu_test_run(&t);
    assert_int_equal(emu_device.group_work(&t.dev, &work), 5);
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(work[i], 2 * (6 + 4 * i));
    emu_test_close(&t);
}

/* As ptxas 13.0 accepts it: at most 48 KB, with `a` the maximum of a block. Static memory of callees counts. The end is aligned as dynamic
 * shared memory is, which is not counted itself. */
static void static_shared_memory(void **state)
{
    static const struct {
        const char *chip, *target;
        int bytes, called;
        bool dynamic, taken;
    } table[] = {{"GA100", "sm_80", 49152, 0, false, true},     {"GA100", "sm_80", 49153, 0, false, false},
                 {"GA100", "sm_80", 50000, 0, false, false},    {"GA100", "sm_80", 40000, 9152, false, true},
                 {"GA100", "sm_80", 40000, 9153, false, false}, {"GA100", "sm_80", 49150, 0, true, true},
                 {"GA100", "sm_80", 49153, 0, true, false},     {"GH100", "sm_90a", 50000, 0, false, true},
                 {"GH100", "sm_90a", 232448, 0, false, true},   {"GH100", "sm_90a", 232449, 0, false, false}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct emu_test t;
        SCOPED char *ptx = text_format(
            ".version 8.0\n.target %s\n.address_size 64\n.extern .shared .align 1024 .b8 e[];\n"
            ".func f() { .reg .b32 %%r; .shared .align 4 .b8 t[%d]; mov.u32 %%r, t; st.shared.u32 [%%r], %%r; ret; }\n"
            ".visible .entry k() { .reg .b32 %%r<2>; .shared .align 4 .b8 s[%d]; mov.u32 %%r0, %%tid.x; mov.u32 %%r1, s; %s%s ret; }",
            table[i].target, table[i].called ? table[i].called : 4, table[i].bytes, table[i].called ? "call f;" : "",
            table[i].dynamic ? "mov.u32 %r1, e;" : "");
        emu_test_chip(&t, table[i].chip, "static", ptx, "k");
        t.launch.block[0] = 1;
        t.launch.smem = table[i].dynamic ? 60000 : 0;
        bool taken = emu_test_launch(&t);
        if (taken != table[i].taken)
            fail_msg("%s, %d + %d bytes: %s", table[i].target, table[i].bytes, table[i].called, taken ? "emu takes it" : t.err.text);
        if (table[i].bytes == 50000 && !taken)
            assert_string_equal(t.err.text,
                                "static: 'k' has 50000 bytes of static shared memory; for sm_80 the compiler takes at most 49152: "
                                "use dynamic shared memory");
        emu_test_close(&t);
    }
}

/* Registers that only even blocks write: odd blocks, which run behind them on the same warps, read 0 in every run. Sixteen of each kind, so
 * that they lie apart from each other in the frame. */
static void registers_that_are_not_written(void **state)
{
    enum { BLOCKS = 64, EACH = 16 };
    SCOPED_TEXT ptx = {0};
    text_add(&ptx, ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 to) {\n"
                   ".reg .pred %p<3>; .reg .b32 %r<90>; .reg .b64 %d<90>;\n"
                   "ld.param.u64 %d1, [to]; mov.u32 %r1, %ctaid.x; and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 0;\n"
                   "mov.u32 %r3, %tid.x; mad.lo.u32 %r4, %r1, 32, %r3; mul.wide.u32 %d2, %r4, 8; add.u64 %d3, %d1, %d2; mov.u64 %d4, 0;\n");
    for (int i = 0; i < EACH; i++) /* the others between them die at once */
        text_addf(&ptx, "@%%p1 mov.u32 %%r%d, %d; @%%p1 mov.u64 %%d%d, %d; mov.u32 %%r%d, 9; add.u64 %%d4, %%d4, 0;\n", 10 + i, 3 + i,
                  10 + i, 1000 + i, 40 + i);
    text_add(&ptx, "@%p1 setp.eq.u32 %p2, %r2, 0; @%p2 add.u64 %d4, %d4, 50000;\n");
    for (int i = 0; i < EACH; i++)
        text_addf(&ptx, "cvt.u64.u32 %%d%d, %%r%d; add.u64 %%d4, %%d4, %%d%d; add.u64 %%d4, %%d4, %%d%d;\n", 40 + i, 10 + i, 40 + i,
                  10 + i);
    text_add(&ptx, "st.global.u64 [%d3], %d4; ret; }\n");
    const uint64_t want = 50000 + EACH * 1003 + EACH * (EACH - 1);
    uint64_t got[BLOCKS * 32];
    struct emu_test t;
    emu_test_text(&t, "unwritten", text_get(&ptx), "k");
    uint64_t to = emu_test_buffer(&t, "to", NULL, sizeof got);
    emu_test_pointer(&t, to);
    t.launch.grid[0] = BLOCKS;
    emu_test_run(&t);
    emu_test_read(&t, to, got, sizeof got);
    for (int i = 0; i < BLOCKS * 32; i++)
        assert_int_equal(got[i], i / 32 % 2 ? 0 : want);
    emu_test_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_long_block),        cmocka_unit_test(shuffles),
                                       cmocka_unit_test(same_as_c),           cmocka_unit_test(threads_change_nothing),
                                       cmocka_unit_test(hangs_are_reported),  cmocka_unit_test(deadlock_is_reported),
                                       cmocka_unit_test(traps_and_asserts),   cmocka_unit_test(irreducible),
                                       cmocka_unit_test(work_of_each_block),  cmocka_unit_test(registers_that_are_not_written),
                                       cmocka_unit_test(static_shared_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
