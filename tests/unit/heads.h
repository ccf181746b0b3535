/* A folder of variants for tests: files written under a temporary root that BENCH_HOME points to. */
#ifndef BENCH_TESTS_UNIT_HEADS_H
#define BENCH_TESTS_UNIT_HEADS_H

#include "base/file.h"
#include "base/text.h"
#include <stdlib.h>
#include <string.h>

static char tree_root[64];

static inline bool tree_begin(void)
{
    strcpy(tree_root, "/tmp/bench_tree_XXXXXX");
    if (!mkdtemp(tree_root))
        return false;
    char *dir = text_format("%s/kernels/variants", tree_root);
    struct error err = {0};
    const char *home = getenv("BENCH_HOME"); /* ops and what they include are the installation's */
    char *real = realpath(home ? home : ".", NULL);
    char *link = text_format("ln -s '%s/kernels/ops' '%s/kernels/include' '%s/kernels'", real ? real : ".", real ? real : ".", tree_root);
    bool done = file_make_dirs(dir, &err) && system(link) == 0 && setenv("BENCH_HOME", tree_root, 1) == 0;
    free(real);
    free(link);
    free(dir);
    return done;
}

static inline bool tree_end(void)
{
    char *command = text_format("rm -rf '%s'", tree_root);
    bool done = !strncmp(tree_root, "/tmp/bench_tree_", 16) && system(command) == 0;
    free(command);
    return done;
}

/* Writes a variant whose YAML is `yaml` to ROOT/relative. */
static inline bool tree_variant(const char *relative, const char *yaml)
{
    struct error err = {0};
    char *path = text_format("%s/%s", tree_root, relative), *dir = file_dir(path), *text = text_format("/* bench 1\n%s*/\n", yaml);
    bool done = file_make_dirs(dir, &err) && file_write(path, text, strlen(text), &err);
    free(path);
    free(dir);
    free(text);
    return done;
}

#endif
