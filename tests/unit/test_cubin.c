/* cubin.c against cuobjdump -res-usage, nvdisasm (both 13.5) and ptxas -v of three committed cubins, and against hostile bytes. */
#include "base/file.h"
#include "base/text.h"
#include "device/compile/cubin.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static char *data_file(const char *name, size_t *bytes)
{
    struct error err = {0};
    char *dir = file_dir(__FILE__), *folder = file_join(dir, "data"), *path = file_join(folder, name);
    char *data = file_read(path, 1 << 20, bytes, &err);
    if (!data)
        fail_msg("%s (run from the root of the repository)", err.text);
    free(path);
    free(folder);
    free(dir);
    return data;
}

/* Read off the tools' output by hand. code: bytes; total: instructions without NOP. */
struct expected {
    const char *arch, *name;
    int registers, stores, loads, spills, stack, smem, params, max_threads, barriers, code;
    int total, ffma, mma, ldg, stg, lds, sts, ldl, stl, ldsm;
};
static const struct expected table[] = {
    {"80", "empty", 4, 0, 0, 0, 0, 0, 0, -1, 0, 256, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {"80", "matrix", 27, 0, 0, 0, 0, 512, 28, -1, 1, 1536, 88, 0, 2, 14, 4, 0, 1, 0, 0, 1},
    {"80", "spills", 32, 676, 668, 332, 296, 272, 20, 64, 1, 12032, 742, 200, 0, 40, 40, 5, 1, 165, 167, 0},
    {"90", "empty", 4, 0, 0, 0, 0, 0, 0, -1, 0, 256, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {"90", "matrix", 27, 0, 0, 0, 0, 512, 28, -1, 1, 1664, 95, 0, 2, 14, 4, 0, 1, 0, 0, 1},
    {"90", "spills", 32, 652, 652, 318, 280, 272, 20, 64, 1, 11904, 733, 200, 0, 40, 40, 5, 1, 159, 159, 0},
    {"100", "empty", 4, 0, 0, 0, 0, 0, 0, -1, 0, 256, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {"100", "matrix", 27, 0, 0, 0, 0, 512, 28, -1, 1, 1664, 92, 0, 2, 14, 4, 0, 1, 0, 0, 1},
    {"100", "spills", 32, 816, 816, 408, 208, 272, 20, 64, 1, 14592, 902, 280, 0, 40, 40, 4, 1, 204, 204, 0},
};

static int read_fixture(const char *arch, struct kernel_facts **facts, bool with_log)
{
    struct error err = {0};
    size_t bytes;
    char *name = text_format("facts_sm_%s.cubin", arch), *log_name = text_format("facts_sm_%s.log", arch);
    char *cubin = data_file(name, &bytes), *log = data_file(log_name, NULL);
    int count = cubin_read(cubin, bytes, facts, &err);
    if (count < 0 || (with_log && !cubin_add_log(log, *facts, count, &err)))
        fail_msg("%s", err.text);
    free(name);
    free(log_name);
    free(cubin);
    free(log);
    return count;
}

static void facts_equal_the_tools(void **state)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const struct expected *e = &table[i];
        struct kernel_facts *facts, *f = NULL;
        int count = read_fixture(e->arch, &facts, true);
        assert_int_equal(count, 3);
        for (int k = 0; k < count; k++)
            if (strcmp(facts[k].name, e->name) == 0)
                f = &facts[k];
        assert_non_null(f);
        int got[] = {f->registers,   f->spill_store_bytes, f->spill_load_bytes, f->spill_instructions, f->stack_bytes,
                     f->static_smem, f->param_bytes,       f->max_threads,      f->barriers,           f->code_bytes,
                     f->sass_total,  f->sass_ffma,         f->sass_mma,         f->sass_ldg,           f->sass_stg,
                     f->sass_lds,    f->sass_sts,          f->sass_ldl,         f->sass_stl,           f->sass_ldsm};
        for (size_t k = 0; k < sizeof got / sizeof *got; k++)
            if (got[k] != (&e->registers)[k])
                fail_msg("sm_%s %s, column %zu: %d, want %d", e->arch, e->name, k, got[k], (&e->registers)[k]);
        assert_int_equal(f->constant_bytes, 144);
        assert_int_equal(f->sass_bar, strcmp(e->name, "empty") != 0);
        assert_int_equal(strlen(f->sass_hash), 64);
        free(facts);
    }
}

static void spill_bytes_are_absent_without_a_log(void **state)
{
    struct kernel_facts *facts;
    struct error err = {0};
    int count = read_fixture("90", &facts, false);
    for (int i = 0; i < count; i++) {
        assert_int_equal(facts[i].spill_store_bytes, -1);
        assert_int_equal(facts[i].spill_load_bytes, -1);
    }
    assert_true(cubin_add_log("", facts, count, &err));
    assert_int_equal(facts[2].spill_store_bytes, -1);
    free(facts);
}

static void nvrtc_and_nvcc_lines_are_read_alike(void **state)
{
    struct kernel_facts *facts;
    struct error err = {0};
    int count = read_fixture("90", &facts, false);
    assert_true(cubin_add_log("ptxas info    : Compiling entry function 'spills' for 'sm_90'\n"
                              "ptxas info    : Function properties for spills\n"
                              "ptxas         .     280 bytes stack frame, 12 bytes spill stores, 8 bytes spill loads\n"
                              "ptxas info    : Used 32 registers, used 1 barriers, 280 bytes cumulative stack size, 272 bytes smem\n"
                              "ptxas info    : Function properties for _Z6helperfi\n"
                              "ptxas         .     999 bytes stack frame, 99 bytes spill stores, 99 bytes spill loads\n",
                              facts, count, &err));
    assert_int_equal(facts[2].spill_store_bytes, 12);
    assert_int_equal(facts[2].spill_load_bytes, 8);
    free(facts);
}

static void a_contradiction_names_both_values(void **state)
{
    static const char *const lines[][3] = {
        {"Used 33 registers, used 1 barriers, 272 bytes smem", "33", "32"},
        {"Used 32 registers, used 2 barriers, 272 bytes smem", "2", "1"},
        {"Used 32 registers, used 1 barriers, 1296 bytes smem", "1296", "272"},
        {"Used 32 registers, used 1 barriers", "0", "272"},
        {"Function properties for spills\n 281 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads", "281", "280"},
    };
    struct kernel_facts *facts;
    int count = read_fixture("90", &facts, false);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct error err = {0};
        char *log = text_format("ptxas info : Compiling entry function 'spills' for 'sm_90'\nptxas info : %s\n", lines[i][0]);
        assert_false(cubin_add_log(log, facts, count, &err));
        assert_int_equal(err.kind, ERROR_INTERNAL);
        assert_non_null(strstr(err.text, "spills"));
        assert_non_null(strstr(err.text, lines[i][1]));
        assert_non_null(strstr(err.text, lines[i][2]));
        free(log);
    }
    free(facts);
}

static void the_hash_follows_the_code(void **state)
{
    size_t bytes;
    struct error err = {0};
    struct kernel_facts *a, *b;
    char *cubin = data_file("facts_sm_90.cubin", &bytes);
    int count = cubin_read(cubin, bytes, &a, &err);
    assert_int_equal(count, 3);
    int changed = 0;
    /* Flip bits all over the file: wherever the hash moved, it is because the code did; somewhere it must. */
    for (size_t i = 64; i < bytes; i += 97) {
        cubin[i] ^= 4;
        if (cubin_read(cubin, bytes, &b, &err) == 3 && strcmp(b[2].name, "spills") == 0)
            changed += strcmp(a[2].sass_hash, b[2].sass_hash) != 0;
        free(b);
        cubin[i] ^= 4;
    }
    assert_in_range(changed, 11904 / 97 - 2, 11904 / 97 + 12);
    free(a);
    free(cubin);
}

/* Cut anywhere, or with bytes changed: an error or facts, never a crash (run under a sanitizer too) and never a hang. */
static void hostile_bytes(void **state)
{
    size_t bytes;
    char *cubin = data_file("facts_sm_80.cubin", &bytes);
    for (size_t n = 0; n < bytes; n += n < 600 ? 1 : 211) {
        struct error err = {0};
        struct kernel_facts *facts;
        char *part = malloc(n + 1);
        memcpy(part, cubin, n);
        int count = cubin_read(part, n, &facts, &err);
        assert_true(count >= 0 || err.kind == ERROR_INTERNAL);
        free(facts);
        free(part);
    }
    uint64_t random = 88172645463325252u;
    char *copy = malloc(bytes);
    for (int i = 0; i < 4000; i++) {
        struct error err = {0};
        struct kernel_facts *facts;
        memcpy(copy, cubin, bytes);
        size_t shoff;
        memcpy(&shoff, cubin + 40, 8);
        for (int k = 0; k < 1 + i % 8; k++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            size_t at = i % 2 ? random % bytes : i % 4 ? shoff + random % (bytes - shoff) : random % 64;
            copy[at] = (char)(random >> 40);
        }
        int count = cubin_read(copy, bytes, &facts, &err);
        assert_true(count >= 0 || err.kind == ERROR_INTERNAL);
        free(facts);
    }
    free(copy);
    free(cubin);
}

/* Sizes that lie, one at a time. */
static void lying_sizes(void **state)
{
    static const unsigned char registers[] = {0x04, 0x2f, 0x08, 0x00}; /* the attribute REGCOUNT, 8 bytes */
    struct error err = {0};
    struct kernel_facts *facts;
    size_t bytes;
    char *cubin = data_file("facts_sm_90.cubin", &bytes);
    unsigned char *at = memmem(cubin, bytes, registers, sizeof registers);
    assert_non_null(at);
    at[2] = at[3] = 0xff;
    assert_int_equal(cubin_read(cubin, bytes, &facts, &err), -1);
    assert_non_null(strstr(err.text, "runs past its section"));
    at[2] = 8, at[3] = 0;
    /* A section table that points at itself again and again, and one beyond the file. */
    uint64_t far = (uint64_t)1 << 60, old;
    memcpy(&old, cubin + 40, 8);
    memcpy(cubin + 40, &far, 8);
    assert_int_equal(cubin_read(cubin, bytes, &facts, &err), -1);
    assert_non_null(strstr(err.text, "section table"));
    memcpy(cubin + 40, &old, 8);
    assert_int_equal(cubin_read(cubin, bytes, &facts, &err), 3);
    free(facts);
    free(cubin);
}

static void other_files_are_refused(void **state)
{
    struct error err = {0};
    struct kernel_facts *facts;
    size_t bytes;
    char *self = file_read("/proc/self/exe", 1 << 26, &bytes, &err);
    assert_non_null(self);
    assert_int_equal(cubin_read(self, bytes, &facts, &err), -1);
    assert_non_null(strstr(err.text, "not for an NVIDIA GPU"));
    assert_int_equal(cubin_read("", 0, &facts, &err), -1);
    free(self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(facts_equal_the_tools),
        cmocka_unit_test(spill_bytes_are_absent_without_a_log),
        cmocka_unit_test(nvrtc_and_nvcc_lines_are_read_alike),
        cmocka_unit_test(a_contradiction_names_both_values),
        cmocka_unit_test(the_hash_follows_the_code),
        cmocka_unit_test(hostile_bytes),
        cmocka_unit_test(lying_sizes),
        cmocka_unit_test(other_files_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
