#include "base/process.h"
#include "base/clock.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Between fork and exec only async-signal-safe calls; errno of a failure is sent through the pipe. */
static void become(const char *const *argv, const struct process *p, pid_t parent, int tell)
{
    sigset_t none;
    sigemptyset(&none);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(127);
    if (p->apart)
        setpgid(0, 0);
    int in = open("/dev/null", O_RDONLY), out = -1;
    if (!p->folder || !chdir(p->folder))
        out = open(p->log, O_WRONLY | O_CREAT | (p->append ? O_APPEND : O_TRUNC), 0666);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (in >= 0 && out >= 0 && dup2(in, 0) >= 0 && dup2(out, 1) >= 0 && dup2(out, 2) >= 0)
        execvp(argv[0], (char *const *)argv);
    int why = errno;
    _exit(write(tell, &why, sizeof why) == sizeof why ? 127 : 126);
}

static int wait_for(pid_t pid, const struct process *p)
{
    double end = clock_s() + p->seconds;
    struct timespec nap = {0, 2000000};
    for (;;) {
        int status = 0;
        pid_t done = waitpid(pid, &status, p->seconds > 0 ? WNOHANG : 0);
        if (done == pid)
            return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        if (done < 0 && errno != EINTR)
            return PROCESS_MISSING;
        if (p->seconds > 0 && clock_s() >= end) {
            kill(p->apart ? -pid : pid, SIGKILL);
            waitpid(pid, &status, 0);
            return PROCESS_LATE;
        }
        if (p->seconds > 0)
            nanosleep(&nap, NULL);
        if (nap.tv_nsec < 20000000)
            nap.tv_nsec *= 2;
    }
}

int process_run(const char *const *argv, const struct process *p)
{
    int ends[2], why = 0;
    pid_t parent = getpid();
    if (pipe2(ends, O_CLOEXEC))
        return PROCESS_MISSING;
    pid_t pid = fork();
    if (pid == 0)
        become(argv, p, parent, ends[1]);
    why = pid < 0 ? errno : 0;
    close(ends[1]);
    ssize_t got = 0;
    while (pid > 0 && (got = read(ends[0], &why, sizeof why)) < 0 && errno == EINTR) /* until exec closes it */
        ;
    close(ends[0]);
    int code = pid > 0 ? wait_for(pid, p) : PROCESS_MISSING;
    if (pid < 0 || got == sizeof why) {
        errno = why;
        return PROCESS_MISSING;
    }
    return code;
}
