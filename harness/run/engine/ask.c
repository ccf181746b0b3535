/* Programs of an engine: sbatch, squeue, kubectl, ssh. */
#include "base/process.h"
#include "run/engine/engine.h"
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define OUTPUT_MAX_BYTES (1 << 30)

int engine_ask(const char *const *argv, double seconds, struct text *out, struct error *err)
{
    int fd = memfd_create("bench-ask", 0); /* the program opens it by name, so it must not be closed on exec */
    if (fd < 0) {
        error_set(err, ERROR_MACHINE, "no memory for the output of %s: %s", argv[0], strerror(errno));
        return -1;
    }
    SCOPED char *log = text_format("/proc/self/fd/%d", fd);
    int code = process_run(argv, &(struct process){.log = log, .apart = true, .seconds = seconds});
    char piece[65536];
    off_t at = 0;
    for (ssize_t n; out && at < OUTPUT_MAX_BYTES && (n = pread(fd, piece, sizeof piece, at)) > 0; at += n)
        text_add_bytes(out, piece, (size_t)n);
    close(fd);
    while (out && out->len && out->data[out->len - 1] == '\n' && code) /* what it says becomes part of an error */
        out->data[--out->len] = 0;
    if (code == PROCESS_MISSING)
        error_set(err, ERROR_ENVIRONMENT, "%s: cannot be run: %s", argv[0], strerror(errno));
    else if (code == PROCESS_LATE)
        error_set(err, ERROR_ENVIRONMENT, "%s: no answer within %.0f s", argv[0], seconds);
    return code < 0 ? -1 : code;
}

int engine_shell(const char *line, double seconds, struct text *out, struct error *err)
{
    const char *const argv[] = {"sh", "-c", line, NULL};
    return engine_ask(argv, seconds, out, err);
}
