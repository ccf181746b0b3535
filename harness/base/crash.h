/* base/crash: writes the stack of a process that a signal ends, to find out why a driver or a library crashed. */
#pragma once

/* When $BENCH_BACKTRACE names a folder: SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT write FOLDER/PID.stack - the signal, the address, the
 * calls of the thread that it hit, as FILE(+OFFSET), and the process's map - and then end the process as they would have. Nothing
 * otherwise. */
void crash_report(void);
