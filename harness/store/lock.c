/* store/lock: see lock.h. */
#include "store/lock.h"
#include "base/text.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#define ASK_AGAIN_NS 50000000L

#define HOLDER_BYTES 160 /* "PID HOST\n" */

/* 0: the holder has not written its pid yet, or may not. `host`: HOLDER_BYTES; "" if it is not named. */
static long long holder_of(int fd, char *host)
{
    char holder[HOLDER_BYTES] = "", *rest = holder;
    ssize_t n = pread(fd, holder, sizeof holder - 1, 0);
    long long pid = 0;
    holder[n > 0 ? strcspn(holder, "\n") : 0] = '\0';
    text_to_int(strsep(&rest, " "), &pid);
    snprintf(host, HOLDER_BYTES, "%s", rest ? rest : "");
    return pid;
}

static bool held_error(int fd, const char *database, struct error *err)
{
    char host[HOLDER_BYTES], here[HOLDER_BYTES] = "";
    long long pid = holder_of(fd, host);
    gethostname(here, sizeof here - 1);
    if (pid > 0)
        error_set(err, ERROR_ENVIRONMENT, "%s: used by another run: pid %lld%s%.80s%s", database, pid, *host ? " on " : "", host,
                  pid == getpid() && !strcmp(host, here) ? " (this process)" : "");
    else
        error_set(err, ERROR_ENVIRONMENT, "%s: used by another run, whose pid is not known yet", database);
    return error_hint(err, "wait for it to end, or use another database: -o DIR");
}

/* 0, or the errno of a lock that is not to be had. */
static int grab(int file)
{
    while (flock(file, LOCK_EX | LOCK_NB) != 0)
        if (errno != EINTR)
            return errno;
    return 0;
}

/* The name is a courtesy; on a full disk the lock still holds. */
static void name_holder(int file)
{
    char text[HOLDER_BYTES], host[HOLDER_BYTES - 32] = "";
    gethostname(host, sizeof host - 1);
    int n = snprintf(text, sizeof text, "%ld %s\n", (long)getpid(), host);
    if (ftruncate(file, 0) != 0 || pwrite(file, text, (size_t)n, 0) != n)
        errno = 0;
}

bool lock_take(const char *database, int *fd, struct error *err)
{
    bool done = false;
    SCOPED char *path = text_format("%s.lock", database);
    /* CLOEXEC: the workers a run starts must not keep its lock alive after it. */
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (file < 0) {
        error_set(err, ERROR_ENVIRONMENT, "%s: cannot be created: %s", path, strerror(errno));
        error_hint(err, "the folder must be writable: select another with -o DIR");
        goto done;
    }
    int refused = grab(file);
    if (refused) {
        if (refused == EWOULDBLOCK)
            held_error(file, database, err);
        else
            error_set(err, ERROR_ENVIRONMENT, "%s: cannot be locked: %s", path, strerror(refused));
        goto done;
    }
    name_holder(file);
    *fd = file;
    file = -1;
    done = true;
done:
    if (file >= 0)
        close(file);
    return done;
}

bool lock_gpu(const char *uuid, bool (*asked)(void *context, long long pid), void *context, int *fd, struct error *err)
{
    SCOPED char *path = text_format("/tmp/bench-%s.lock", uuid);
    char host[HOLDER_BYTES]; /* a GPU is used on this host only */
    int refused = 0, file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (file < 0) /* another user's file can still be locked */
        file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    *fd = -1;
    if (file < 0)
        return true;
    while ((refused = grab(file)) == EWOULDBLOCK && asked(context, holder_of(file, host)))
        nanosleep(&(struct timespec){0, ASK_AGAIN_NS}, NULL);
    if (refused) {
        close(file);
        return refused != EWOULDBLOCK || error_set(err, ERROR_INTERRUPTED, "interrupted while another run used the GPU");
    }
    name_holder(file);
    *fd = file;
    return true;
}

void lock_release(int *fd)
{
    if (*fd < 0)
        return;
    if (ftruncate(*fd, 0) != 0)
        errno = 0; /* a stale name is harmless: only the lock counts */
    close(*fd);
    *fd = -1;
}
