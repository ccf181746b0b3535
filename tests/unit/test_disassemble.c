/* report/source/disassemble: stored bytes become SASS, each instruction at its address. Without nvdisasm the report shows the operation's
 * name. Bytes that are no code stay as they are. */
#include "fixture_rows.h"
#include "report/source/disassemble.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void add(struct row *row, const char *language, int address, const char *text)
{
    struct row_code *c = row_add_code(row);
    snprintf(c->language, sizeof c->language, "%s", language);
    c->address = address;
    row_set(&c->text, text);
}

/* Of conv2d/naive for sm_90a; the branch stands at 0x230 there and leads to itself. */
static struct row *a_row(const char *arch)
{
    struct row *row = row_new();
    row_set(&row->arch, arch);
    add(row, "sass", 0x00, "0x000fe2000000080000000a00ff017b82");
    add(row, "sass", 0x230, "0x000fc0000383fffffffffffc00fc7947");
    add(row, "ptx", 7, "ld.param.u64 %rd1, [k_param_0]");
    add(row, "sass", 0x10, "0x000e2200000025000000000000007919");
    add(row, "sass", 0x30, "0x00");
    return row;
}

static char *tool(const char *script)
{
    static char path[] = "/tmp/test_disassemble.XXXXXX";
    strcpy(path, "/tmp/test_disassemble.XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, script, strlen(script)) == (ssize_t)strlen(script) && !fchmod(fd, 0755) && !close(fd));
    setenv("BENCH_NVDISASM", path, 1);
    return path;
}

/* A stand-in for nvdisasm, which says what it was given: the second instruction lies at 0x10 of the file. */
static void each_at_its_place(void **state)
{
    struct row *rows[] = {a_row("sm_90a"), a_row("sm_80"), row_new()};
    char *path = tool("#!/bin/sh\n[ \"$1 $3\" = '--binary raw' ] && [ \"$(wc -c <raw)\" = 48 ] || exit 1\n"
                      "echo ' .headerflags @\"x\"'\n"
                      "echo \"        /*0000*/                   LDC.$2 R1, c[0x0][0x28] ;\"\n"
                      "echo '        /*0010*/              @!P0 BRA 0x20 ;'\n"
                      "echo '        /*0020*/                   S2R R0, SR_CTAID.X ;'\n"
                      "echo '        /*0030*/                   NOP ;'\n");
    disassemble(rows, 3);
    assert_string_equal(rows[0]->code[0].text, "LDC.SM90a R1, c[0x0][0x28]");
    assert_string_equal(rows[0]->code[1].text, "@!P0 BRA 0x240");
    assert_string_equal(rows[0]->code[2].text, "ld.param.u64 %rd1, [k_param_0]");
    assert_string_equal(rows[0]->code[3].text, "S2R R0, SR_CTAID.X");
    assert_string_equal(rows[0]->code[4].text, "0x00");
    assert_string_equal(rows[1]->code[0].text, "LDC.SM80 R1, c[0x0][0x28]");
    assert_true(disassembled(&rows[0]->code[0]) && disassembled(&rows[0]->code[2]));
    disassemble(rows, 3); /* again: there is nothing to do */
    assert_string_equal(rows[0]->code[1].text, "@!P0 BRA 0x240");
    unlink(path);
    for (int i = 0; i < 3; i++)
        row_free(rows[i]);
}

/* One that fails, and none: the operation by its low 9 bits, with the bytes behind it; an architecture that is none of CUDA's. */
static void without_it(void **state)
{
    char *path = tool("#!/bin/sh\nexit 1\n");
    for (int i = 0; i < 3; i++) {
        struct row *row = a_row(i < 2 ? "sm_90a" : "; rm -rf /");
        disassemble(&row, 1);
        assert_string_equal(row->code[0].text, "LDC 0x000fe2000000080000000a00ff017b82");
        assert_string_equal(row->code[1].text, "BRA 0x000fc0000383fffffffffffc00fc7947");
        assert_string_equal(row->code[3].text, "S2R 0x000e2200000025000000000000007919");
        assert_false(disassembled(&row->code[0]));
        row_free(row);
        if (!i)
            unlink(path);
    }
}

/* NVIDIA's own, where ci/setup fetched it. */
static void with_the_real_one(void **state)
{
    if (access(".deps/nvidia/cu13/bin/nvdisasm", X_OK))
        skip();
    setenv("BENCH_NVDISASM", ".deps/nvidia/cu13/bin/nvdisasm", 1);
    char *here = realpath(".deps/nvidia/cu13/bin/nvdisasm", NULL);
    setenv("BENCH_NVDISASM", here, 1);
    struct row *row = a_row("sm_90a");
    disassemble(&row, 1);
    assert_string_equal(row->code[0].text, "LDC R1, c[0x0][0x28]");
    assert_string_equal(row->code[1].text, "BRA 0x230");
    assert_string_equal(row->code[3].text, "S2R R0, SR_CTAID.X");
    row_free(row);
    free(here);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_at_its_place), cmocka_unit_test(without_it),
                                       cmocka_unit_test(with_the_real_one)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
