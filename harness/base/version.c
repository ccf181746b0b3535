#include "base/version.h"

const char *bench_version(void)
{
    return BENCH_COMMIT; /* the Makefile defines it for this file alone */
}
