/* A folder of variants that a test writes for itself, and whether there is a compiler for them. */
#ifndef BENCH_TESTS_VARIANT_FOLDER_H
#define BENCH_TESTS_VARIANT_FOLDER_H

#include "device/compile/compile.h"
#include "scenario_text.h"

static char *variant_folder, *no_compiler; /* why there is none; NULL */

static inline bool variant_folder_open(void)
{
    struct error err = {0};
    char version[96];
    if (!getenv("BENCH_HOME"))
        setenv("BENCH_HOME", ".", 1);
    if (!compile_version(NULL, version, sizeof version, &err))
        no_compiler = xstrdup(err.text);
    variant_folder = xstrdup("/tmp/test_variants_XXXXXX");
    return mkdtemp(variant_folder) != NULL;
}

/* NAME.cu; takes the text. */
static inline bool variant_put(const char *name, struct text *t)
{
    struct error err = {0};
    char *path = text_format("%s/%s.cu", variant_folder, name);
    bool ok = file_write(path, t->data, t->len, &err);
    text_free(t);
    free(path);
    return ok;
}

/* Teardown of a group of tests. */
static inline int variant_folder_remove(void **state)
{
    char *command = text_format("rm -r %s", variant_folder);
    int code = system(command);
    free(command);
    free(variant_folder);
    free(no_compiler);
    return code;
}

static inline void need_compiler(void)
{
    if (no_compiler) {
        print_message("skipped: %s\n", no_compiler);
        skip();
    }
}

#endif
