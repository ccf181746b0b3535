/* Names in a kernel's source: those that nvcc has without an include. Needs NVRTC. */
#include "base/file.h"
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

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_nvcc_are_there),
    };
    struct error err = {0};
    char version[96];
    compiler_present = compile_version(NULL, version, sizeof version, &err);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
