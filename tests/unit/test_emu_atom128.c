/* atom.exch and atom.cas of 128 bits, for sm_90 and later: every value comes out once, whatever the order is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "emu_run.h"

enum { BLOCKS = 3, THREADS = 96, ALL = BLOCKS * THREADS };
typedef unsigned __int128 u128;
static const u128 first = ((u128)41 << 64) - 100; /* the carry passes into the upper half */

/* Each thread stores 16 bytes at o + 16 * its number in the grid. */
static char *kernel_text(const char *body)
{
    return text_format(PTX_HEAD
                       ".visible .entry k(.param .u64 out, .param .u64 word)\n{\n.reg .b128 q, n, old;\n.reg .b64 o, p, x, y, nx, ny, s;\n"
                       ".reg .b32 i, j, k;\n.reg .pred a, b;\n.shared .align 16 .b8 sm[16];\n"
                       "ld.param.u64 o, [out];\nld.param.u64 p, [word];\nmov.u32 i, %%tid.x;\nmov.u32 j, %%ctaid.x;\n"
                       "mad.lo.u32 j, j, %d, i;\nmul.wide.u32 x, j, 16;\nadd.u64 o, o, x;\nmov.u64 s, sm;\n%s\nret;\n}\n",
                       THREADS, body);
}

static bool run(const char *body, int blocks, u128 got[ALL], u128 *word)
{
    struct emu_test t;
    SCOPED char *ptx = kernel_text(body);
    emu_test_text(&t, "atom128", ptx, "k");
    uint64_t out = emu_test_buffer(&t, "out", got, ALL * sizeof *got), at = emu_test_buffer(&t, "word", word, sizeof *word);
    emu_test_pointer(&t, out);
    emu_test_pointer(&t, at);
    t.launch.block[0] = THREADS;
    t.launch.grid[0] = (unsigned)blocks;
    bool ran = emu_test_launch(&t) && emu_test_reports(&t) == 0;
    emu_test_read(&t, out, got, ALL * sizeof *got);
    emu_test_read(&t, at, word, sizeof *word);
    emu_test_close(&t);
    return ran;
}

static int by_value(const void *x, const void *y)
{
    u128 a, b;
    memcpy(&a, x, sizeof a);
    memcpy(&b, y, sizeof b);
    return (a > b) - (a < b);
}

#define STORE "mov.b128 {x, y}, old;\nst.global.v2.b64 [o], {x, y};"
/* A counter: cas until the value was the expected one. */
#define COUNT(space, at) \
    "mov.b64 x, 0;\nmov.b64 y, 0;\nmov.b128 q, {x, y};\nL:\nadd.cc.u64 nx, x, 1;\naddc.u64 ny, y, 0;\nmov.b128 n, {nx, ny};\n" \
    "atom" space ".cas.b128 old, [" at \
    "], q, n;\nmov.b128 {nx, ny}, old;\nsetp.ne.u64 a, nx, x;\nsetp.ne.u64 b, ny, y;\nor.pred a, a, b;\n" \
    "mov.b64 x, nx;\nmov.b64 y, ny;\nmov.b128 q, old;\n@a bra L;\n" STORE

static void expect_counted(u128 *got, int n, u128 from)
{
    qsort(got, (size_t)n, sizeof *got, by_value);
    for (int i = 0; i < n; i++)
        assert_true(got[i] == from + (u128)i);
}

static void compare_and_swap(void **state)
{
    static const char *const bodies[] = {COUNT(".relaxed.gpu.global", "p"), COUNT("", "p"), COUNT(".acq_rel.gpu", "p")};
    for (int v = 0; v < 3; v++) {
        u128 got[ALL] = {0}, word = first;
        assert_true(run(bodies[v], BLOCKS, got, &word));
        assert_true(word == first + ALL);
        expect_counted(got, ALL, first);
    }
    u128 got[ALL] = {0}, word = 0;
    assert_true(
        run("setp.eq.u32 a, i, 0;\nmov.b64 x, -7;\nmov.b64 y, 0;\n@a st.shared.v2.b64 [sm], {x, y};\nbar.sync 0;\n" COUNT(".shared", "sm"),
            1, got, &word));
    expect_counted(got, THREADS, (u128)-7 - ((u128)UINT64_MAX << 64));
}

/* Each thread puts {number, 5 * number + 1} in; what came out and what stays are the values put in and the first. */
static void exchange(void **state)
{
    static const char *const bodies[] = {"atom.global.exch.b128 old, [p], q;", "atom.release.sys.global.exch.b128 old, [p], q;"};
    for (int v = 0; v < 2; v++) {
        SCOPED char *body = text_format("cvt.u64.u32 x, j;\nmad.lo.u64 y, x, 5, 1;\nmov.b128 q, {x, y};\n%s\n" STORE, bodies[v]);
        u128 got[ALL + 1] = {0}, word = first;
        assert_true(run(body, BLOCKS, got, &word));
        got[ALL] = word;
        bool seen[ALL] = {0};
        int firsts = 0;
        for (int i = 0; i <= ALL; i++) {
            uint64_t x = (uint64_t)got[i], y = (uint64_t)(got[i] >> 64);
            if (got[i] == first) {
                firsts++;
                continue;
            }
            assert_true(x < ALL && y == 5 * x + 1 && !seen[x]);
            seen[x] = true;
        }
        assert_int_equal(firsts, 1);
    }
}

/* Half of the lanes, the result unused; only halves that both match count as equal. */
static void masks_and_halves(void **state)
{
    u128 got[ALL] = {0}, word = first;
    assert_true(run("setp.eq.u32 a, j, 5;\nmov.b64 x, 9;\nmov.b128 q, {x, x};\n@a atom.global.exch.b128 _, [p], q;", 1, got, &word));
    assert_true(word == ((u128)9 << 64 | 9));
    for (int half = 0; half < 2; half++) {
        word = (u128)9 << 64 | 9;
        SCOPED char *body = text_format("mov.b64 x, 9;\nmov.b64 y, 8;\nmov.b128 q, {%s};\nmov.b128 n, {y, y};\n"
                                        "atom.global.cas.b128 old, [p], q, n;",
                                        half ? "x, y" : "y, x");
        assert_true(run(body, 1, got, &word));
        assert_true(word == ((u128)9 << 64 | 9));
    }
    word = first;
    assert_false(run("mov.b64 x, 9;\nmov.b128 q, {x, x};\natom.global.exch.b128 old, [p+8], q;", 1, got, &word));  /* not aligned */
    assert_false(run("mov.b64 x, 9;\nmov.b128 q, {x, x};\natom.global.exch.b128 old, [p+16], q;", 1, got, &word)); /* outside */
    assert_true(word == first);
}

/* What ptxas refuses. */
static void other_operations(void **state)
{
    static const char *const refused[] = {"atom.global.add.b128 old, [p], q;", "atom.global.or.b128 old, [p], q;",
                                          "red.global.add.b128 [p], q;", "atom.global.exch.v2.b128 {old, n}, [p], {q, q};"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct error err = {0};
        SCOPED char *ptx = kernel_text(refused[i]);
        if (emu_test_takes("GH100", ptx, &err))
            fail_msg("%s runs", refused[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(compare_and_swap), cmocka_unit_test(exchange), cmocka_unit_test(masks_and_halves),
                                       cmocka_unit_test(other_operations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
