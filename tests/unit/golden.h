/* Golden texts under tests/unit/golden: GOLDEN=write rewrites them (read the difference before committing it). */
#ifndef BENCH_TESTS_GOLDEN_H
#define BENCH_TESTS_GOLDEN_H

#include "base/file.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Fails the running cmocka test at the first line that differs. */
static inline void golden(const char *name, const char *text)
{
    struct error err = {0};
    size_t bytes;
    char *path = text_format("tests/unit/golden/%s", name);
    const char *mode = getenv("GOLDEN");
    if (mode && strcmp(mode, "write") == 0)
        assert_true(file_write(path, text, strlen(text), &err));
    char *want = file_read(path, 1 << 24, &bytes, &err);
    if (!want)
        fail_msg("%s (tests run from the repository's root; GOLDEN=write makes it)", err.text);
    if (strcmp(want, text) != 0) {
        size_t at = 0, line = 1, start = 0;
        while (want[at] == text[at]) {
            if (want[at++] == '\n') {
                line++;
                start = at;
            }
        }
        fail_msg("%s:%zu\n  want: %.*s\n  got:  %.*s\n", path, line, (int)strcspn(want + start, "\n"), want + start,
                 (int)strcspn(text + start, "\n"), text + start);
    }
    free(want);
    free(path);
}

#endif
