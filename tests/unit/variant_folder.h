/* A folder of variants that a test writes for itself, and whether there is a compiler for them. What is shipped is seen without its
 * variants, all of which a plan would read again and again. */
#ifndef BENCH_TESTS_VARIANT_FOLDER_H
#define BENCH_TESTS_VARIANT_FOLDER_H

#include "device/compile/compile.h"
#include "scenario_text.h"

static char *variant_home, *variant_folder, *no_compiler; /* why there is none; NULL */

/* `shipped`: the variants that are seen (patterns in kernels/variants; "": none). The folders lie beside the program and are called alike
 * each time: their paths are part of what the compiler's cache goes by. */
static inline bool variant_folder_open(const char *shipped)
{
    struct error err = {0};
    char version[96];
    if (!getenv("BENCH_HOME"))
        setenv("BENCH_HOME", ".", 1);
    if (!compile_version(NULL, version, sizeof version, &err))
        no_compiler = xstrdup(err.text);
    variant_home = text_format("%s.home", file_self());
    variant_folder = text_format("%s.variants", file_self());
    char *command = text_format(
        "set -e; top=$(realpath \"$BENCH_HOME\"); rm -rf %1$s %2$s; mkdir -p %1$s/kernels/variants %2$s; cd %1$s\n"
        "ln -s \"$top\"/.deps .\n"
        "for f in \"$top\"/* \"$top\"/kernels/*; do to=${f#\"$top\"/}; [ -e $to ] || ln -s \"$f\" $to; done\n"
        "for v in %3$s; do mkdir -p kernels/variants/${v%%/*}; ln -s \"$top\"/kernels/variants/$v kernels/variants/${v%%/*}; done",
        variant_home, variant_folder, shipped);
    bool ok = !system(command);
    free(command);
    setenv("BENCH_HOME", variant_home, 1);
    return ok;
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
    char *command = text_format("rm -r %s %s", variant_home, variant_folder);
    int code = system(command);
    free(command);
    free(variant_home);
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
