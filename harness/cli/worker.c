/* bench worker: the process that owns the device, or one that compiles for it; bench itself starts it. */
#include "cli/cli.h"
#include "device/compile/compile.h"
#include <string.h>

int cli_worker(const struct verb *verb, int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "compile"))
        return compile_serve();
    worker_main();
    return cli_usage(verb, "bench starts it itself");
}
