/* bench worker: the process that owns the device; bench itself starts it. */
#include "cli/cli.h"

int cli_worker(const struct verb *verb, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    worker_main();
    return cli_usage(verb, "bench starts it itself");
}
