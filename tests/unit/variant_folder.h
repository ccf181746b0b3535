/* A folder of variants that a test writes for itself, and whether a compiler is available. It hides the shipped variants, which a plan
 * would otherwise read again and again. */
#ifndef BENCH_TESTS_VARIANT_FOLDER_H
#define BENCH_TESTS_VARIANT_FOLDER_H

#include "device/compile/compile.h"
#include "scenario_text.h"

static char *variant_home, *variant_folder, *no_compiler; /* why there is none; NULL */

/* The variants that are seen. */
#define SHIPPED "conv2d/cudnn.* pointwise/* transpose/naive.cu layout/convert*"

/* The key of the compiler's cache contains paths. So all test programs share one installation (links, complete before they are named; they
 * stay), and the folder is next to the program and has the same name each time. */
static inline bool variant_folder_open(void)
{
    struct error err = {0};
    char version[96], home[4096] = "";
    if (!getenv("BENCH_HOME"))
        setenv("BENCH_HOME", ".", 1);
    if (!compile_version(NULL, version, sizeof version, &err))
        no_compiler = xstrdup(err.text);
    variant_folder = text_format("%s.variants", file_self());
    char *dir = file_dir(file_self());
    char *command = text_format(
        "set -e; top=$(realpath \"$BENCH_HOME\"); home=%1$s/home-$({ echo '" SHIPPED
        "'; ls \"$top\" \"$top\"/kernels \"$top\"/kernels/variants/*; } | cksum | cut -d' ' -f1)\n"
        "rm -rf %2$s; mkdir -p %2$s; echo $home; [ ! -d $home ] || exit 0\n"
        "made=$(mktemp -d %1$s/home.XXXXXX); mkdir -p $made/kernels/variants; cd $made; ln -s \"$top\"/.deps .\n"
        "for f in \"$top\"/* \"$top\"/kernels/*; do to=${f#\"$top\"/}; [ -e $to ] || ln -s \"$f\" $to; done\n"
        "for v in " SHIPPED "; do mkdir -p kernels/variants/${v%%/*}; ln -s \"$top\"/kernels/variants/$v kernels/variants/${v%%/*}; done\n"
        "mv -T $made $home 2>/dev/null || rm -rf $made",
        dir, variant_folder);
    FILE *said = popen(command, "r");
    bool ok = said && fgets(home, sizeof home, said);
    ok = said && !pclose(said) && ok;
    free(command);
    free(dir);
    home[strcspn(home, "\n")] = 0;
    variant_home = xstrdup(home);
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
    char *command = text_format("rm -r %s", variant_folder);
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
