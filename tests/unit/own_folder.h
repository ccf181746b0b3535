/* A folder of a test program's own, made before its first test and gone behind its last. */
#ifndef BENCH_TESTS_UNIT_OWN_FOLDER_H
#define BENCH_TESTS_UNIT_OWN_FOLDER_H

#include "base/text.h"
#include <stdlib.h>

static char dir[] = "/tmp/bench_unit_XXXXXX";

static int set_up(void **state)
{
    return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
    char *command = text_format("rm -rf '%s'", dir);
    int failed = system(command);
    free(command);
    return failed;
}

#endif
