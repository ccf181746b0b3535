#include "base/talk.h"
#include "base/clock.h"
#include "base/text.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define END_S 5 /* with torch it takes a second or two on a busy machine */

struct talk {
    pid_t pid;
    int end;
    bool broken;
    char *name;
};

extern char **environ;

struct talk *talk_open(const char *const *argv, const char *log, struct error *err)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) {
        error_set(err, ERROR_ENVIRONMENT, "a socket: %s", strerror(errno));
        return NULL;
    }
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, ends[1], 0);
    posix_spawn_file_actions_addopen(&files, 1, log, O_WRONLY | O_CREAT | O_APPEND, 0666);
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    posix_spawnattr_t how;
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_init(&how);
    posix_spawnattr_setsigmask(&how, &none);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK);
    struct talk *t = xcalloc(1, sizeof *t);
    int why = posix_spawnp(&t->pid, argv[0], &files, &how, (char *const *)(uintptr_t)argv, environ);
    posix_spawnattr_destroy(&how);
    posix_spawn_file_actions_destroy(&files);
    close(ends[1]);
    t->end = ends[0];
    t->name = xstrdup(argv[0]);
    if (!why)
        return t;
    error_set(err, ERROR_ENVIRONMENT, "%s: %s", argv[0], strerror(why));
    t->pid = 0;
    talk_close(t);
    return NULL;
}

bool talk_send(int end, const char *s, size_t n)
{
    while (n) {
        ssize_t sent = send(end, s, n, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        s += sent;
        n -= (size_t)sent;
    }
    return true;
}

bool talk_ask(struct talk *t, const char *line, double seconds, struct error *err)
{
    double end = clock_s() + seconds;
    struct pollfd ready = {.fd = t->end, .events = POLLIN};
    char answer;
    int code = -1;
    if (t->broken || !talk_send(t->end, line, strlen(line)) || !talk_send(t->end, "\n", 1)) {
        t->broken = true;
        return error_set(err, ERROR_ENVIRONMENT, "%s has ended", t->name);
    }
    while (clock_s() < end && (code = poll(&ready, 1, 100)) <= 0 && (code == 0 || errno == EINTR))
        ;
    if (code == 1 && recv(t->end, &answer, 1, 0) == 1)
        return true;
    t->broken = true;
    if (code != 1)
        kill(t->pid, SIGKILL);
    return code == 1 ? error_set(err, ERROR_ENVIRONMENT, "%s ended before it answered", t->name)
                     : error_set(err, ERROR_ENVIRONMENT, "%s did not answer within %g s", t->name, seconds);
}

const char *talk_python(void)
{
    const char *given = getenv("BENCH_PYTHON");
    return given && *given ? given : "python3";
}

/* Ends the program and returns its status. If the program does not end by itself, as with a thread that never ends, it is killed. */
static int end_of(pid_t pid)
{
    int status = -1;
    double last = clock_s() + END_S;
    kill(pid, SIGTERM);
    for (pid_t ended = 0; ended == 0 || (ended < 0 && errno == EINTR); poll(NULL, 0, ended ? 0 : 2)) {
        if (clock_s() > last)
            kill(pid, SIGKILL);
        ended = waitpid(pid, &status, WNOHANG);
    }
    return status;
}

bool talk_close(struct talk *t)
{
    if (!t)
        return false;
    bool broken = t->broken;
    close(t->end);
    int status = t->pid ? end_of(t->pid) : -1;
    free(t->name);
    free(t);
    return broken && status == 0;
}
