/* base/process: another program, without a shell, under a time limit. It ends with the thread that started it. */
#pragma once

#include <stdbool.h>

struct process {
    const char *folder; /* working folder; NULL: the current one */
    const char *log;    /* file for its stdout and stderr; relative to `folder` */
    bool append;        /* after the present content of `log` */
    bool apart;         /* a process group of its own: Ctrl-C is not for it, and the limit reaches whatever it starts */
    double seconds;     /* the limit; 0: none */
};
enum { PROCESS_MISSING = -1, PROCESS_LATE = -2 };
/* Its exit status, 128 + the signal that ended it, or one of these; errno says why it could not start. */
int process_run(const char *const *argv, const struct process *p);
