/* row/lock: see lock.h. */
#include "row/lock.h"
#include "base/text.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static bool held_error(int fd, const char *database, struct error *err)
{
    char holder[32] = "";
    ssize_t n = pread(fd, holder, sizeof holder - 1, 0);
    long long pid = 0;
    if (n > 0) {
        holder[strcspn(holder, " \n")] = '\0';
        text_to_int(holder, &pid);
    }
    if (pid > 0)
        error_set(err, ERROR_ENVIRONMENT, "%s: another run holds it: pid %lld%s", database, pid, pid == getpid() ? " (this process)" : "");
    else /* between its lock and its name */
        error_set(err, ERROR_ENVIRONMENT, "%s: another run holds it: its pid is not known yet", database);
    return error_hint(err, "wait for it to end, or give this run a database of its own: -o DIR");
}

bool lock_take(const char *database, int *fd, struct error *err)
{
    bool done = false;
    char *path = text_format("%s.lock", database);
    char text[32];
    /* CLOEXEC: the workers a run starts must not keep its lock alive after it. */
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (file < 0) {
        error_set(err, ERROR_ENVIRONMENT, "%s: cannot be created: %s", path, strerror(errno));
        error_hint(err, "the folder must be writable for a run: choose another with -o DIR");
        goto done;
    }
    while (flock(file, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EINTR)
            continue;
        if (errno == EWOULDBLOCK)
            held_error(file, database, err);
        else
            error_set(err, ERROR_ENVIRONMENT, "%s: cannot be locked: %s", path, strerror(errno));
        goto done;
    }
    int n = snprintf(text, sizeof text, "%ld\n", (long)getpid());
    /* The name is a courtesy; on a full disk the lock still holds. */
    if (ftruncate(file, 0) != 0 || pwrite(file, text, (size_t)n, 0) != n)
        errno = 0;
    *fd = file;
    file = -1;
    done = true;
done:
    if (file >= 0)
        close(file);
    free(path);
    return done;
}

void lock_release(int *fd)
{
    if (*fd < 0)
        return;
    if (ftruncate(*fd, 0) != 0)
        errno = 0; /* a stale name misleads nobody: only the lock counts */
    close(*fd);
    *fd = -1;
}
