/* base/source, base/code_only and op_file_hash: comments and blanks of a kernel and of its headers do not change its hash; code and
 * literals do. The compiler judges which of them matter: gcc's preprocessor must give two texts of equal hash the same tokens. */
#include "base/code_only.h"
#include "base/file.h"
#include "base/source.h"
#include "base/text.h"
#include "op/file/private.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "own_folder.h"

static char *put(const char *name, const char *text)
{
    char *path = file_join(dir, name);
    if (!file_write(path, text, strlen(text), &(struct error){0}))
        fail_msg("%s was not written", path);
    return path;
}

/* What gcc makes of the text: tokens, with one blank between. */
static char *preprocessed(const char *text)
{
    SCOPED char *path = put("seen.cpp", text), *command = text_format("gcc -E -P %s 2>&1 | tr -s '[:space:]' ' ' | sed 's/^ //'", path);
    char *out = xcalloc(65536, 1);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    out[fread(out, 1, 65535, f)] = 0;
    assert_int_equal(pclose(f), 0);
    return out;
}

static void comments_and_blanks_are_no_words(void **state)
{
    static const char *const pairs[][2] = {
        {"int a = 1;\n", "int a = 1; // one\n"},
        {"int a = 1;\nint b;\n", "/* head\n */\n\n  int a   =\t1; /* one */ // more\n\n\nint b;\n\n"},
        {"#define A(x) x + 1\nint a = A(2);\n", "#define  A(x)  x + 1 // \"quoted\n// 'c\nint a = A(2);\n"},
        {"const char *s = \"a /* b\";\n", "const char *s = /* \" */ \"a /* b\";  \n"},
        {"const char *s = R\"x(/* \" // )\"\n  )x\"; int a;\n", "const char *s = R\"x(/* \" // )\"\n  )x\"; /* R\"( */ int a;\n"},
        {"char c = '\"'; int a;\n", "char c = '\"'; /* ' */ int a;\n"},
        {"int a = b / c;\r\n", "int a = b /* / */ / c;\n"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        SCOPED char *a = code_words(pairs[i][0]), *b = code_words(pairs[i][1]);
        assert_string_equal(a, b);
        SCOPED char *seen_a = preprocessed(pairs[i][0]), *seen_b = preprocessed(pairs[i][1]), *seen = preprocessed(a);
        assert_string_equal(seen_a, seen_b);
        assert_string_equal(seen_a, seen);
    }
}

static void code_and_literals_are_words(void **state)
{
    static const char *const pairs[][2] = {
        {"int a = 1;\n", "int a = 2;\n"},
        {"a + +b;\n", "a ++b;\n"},
        {"const char *s = \"a  b\";\n", "const char *s = \"a b\";\n"},
        {"const char *s = \"// a\";\n", "const char *s = \"// b\";\n"},
        {"const char *s = R\"(\n// a\n)\";\n", "const char *s = R\"(\n// b\n)\";\n"},
        {"int a; // \\\nint b;\n", "int a; // \\\nint c;\n"}, /* the compiler drops both; to be safe they differ */
        {"#define A 1\nint a;\n", "#define A 1 int a;\n"},
        {"char c = '\\''; // a'\nint b;\n", "char c = '\\''; // a'\nint c;\n"},
        {"a/ *b;\n", "a/b;\n"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        SCOPED char *a = code_words(pairs[i][0]), *b = code_words(pairs[i][1]);
        assert_string_not_equal(a, b);
    }
    for (const char *broken = "/* x"; *broken; broken++) { /* unfinished comments, literals and escapes end with the text */
        SCOPED char *a = code_words(broken);
        assert_true(strlen(a) <= strlen(broken));
    }
    static const char *const open[] = {"", "\"", "'", "\"\\", "R\"", "R\"(", "R\"abc(x)ab\"", "/", "//", "/*", "/**", "a\\"};
    for (size_t i = 0; i < sizeof open / sizeof *open; i++) {
        SCOPED char *a = code_words(open[i]);
        assert_true(strlen(a) <= strlen(open[i]));
    }
}

static void hash_of(const char *source, const char *header, char out[HASH_TEXT])
{
    SCOPED char *cu = put("k.cu", source), *h = put("part.cuh", header);
    struct hash *hash = hash_begin();
    source_add(hash, cu);
    hash_end(hash, out);
}

static void a_comment_in_a_header_changes_no_hash(void **state)
{
    static const char source[] = "#include \"part.cuh\"\n__global__ void k() { f(); }\n";
    char plain[HASH_TEXT], commented[HASH_TEXT], other[HASH_TEXT], code[HASH_TEXT];
    hash_of(source, "__device__ void f() {}\n", plain);
    hash_of(source, "/* What f does. */\n__device__ void f() {} // nothing\n", commented);
    hash_of("// a kernel\n#include \"part.cuh\"\n\n__global__ void k()  { f(); }\n", "__device__ void f() {}\n", other);
    hash_of(source, "__device__ void f() { __syncthreads(); }\n", code);
    assert_string_equal(plain, commented);
    assert_string_equal(plain, other);
    assert_string_not_equal(plain, code);
}

/* The compile cache keeps lines of messages and profiles, so there every byte counts. */
static void a_compilation_depends_on_every_byte(void **state)
{
    char was[HASH_TEXT];
    for (int i = 0; i < 2; i++) {
        SCOPED char *cu = put("k.cu", "#include \"part.cuh\"\n"), *h = put("part.cuh", i ? "\nint a;\n" : "int a;\n");
        struct source s;
        assert_true(source_read(cu, dir, NULL, 0, &s, &(struct error){0}));
        if (i)
            assert_string_not_equal(was, s.includes);
        memcpy(was, s.includes, sizeof was);
        source_free(&s);
    }
    struct source_memo *memo = source_memo_new();
    SCOPED char *one = put("one.cu", "int a;\n"), *two = put("two.cu", "int a; // a\n");
    SCOPED char *hash_one = xstrdup(source_hash(memo, one, dir, NULL, 0));
    assert_int_equal(strlen(hash_one), HASH_TEXT - 1);
    assert_string_not_equal(hash_one, source_hash(memo, two, dir, NULL, 0));
    source_memo_free(memo);
}

/* Data, references and hashes of launches depend on the hash of the file. */
static void comments_of_an_op_change_no_hash(void **state)
{
    static const char *const heads[] = {"", "# What it does.\n\n", "let: {other: 1}\n"};
    static const char *const kernels[] = {"__global__ void k() {}\n", "// What it does.\n__global__ void k() {} /* nothing */\n"};
    char hashes[4][HASH_TEXT];
    for (int i = 0; i < 4; i++) {
        struct error err = {0};
        SCOPED char *text = text_format("about: a test\nfields: {rows: 4}\nflop: 4\ntrial: {one: {rows: 4}}\n"
                                        "%s"
                                        "tensors:\n"
                                        "  a: {shape: [4]}     %s\n"
                                        "  out: {shape: [4], written: yes}\n"
                                        "dtype: f32\n"
                                        "reference: {kernel: k, threads: 4, args: [a, out]}\n",
                                        heads[i < 3 ? i : 0], i == 1 ? "# an input" : "");
        SCOPED char *cu = put("said.cu", kernels[i == 1]), *path = put("said.yaml", text);
        static struct op_file *kept[4]; /* they live as long as the process */
        struct op_file *f = kept[i] = op_file_read(path, &err);
        if (!f)
            fail_msg("%s", err.text);
        memcpy(hashes[i], op_file_hash(f), HASH_TEXT);
    }
    assert_string_equal(hashes[0], hashes[1]);
    assert_string_not_equal(hashes[0], hashes[2]);
    assert_string_equal(hashes[0], hashes[3]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comments_and_blanks_are_no_words),      cmocka_unit_test(code_and_literals_are_words),
        cmocka_unit_test(a_comment_in_a_header_changes_no_hash), cmocka_unit_test(a_compilation_depends_on_every_byte),
        cmocka_unit_test(comments_of_an_op_change_no_hash),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
