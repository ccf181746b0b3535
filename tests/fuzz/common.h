/* Shared by the fuzz targets: a refusal must say why, and a file for parsers that take a path. */
#ifndef BENCH_TESTS_FUZZ_COMMON_H
#define BENCH_TESTS_FUZZ_COMMON_H

#include "base/error.h"
#include "fuzz/fuzz.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A parser that failed without a kind or a text is broken: abort, so that the driver keeps the input. */
static inline void must_explain(const struct error *err)
{
    if (err->kind == ERROR_NONE || !err->text[0]) {
        fputs("refused without an error\n", stderr);
        abort();
    }
}

/* Writes the input under a name with `suffix` in the working memory file system; the caller unlinks it. */
static inline const char *as_file(const uint8_t *data, size_t bytes, const char *suffix)
{
    static char path[64];
    snprintf(path, sizeof path, "/dev/shm/bench-fuzz-%d%s", (int)getpid(), suffix);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, bytes, f) != bytes || fclose(f))
        abort();
    return path;
}

#endif
