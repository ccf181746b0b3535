#include "run/parent/child.h"
#include "base/talk.h"
#include "base/text.h"
#include "run/message/frame.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LINE_MAX_BYTES (256u << 20)
#define BESIDE_S 0.02 /* between two looks at what else is to be done */

/* Only async-signal-safe calls between fork and exec; no driver was ever loaded in the parent. */
static void become_worker(int socket_end, int errors, pid_t parent)
{
    static char *argv[] = {"bench", "worker", NULL};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(127);
    setpgid(0, 0); /* so that only the parent receives Ctrl-C */
    int null = open("/dev/null", O_RDWR);
    if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(errors, 2) < 0)
        _exit(127);
    if (socket_end == 3)
        fcntl(3, F_SETFD, 0);
    else if (dup2(socket_end, 3) < 0)
        _exit(127);
    signal(SIGINT, SIG_DFL);
    signal(SIGPIPE, SIG_IGN);
    /* The order of some of NVRTC 13.0's work depends on addresses (device/compile/subprocess.c), so this disables address randomisation
     * where permitted. */
    personality((unsigned long)personality(0xffffffff) | ADDR_NO_RANDOMIZE);
    execv("/proc/self/exe", argv);
    _exit(127);
}

/* The guard process, a member of the worker's process group: when bench ends, however it ends, the guard kills the worker's compilers
 * and references. As long as the guard lives, the group's number cannot be reused. */
static void become_guard(pid_t worker, int end)
{
    char byte;
    if (setpgid(0, worker) || dup2(end, 0) != 0)
        _exit(127);
    close_range(1, ~0u, 0);
    while (read(0, &byte, 1) < 0 && errno == EINTR)
        ;
    kill(0, SIGKILL);
}

static bool guard_start(struct child *child)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return false;
    setpgid(child->pid, child->pid); /* the child calls it too: the first call counts */
    child->guard = fork();
    if (child->guard == 0)
        become_guard(child->pid, ends[0]);
    close(ends[0]);
    child->guarded = ends[1];
    if (child->guard < 0)
        close(ends[1]);
    return child->guard > 0;
}

bool child_start(struct child *child, struct error *err)
{
    int ends[2];
    *child = CHILD_NONE;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        return error_set(err, ERROR_ENVIRONMENT, "no socket for a worker: %s", strerror(errno));
    child->errors = memfd_create("bench-worker-stderr", MFD_CLOEXEC);
    pid_t parent = getpid();
    fflush(NULL);
    child->pid = child->errors < 0 ? -1 : fork();
    if (child->pid == 0)
        become_worker(ends[1], child->errors, parent);
    close(ends[1]);
    child->fd = ends[0];
    if (child->pid > 0 && guard_start(child))
        return true;
    error_set(err, ERROR_ENVIRONMENT, "no worker process: %s", strerror(errno));
    child_stop(child, NULL, 0);
    return false;
}

bool child_send(struct child *child, json_t *command)
{
    SCOPED_TEXT frame = {0};
    return frame_write(&frame, command) && talk_send(child->fd, text_get(&frame), frame.len);
}

bool child_has_line(const struct child *child)
{
    return child->used > child->taken && memchr(child->buffer + child->taken, '\n', child->used - child->taken);
}

/* Takes a whole event out of the buffer and parses it; false if there is none yet. Skips lines that are not JSON. */
static bool take_line(struct child *child, size_t *scanned, json_t **event)
{
    for (;;) {
        char *from = child->buffer + child->taken;
        size_t there = child->used - child->taken;
        char *end = there > *scanned ? memchr(from + *scanned, '\n', there - *scanned) : NULL;
        if (!end) {
            *scanned = there;
            return false;
        }
        size_t packed, behind = (size_t)(child->buffer + child->used - (end + 1));
        *event = frame_read(from, (size_t)(end - from), behind, &packed);
        if (packed > behind) { /* the rest is on its way */
            json_decref(*event);
            *event = NULL;
            return false;
        }
        child->taken = (size_t)(end + 1 - child->buffer) + packed;
        *scanned = 0;
        if (*event)
            return true;
    }
}

size_t child_compile_memory(void)
{
    const char *given = getenv("BENCH_COMPILE_MEMORY");
    long long mib;
    size_t half = (size_t)sysconf(_SC_PHYS_PAGES) / 2 * (size_t)sysconf(_SC_PAGESIZE), most = (size_t)8 << 30;
    if (given && text_to_int(given, &mib) && mib > 0)
        return (size_t)mib << 20;
    return half < most ? half : most;
}

static void read_proc(pid_t pid, const char *file, char *text, size_t bytes)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, bytes - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = 0;
}

/* The memory of the process and of the child that compiles for it. */
static size_t memory_of(pid_t pid)
{
    char children[64], text[128];
    int child = 0;
    unsigned long pages = 0, own = 0;
    snprintf(children, sizeof children, "task/%d/children", (int)pid);
    read_proc(pid, "statm", text, sizeof text);
    sscanf(text, "%*u %lu", &pages);
    read_proc(pid, children, text, sizeof text);
    if (sscanf(text, "%d", &child) == 1) {
        read_proc(child, "statm", text, sizeof text);
        sscanf(text, "%*u %lu", &own);
    }
    return (size_t)(pages + own) * (size_t)sysconf(_SC_PAGESIZE);
}

void child_limit_memory(struct child *child, size_t more)
{
    child->memory_max = more ? memory_of(child->pid) + more : 0;
}

void child_trim(struct child *child)
{
    if (child->taken < child->used)
        return;
    free(child->buffer);
    child->buffer = NULL;
    child->taken = child->used = child->cap = 0;
}

static void make_room(struct child *child)
{
    child->used -= child->taken;
    if (child->used)
        memmove(child->buffer, child->buffer + child->taken, child->used);
    child->taken = 0;
    if (child->cap - child->used >= 65536)
        return;
    child->cap = child->cap ? child->cap * 2 : 1 << 17;
    child->buffer = xrealloc(child->buffer, child->cap);
}

enum child_event child_next(struct child *child, double deadline_s, volatile sig_atomic_t *interrupted, json_t **event)
{
    size_t scanned = 0;
    for (;;) {
        if (take_line(child, &scanned, event))
            return CHILD_EVENT;
        if (interrupted && *interrupted)
            return CHILD_INTERRUPTED;
        double left = deadline_s > 0 ? deadline_s - clock_s() : 0.2;
        if (deadline_s > 0 && left <= 0)
            return CHILD_LATE;
        struct pollfd p = {.fd = child->fd, .events = POLLIN};
        int n = poll(&p, 1, left > 0.2 ? 200 : (int)(left * 1000) + 1);
        if (n <= 0 && child->memory_max && memory_of(child->pid) > child->memory_max)
            return CHILD_GREEDY;
        if (n <= 0)
            continue;
        make_room(child);
        ssize_t got = recv(child->fd, child->buffer + child->used, child->cap - child->used, 0);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got <= 0 || child->used > LINE_MAX_BYTES)
            return CHILD_DIED;
        child->used += (size_t)got;
    }
}

enum child_event child_next_beside(struct child *child, double deadline_s, volatile sig_atomic_t *interrupted,
                                   bool (*beside)(void *context), void *context, json_t **event)
{
    while (beside(context)) {
        enum child_event what = child_next(child, clock_s() + BESIDE_S, interrupted, event);
        if (what != CHILD_LATE || (deadline_s > 0 && clock_s() >= deadline_s))
            return what;
    }
    return child_next(child, deadline_s, interrupted, event);
}

static void last_words(int fd, char *out, size_t bytes)
{
    char text[2048];
    off_t size = lseek(fd, 0, SEEK_END);
    off_t from = size > (off_t)sizeof text - 1 ? size - (off_t)sizeof text + 1 : 0;
    ssize_t n = size > 0 ? pread(fd, text, sizeof text - 1, from) : 0;
    while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == ' '))
        n--;
    if (n <= 0)
        return;
    text[n] = 0;
    const char *line = strrchr(text, '\n');
    snprintf(out, bytes, "; it said: %.300s", line ? line + 1 : text);
}

/* True if the status shows an end from outside, which neither a kernel nor a compiler causes in its own process. */
static bool ended_outside(int status)
{
    static const int outside[] = {SIGKILL, SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGXCPU, SIGXFSZ};
    for (size_t i = 0; WIFSIGNALED(status) && i < sizeof outside / sizeof *outside; i++)
        if (WTERMSIG(status) == outside[i])
            return true;
    return WIFEXITED(status) && (WEXITSTATUS(status) == 127 || WEXITSTATUS(status) == STATUS_NO_MEMORY);
}

void child_leave(struct child *child)
{
    if (child->guard > 0)
        close(child->guarded);
    if (child->fd >= 0)
        close(child->fd);
    if (child->errors >= 0)
        close(child->errors);
    free(child->buffer);
    *child = CHILD_NONE;
}

bool child_stop(struct child *child, char *how, size_t how_bytes)
{
    bool outside = false;
    int status = 0;
    if (how)
        how[0] = 0;
    if (child->pid > 0) {
        struct timespec pause = {.tv_nsec = 2000000};
        bool gone = false;
        for (int i = 0; how && i < 50 && !gone; i++) { /* a worker that closed its socket is about to end by itself, and its status gives
                                                          the reason */
            pid_t waited = waitpid(child->pid, &status, WNOHANG);
            gone = waited == child->pid || (waited < 0 && errno == ECHILD); /* nobody to wait for */
            if (!gone)
                nanosleep(&pause, NULL);
        }
        bool killed = !gone;
        if (killed) {
            kill(child->pid, SIGKILL);
            waitpid(child->pid, &status, 0);
        }
        kill(-child->pid, SIGKILL); /* kills the compilers and references that it started, and their children */
        if (how && WIFSIGNALED(status))
            snprintf(how, how_bytes, "killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
        else if (how)
            snprintf(how, how_bytes, "exited with %d", WEXITSTATUS(status));
        if (how)
            last_words(child->errors, how + strlen(how), how_bytes - strlen(how));
        outside = how && !killed && ended_outside(status);
    }
    pid_t guard = child->guard;
    child_leave(child);
    if (guard > 0)
        waitpid(guard, NULL, 0);
    return outside;
}

bool child_failure(const json_t *event, struct error *err)
{
    SCOPED_BY(message_free) struct message m;
    message_read(event, &m);
    error_set(err, m.kind > ERROR_NONE && m.kind <= ERROR_MACHINE ? (enum error_kind)m.kind : ERROR_INTERNAL, "%s",
              m.text ? m.text : "a worker failed");
    return error_hint(err, "%s", m.hint ? m.hint : "");
}

int child_any(const struct child *children, int count, double deadline_s, volatile sig_atomic_t *interrupted)
{
    SCOPED struct pollfd *fds = xcalloc((size_t)count, sizeof *fds);
    int found = -1, alive = 0;
    bool over = false;
    for (int i = 0; i < count; i++) {
        fds[i] = (struct pollfd){.fd = children[i].pid > 0 ? children[i].fd : -1, .events = POLLIN};
        alive += children[i].pid > 0;
        if (children[i].pid > 0 && child_has_line(&children[i]))
            found = i;
    }
    while (alive && found < 0 && !(interrupted && *interrupted) && !over) {
        double left_ms = 1000 * (deadline_s - clock_s());
        over = left_ms <= 0;
        bool any = poll(fds, (nfds_t)count, over ? 0 : left_ms < 200 ? (int)left_ms + 1 : 200) > 0;
        for (int i = 0; i < count && found < 0; i++)
            if (any ? fds[i].revents != 0 : fds[i].fd >= 0 && children[i].memory_max && memory_of(children[i].pid) > children[i].memory_max)
                found = i;
    }
    return found;
}

/* The answer, after the command's end was read, or NULL; *died: the worker is gone, and *err gives the reason. */
static json_t *ask_once(const char *who, const json_t *command, enum event answer, double limit_s, struct child *child,
                        volatile sig_atomic_t *interrupted, bool *died, struct error *err)
{
    char how[512];
    json_t *found = NULL;
    bool over = false;
    if (child->pid <= 0 && !child_start(child, err))
        return NULL;
    if (!child->ahead)
        child_send(child, json_incref((json_t *)(uintptr_t)command));
    child->ahead = 0;
    double deadline = clock_s() + limit_s;
    while (!over) {
        json_auto_t *event = NULL;
        enum child_event what = child_next(child, deadline, interrupted, &event);
        enum event said = what == CHILD_EVENT ? event_of(event) : EVENT_UNKNOWN;
        if (said == answer)
            found = json_incref(event);
        over = what != CHILD_EVENT || said == EVENT_FAILED || said == EVENT_DONE;
        *died = what == CHILD_DIED;
        if (said == EVENT_FAILED)
            child_failure(event, err);
        else if (what == CHILD_INTERRUPTED)
            error_set(err, ERROR_INTERRUPTED, "interrupted");
        else if (what == CHILD_LATE)
            error_set(err, ERROR_ENVIRONMENT, "%s did not answer within %.0f s", who, limit_s);
        if (*died) {
            child_stop(child, how, sizeof how);
            error_set(err, ERROR_ENVIRONMENT, "%s died: %s", who, how);
        }
    }
    return found;
}

json_t *child_ask(const char *who, const json_t *command, enum event answer, double limit_s, struct child *keep,
                  volatile sig_atomic_t *interrupted, struct error *err)
{
    struct child child = {.fd = -1, .errors = -1};
    json_t *event = NULL;
    bool died = true;
    if (keep && keep->pid > 0) {
        child = *keep;
        *keep = (struct child){.fd = -1, .errors = -1};
    }
    for (int i = 0; i < CHILD_TRIES && died && !event; i++) {
        died = false;
        event = ask_once(who, command, answer, limit_s, &child, interrupted, &died, err);
    }
    if (event)
        error_clear(err);
    if (event && keep && child.pid > 0)
        *keep = child;
    else
        child_stop(&child, NULL, 0);
    return event;
}
