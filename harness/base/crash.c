#include "base/crash.h"
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CALLS_MAX 128

/* A handler takes no context, and must not allocate. */
static char path[4096], stack[1 << 17];

static void crash_put(int file, const char *text)
{
    if (write(file, text, strlen(text)) < 0)
        return; /* an error cannot be reported any more */
}

static void put_number(int file, const char *before, unsigned long value)
{
    char digits[2 + 2 * sizeof value + 2], *at = digits + sizeof digits;
    *--at = '\0';
    *--at = '\n';
    do
        *--at = "0123456789abcdef"[value & 15];
    while (value >>= 4);
    crash_put(file, before);
    crash_put(file, at);
}

static void put_map(int file)
{
    char block[4096];
    ssize_t n;
    int map = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    while (map >= 0 && (n = read(map, block, sizeof block)) > 0)
        if (write(file, block, (size_t)n) != n)
            break;
    if (map >= 0)
        close(map);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    void *calls[CALLS_MAX];
    int file = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0644);
    if (file >= 0) {
        put_number(file, "signal 0x", (unsigned long)number);
        put_number(file, "address 0x", (unsigned long)info->si_addr);
        backtrace_symbols_fd(calls, backtrace(calls, CALLS_MAX), file);
        crash_put(file, "map\n");
        put_map(file);
        close(file);
    }
    raise(number); /* the handler is off again: it ends the process */
}

void crash_report(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
    const char *folder = getenv("BENCH_BACKTRACE");
    void *first[1];
    if (!folder || !*folder)
        return;
    snprintf(path, sizeof path, "%s/%ld.stack", folder, (long)getpid());
    backtrace(first, 1);                                       /* loads its library now: a signal handler may not */
    stack_t other = {.ss_sp = stack, .ss_size = sizeof stack}; /* a stack that overflowed has no room for this */
    sigaltstack(&other, NULL);
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK | (int)SA_RESETHAND};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &action, NULL);
}
