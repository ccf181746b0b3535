/* base/crash: writes the stack of a process that a signal ends, to find out why a driver or a library crashed. */
#pragma once

/* If $BENCH_BACKTRACE names a folder, SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT write FOLDER/PID.stack: the signal, the address, the
 * stack of the thread that received it, as FILE(+OFFSET), and the memory map of the process. Then the process ends as it would have.
 * Otherwise they do nothing. */
void crash_report(void);
