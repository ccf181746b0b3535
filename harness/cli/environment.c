/* Checks bench's own environment variables before any verb runs: an unknown value is an error, not ignored. */
#include "base/pool.h"
#include "base/text.h"
#include "cli/cli.h"
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *expected;
    long long most;             /* without words: a whole number from 1 to this */
    const char *const words[4]; /* one of these */
    size_t word_count;
} variables[] = {
    {"BENCH_THREADS", "an integer number of threads", POOL_THREADS_MOST, {NULL}, 0},
    {"BENCH_PARTS", "an integer number of processes", POOL_THREADS_MOST, {NULL}, 0},
    {"BENCH_COMPILE_MEMORY", "an integer number of MiB for one compiler,", 1 << 24, {NULL}, 0},
    {"BENCH_EMU_ISA", "portable, v3, v4 or jit", 0, {"portable", "v3", "v4", "jit"}, 4},
};

bool cli_environment(struct error *err)
{
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *name = variables[i].name, *given = getenv(name);
        size_t words = variables[i].word_count, w = 0;
        long long number;
        while (given && w < words && strcmp(given, variables[i].words[w]) != 0)
            w++;
        if (!given || !*given || w < words || (!words && text_to_int(given, &number) && number >= 1 && number <= variables[i].most))
            continue;
        const char *near = text_nearest(given, variables[i].words, words);
        char most[40] = "";
        if (!words)
            snprintf(most, sizeof most, " from 1 to %lld", variables[i].most);
        error_set(err, ERROR_USAGE, "%s: %s%s is expected, not '%.40s'", name, variables[i].expected, most, given);
        return error_hint(err, near ? "%s=%s" : "unset %s", name, near);
    }
    return true;
}
