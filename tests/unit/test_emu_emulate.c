/* `bench emulate` as a library: the small YAML of launch and buffers, its errors with their place, the counters, reports and listing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/file.h"
#include "measure/emulate/emulate.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "emu_run.h"

static bool run(const char *fixture, const char *yaml, struct emulate_result *out, struct error *err)
{
    char path[128];
    snprintf(path, sizeof path, "%s.ptx", fixture);
    char *ptx = emu_test_ptx(path);
    size_t bytes = strlen(ptx);
    snprintf(path, sizeof path, "tests/emu/%s.cu", fixture);
    struct node *n = node_parse_text("launch.yaml", yaml, strlen(yaml), 1, 1, err);
    if (!n)
        fail_msg("%s", err->text);
    struct emulate_request request = {.label = "x.cu", .ptx = ptx, .ptx_bytes = bytes, .source = path, .launch = n};
    bool ok = emulate(&request, out, err);
    node_free(n);
    free(ptx);
    return ok;
}

static void counts_and_values(void **state)
{
    struct emulate_result r;
    struct error err = {0};
    if (!run("checks",
             "kernel: clean\ngrid: 2\nblock: [256]\nbuffers:\n  x: {count: 512, data: index}\n  y: {count: 2, data: none, show: 2}\nargs: "
             "[x, y, 512]\n",
             &r, &err))
        fail_msg("%s", err.text);
    assert_true(r.finished);
    assert_int_equal(r.report_count, 0);
    struct text t = {0};
    emulate_text_shown(&r, &t);
    assert_string_equal(text_get(&t), "y: 32640 98176\n"); /* 0 + ... + 255, 256 + ... + 511 */
    emulate_text(&r, &t);
    assert_non_null(strstr(text_get(&t), "\nnothing found\n"));
    assert_non_null(strstr(text_get(&t), "emu.warp_instructions"));
    assert_non_null(strstr(text_get(&t), "s[threadIdx.x] += s[threadIdx.x + k];"));
    text_free(&t);
    emulate_free(&r);
}

static void finds_the_bug(void **state)
{
    struct emulate_result r;
    struct error err = {0};
    assert_true(
        run("checks", "{kernel: past_end, grid: 1, block: 256, buffers: {x: {count: 256}, y: {count: 256}}, args: [x, y, 0]}", &r, &err));
    assert_true(r.finished);
    assert_int_equal(r.report_count, 1);
    struct text t = {0};
    emulate_text_reports(&r, &t);
    assert_non_null(strstr(text_get(&t), "checks.cu:19: out_of_bounds: global read of 4 bytes"));
    text_free(&t);
    emulate_free(&r);
}

static void a_hang_is_a_result(void **state)
{
    struct emulate_result r;
    struct error err = {0};
    assert_true(run("flow_90a",
                    "{kernel: endless, grid: 1, block: 32, time limit: 0.1 s, buffers: {x: {type: i32, count: 32}}, args: [x, x, 0]}", &r,
                    &err));
    assert_false(r.finished);
    assert_non_null(strstr(r.why, "time limit"));
    emulate_free(&r);
}

/* struct {int n; int *at; short k;} by value: each field where C puts it, and as many bytes as the kernel takes. */
static void structures(void **state)
{
    static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                              ".visible .entry s(.param .align 8 .b8 p[24])\n{\n.reg .b64 %d; .reg .b32 %n; .reg .b16 %k;\n"
                              "ld.param.u64 %d, [p+8]; ld.param.u32 %n, [p]; ld.param.u16 %k, [p+16];\n"
                              "st.global.u32 [%d], %n; st.global.u16 [%d+4], %k; ret;\n}\n";
    static const struct {
        const char *field, *says; /* says: NULL: it runs */
    } table[] = {{"i16 -3", NULL},
                 {"i32 -3", NULL},
                 {"i64 -3", NULL},
                 {"i64 -3, u8 1", "take 25 bytes, the kernel's parameter has 24"},
                 {"k9 1", "must be a buffer"},
                 {"i16 70000", "u16 cannot hold 70000"}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct emulate_result r;
        struct error err = {0};
        char yaml[256];
        int bytes = snprintf(yaml, sizeof yaml,
                             "{grid: 1, block: 1, buffers: {y: {type: u16, count: 3, data: zeros, show: 3}}, args: [[i32 65538, y, %s]]}",
                             table[i].field);
        SCOPED_BY(node_leave) struct node *n = node_parse_text("launch.yaml", yaml, (size_t)bytes, 1, 1, &err);
        struct emulate_request request = {.label = "s.ptx", .ptx = ptx, .ptx_bytes = sizeof ptx - 1, .launch = n};
        bool ok = emulate(&request, &r, &err);
        if (ok != !table[i].says || (!ok && !strstr(err.text, table[i].says)))
            fail_msg("%s: %s", table[i].field, err.text);
        if (!ok)
            continue;
        SCOPED_TEXT t = {0};
        emulate_text_shown(&r, &t);
        assert_string_equal(text_get(&t), "y: 2 1 65533\n");
        emulate_free(&r);
    }
}

static void mistakes(void **state)
{
    static const char *const table[][2] = {
        {"{grid: 1, block: 32}", "select one with 'kernel'"},
        {"{kernel: clean, block: 32}", "needs 'grid' and 'block'"},
        {"{kernel: nothing, grid: 1, block: 32}", "no kernel 'nothing'"},
        {"{kernel: clean, grid: 1, block: 32, args: [1]}", "takes 3 parameters"},
        {"{kernel: clean, grid: 1, block: 2000}", "block"},
        {"{kernel: clean, grid: 1, block: 32, blok: 3}", "blok"},
        {"{kernel: clean, grid: [1, 2, 3, 4], block: 32}", "one to three"},
        {"{kernel: clean, grid: 1, block: 32, buffers: {x: {type: f33, count: 2}}, args: [x, x, 1]}", "f33"},
        {"{kernel: clean, grid: 1, block: 32, buffers: {x: {count: -1}}, args: [x, x, 1]}", "count"},
        {"{kernel: clean, grid: 1, block: 32, buffers: {x: {count: 8, data: sevens}}, args: [x, x, 1]}", "sevens"},
        {"{kernel: clean, grid: 1, block: 32, buffers: {x: {count: 8}}, args: [x, x, x]}", "not a pointer"},
        {"{kernel: clean, grid: 1, block: 32, smem: 999999, buffers: {x: {count: 8}}, args: [x, x, 1]}", "shared memory"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct emulate_result r;
        struct error err = {0};
        if (run("checks", table[i][0], &r, &err))
            fail_msg("no error for %s", table[i][0]);
        if (!strstr(err.text, table[i][1]))
            fail_msg("%s: '%s', want '%s'", table[i][0], err.text, table[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(counts_and_values), cmocka_unit_test(finds_the_bug),
                                       cmocka_unit_test(a_hang_is_a_result), cmocka_unit_test(structures), cmocka_unit_test(mistakes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
