/* Names in a kernel's source: those that nvcc has without an include. Needs NVRTC. */
#include "base/file.h"
#include "base/kernel_name.h"
#include "base/text.h"
#include "device/compile/compile.h"
#include "own_folder.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static bool compiler_present;

/* Compiles the text as FOLDER/names.cu. */
static bool make(const char *source, const char *define, struct compiled *c, struct error *err)
{
    SCOPED char *path = file_join(dir, "names.cu");
    if (!compiler_present) {
        print_message("skipped: no NVRTC here\n");
        skip();
    }
    assert_true(file_write(path, source, strlen(source), err));
    struct compile_request r = {.path = path, .label = "names", .defines = &define, .define_count = define != NULL, .arch = "sm_90a"};
    return compile(&r, c, err);
}

/* The line of a mistake stays the source's. */
static void names_of_nvcc_are_there(void **state)
{
    struct error err = {0};
    struct compiled c;
    if (!make("extern \"C\" __global__ void k(float *y, uint8_t *z) { y[0] = -INFINITY; y[1] = (float)INT_MAX; y[2] = FLT_MAX;\n"
              "y[3] = (float)M_PI; z[0] = 1; }\n",
              NULL, &c, &err))
        fail_msg("%s", err.text);
    assert_non_null(strstr(c.ptx, "-8388608")); /* the bits of -infinity */
    compiled_free(&c);
    assert_false(make("__global__ void k(float *y)\n{ y[0] = -INFINITY; y[1] = nothing; }\n", NULL, &c, &err));
    if (!strstr(err.text, "(2): error: identifier \"nothing\"") || strstr(err.text, "INFINITY\" is undefined"))
        fail_msg("%s", err.text);
}

/* Several instances, with macros in their names; the log says which entries they are. */
static void instances_are_made(void **state)
{
    static const char source[] = "namespace a { template <typename T, int N> __global__ void k(T *y) { y[0] = N; } }\n";
    struct error err = {0};
    struct compiled c;
    for (int again = 0; again < 2; again++) { /* the second is from the cache */
        if (!make(source, KERNEL_INSTANCE "_1=a::k<float, 2 * 16>", &c, &err))
            fail_msg("%s", err.text);
        SCOPED char *entry = compile_entry(c.log, "a::k<float, 2 * 16>"), *plain = compile_entry(c.log, "other");
        assert_string_equal(entry, "_ZN1a1kIfLi32EEEvPT_");
        assert_non_null(strstr(c.ptx, entry));
        assert_string_equal(plain, "other");
        compiled_free(&c);
    }
    assert_false(make(source, KERNEL_INSTANCE "_1=a::j<float, 2>", &c, &err));
    if (!strstr(err.text, "\"a\" has no member \"j\""))
        fail_msg("%s", err.text);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_nvcc_are_there),
        cmocka_unit_test(instances_are_made),
    };
    struct error err = {0};
    char version[96];
    compiler_present = compile_version(NULL, version, sizeof version, &err);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
